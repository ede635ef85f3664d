"""Inferences of a model server on arrays and Examples, behind all protocols: prediction, classification, regression."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.formats.objects import object_array
from thalweg._src.deploy.saved_model.signatures import (
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)
from thalweg._src.deploy.serving.servable import Servable, Signature
from thalweg._src.deploy.serving.tensors import Array, read_tensor

Outputs = dict[str, Array]
Classes = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Inference:
    """Outputs of a signature to compute for inputs that were checked.

    deadline: on the monotonic clock, or None
    """

    signature: Signature
    inputs: Mapping[str, Array]
    outputs: tuple[str, ...]
    deadline: float | None = None

    def run(self) -> Outputs:
        """Computes the outputs on the calling thread."""
        return self.signature.run(self.inputs, self.outputs)


Runner = Callable[[Inference], Awaitable[Outputs]]  # computes at once, or in a batch with other requests


def prediction(
    signature: Signature, inputs: Mapping[str, Array], outputs: Sequence[str] = (), deadline: float | None = None
) -> Inference:
    """Returns the inference of outputs by name; without names, of all outputs."""
    names = signature.chosen(outputs)
    signature.check(inputs)
    return Inference(signature, inputs, names, deadline)


def inference_on_examples(
    signature: Signature, method: str, examples: list[bytes], deadline: float | None = None
) -> Inference:
    """Returns the inference of all outputs for serialized Examples; method: that of a classification or regression."""
    if signature.method != method:
        kind = "classification" if method == CLASSIFY_METHOD_NAME else "regression"
        raise errors.invalid(f"Expected {kind} signature method_name to be {method}. Was: {signature.method}")
    if list(signature.inputs) != [CLASSIFY_INPUTS]:
        raise errors.invalid(f"Expected one input {CLASSIFY_INPUTS!r}, the signature has {list(signature.inputs)}")
    if not examples:
        raise errors.invalid("Input is empty: expected one Example or more")
    return prediction(signature, {CLASSIFY_INPUTS: object_array(examples)}, (), deadline)


def classes_of(inference: Inference, outputs: Outputs) -> list[Classes]:
    """Returns labels and scores of each example of a classification."""
    count = len(inference.inputs[CLASSIFY_INPUTS])
    classes, scores = outputs.get(CLASSIFY_OUTPUT_CLASSES), outputs.get(CLASSIFY_OUTPUT_SCORES)
    for name, array, dtype in (("classes", classes, dtypes.string), ("scores", scores, dtypes.float32)):
        if array is None:
            continue
        if array.ndim != 2 or len(array) != count or dtypes.as_dtype(array.dtype) != dtype:
            raise errors.invalid(
                f"Expected {name} of type {dtype.name} and shape [{count}, num_classes], "
                f"received {dtypes.as_dtype(array.dtype).name} {list(array.shape)}"
            )
    if classes is None and scores is None:
        raise errors.invalid(f"signature {inference.signature.key!r} has neither classes nor scores")
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise errors.invalid(f"classes have shape {list(classes.shape)}, scores {list(scores.shape)}")
    labels = None if classes is None else [[text.decode("utf-8", "replace") for text in row] for row in classes]
    numbers = None if scores is None else scores.tolist()
    labels = labels or [[""] * len(row) for row in numbers or ()]
    numbers = numbers or [[0.0] * len(row) for row in labels]
    return [list(zip(*pair)) for pair in zip(labels, numbers)]


def values_of(inference: Inference, outputs: Outputs) -> list[float]:
    """Returns the number of each example of a regression."""
    count = len(inference.inputs[CLASSIFY_INPUTS])
    if REGRESS_OUTPUTS not in outputs:
        raise errors.invalid(f"signature {inference.signature.key!r} has no output {REGRESS_OUTPUTS!r}")
    values = outputs[REGRESS_OUTPUTS]
    if values.shape not in ((count,), (count, 1)) or values.dtype != "float32":
        raise errors.invalid(
            f"Expected float32 outputs of shape [{count}] or [{count}, 1], "
            f"received {dtypes.as_dtype(values.dtype).name} {list(values.shape)}"
        )
    return [float(value) for value in values.reshape(-1)]


# What each method on Examples makes of the outputs.
READERS: dict[str, Callable[[Inference, Outputs], list[Classes] | list[float]]] = {
    CLASSIFY_METHOD_NAME: classes_of,
    REGRESS_METHOD_NAME: values_of,
}


def examples_of(message: Message) -> list[bytes]:
    """Returns the serialized Examples of an Input message, each with the features of the context, if there is one."""
    if message.WhichOneof("kind") == "example_list_with_context":
        examples = message.example_list_with_context
        return [examples.context + example for example in examples.examples]  # to concatenate messages is to merge them
    return list(message.example_list.examples)


def inputs_of(request: Message) -> dict[str, Array]:
    """Returns the inputs of a PredictRequest."""
    return {name: read_tensor(name, tensor) for name, tensor in request.inputs.items()}


def warm_up(servable: Servable) -> int:
    """Runs the requests that are stored with a model, so that the first ones of clients find it compiled."""
    count = 0
    for log in servable.warmup_requests():
        kind = log.WhichOneof("log_type")
        if kind is None:
            continue  # of a kind that this server does not have
        request = getattr(log, kind).request
        if kind == "predict_log":
            signature = servable.signature(request.model_spec.signature_name)
            prediction(signature, inputs_of(request), request.output_filter).run()
        elif kind == "multi_inference_log":
            for task in request.tasks:
                is_classification = task.method_name == CLASSIFY_METHOD_NAME
                _run_on_examples(servable, task.model_spec, is_classification, request.input)
        else:
            _run_on_examples(servable, request.model_spec, kind == "classify_log", request.input)
        count += 1
    return count


def _run_on_examples(servable: Servable, model_spec: Message, is_classification: bool, examples: Message) -> None:
    method = CLASSIFY_METHOD_NAME if is_classification else REGRESS_METHOD_NAME
    inference = inference_on_examples(servable.signature(model_spec.signature_name), method, examples_of(examples))
    READERS[method](inference, inference.run())
