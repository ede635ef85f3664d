"""The methods of a model server on arrays and Examples, behind all protocols: predict, classify, regress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes, errors
from thalweg._src.deploy.saved_model.signatures import (
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)
from thalweg._src.deploy.serving.servable import Servable, Signature
from thalweg._src.deploy.serving.tensors import Array, read_tensor, strings

# Computes outputs of a signature, until a deadline on the monotonic clock: at once, or in a batch with other requests.
Runner = Callable[[Signature, Mapping[str, Array], tuple[str, ...], float | None], Awaitable[dict[str, Array]]]
Classes = list[tuple[str, float]]


async def run_here(
    signature: Signature, inputs: Mapping[str, Array], outputs: tuple[str, ...], deadline: float | None
) -> dict[str, Array]:
    """Computes outputs of a signature on the calling thread."""
    return signature.run(inputs, outputs)


async def predict(
    run: Runner,
    servable: Servable,
    key: str,
    inputs: Mapping[str, Array],
    outputs: Sequence[str] = (),
    deadline: float | None = None,
) -> dict[str, Array]:
    """Returns outputs of a signature by name; without names, all of them."""
    signature = servable.signature(key)
    chosen = signature.chosen(outputs)
    signature.check(inputs)
    return await run(signature, inputs, chosen, deadline)


async def classify(
    run: Runner, servable: Servable, key: str, examples: list[bytes], deadline: float | None = None
) -> list[Classes]:
    """Returns labels and scores of each example."""
    signature = _signature(servable, key, CLASSIFY_METHOD_NAME, "classification")
    found = await _run_examples(run, signature, examples, deadline)
    classes, scores = found.get(CLASSIFY_OUTPUT_CLASSES), found.get(CLASSIFY_OUTPUT_SCORES)
    for name, array, dtype in (("classes", classes, dtypes.string), ("scores", scores, dtypes.float32)):
        if array is None:
            continue
        if array.ndim != 2 or len(array) != len(examples) or dtypes.as_dtype(array.dtype) != dtype:
            raise errors.invalid(
                f"Expected {name} of type {dtype.name} and shape [{len(examples)}, num_classes], "
                f"received {dtypes.as_dtype(array.dtype).name} {list(array.shape)}"
            )
    if classes is None and scores is None:
        raise errors.invalid(f"signature {signature.key!r} has neither classes nor scores")
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise errors.invalid(f"classes have shape {list(classes.shape)}, scores {list(scores.shape)}")
    labels = None if classes is None else [[text.decode("utf-8", "replace") for text in row] for row in classes]
    numbers = None if scores is None else scores.tolist()
    labels = labels or [[""] * len(row) for row in numbers or ()]
    numbers = numbers or [[0.0] * len(row) for row in labels]
    return [list(zip(*pair)) for pair in zip(labels, numbers)]


async def regress(
    run: Runner, servable: Servable, key: str, examples: list[bytes], deadline: float | None = None
) -> list[float]:
    """Returns the number of each example."""
    signature = _signature(servable, key, REGRESS_METHOD_NAME, "regression")
    found = await _run_examples(run, signature, examples, deadline)
    if REGRESS_OUTPUTS not in found:
        raise errors.invalid(f"signature {signature.key!r} has no output {REGRESS_OUTPUTS!r}")
    values = found[REGRESS_OUTPUTS]
    if values.shape not in ((len(examples),), (len(examples), 1)) or values.dtype != "float32":
        raise errors.invalid(
            f"Expected float32 outputs of shape [{len(examples)}] or [{len(examples)}, 1], "
            f"received {dtypes.as_dtype(values.dtype).name} {list(values.shape)}"
        )
    return [float(value) for value in values.reshape(-1)]


def _signature(servable: Servable, key: str, method: str, what: str) -> Signature:
    signature = servable.signature(key)
    if signature.method != method:
        raise errors.invalid(f"Expected {what} signature method_name to be {method}. Was: {signature.method}")
    if list(signature.inputs) != [CLASSIFY_INPUTS]:
        raise errors.invalid(f"Expected one input {CLASSIFY_INPUTS!r}, the signature has {list(signature.inputs)}")
    return signature


async def _run_examples(
    run: Runner, signature: Signature, examples: list[bytes], deadline: float | None
) -> dict[str, Array]:
    if not examples:
        raise errors.invalid("Input is empty: expected one Example or more")
    inputs = {CLASSIFY_INPUTS: strings(examples, (len(examples),))}
    signature.check(inputs)
    return await run(signature, inputs, tuple(signature.outputs), deadline)


def examples_of(given: Any) -> list[bytes]:
    """Returns the serialized Examples of an Input message, each with the features of the context, if there is one."""
    if given.WhichOneof("kind") == "example_list_with_context":
        listed = given.example_list_with_context
        return [listed.context + each for each in listed.examples]  # to concatenate messages is to merge them
    return list(given.example_list.examples)


def inputs_of(request: Any) -> dict[str, Array]:
    """Returns the inputs of a PredictRequest."""
    return {name: read_tensor(name, tensor) for name, tensor in request.inputs.items()}


async def warm_up(servable: Servable, run: Runner = run_here) -> int:
    """Runs the requests that are stored with a model, so that the first ones of clients find it compiled."""
    count = 0
    for log in servable.warmup_requests():
        kind = log.WhichOneof("log_type")
        if kind is None:
            continue  # of a kind that this server does not have
        request = getattr(log, kind).request
        if kind == "predict_log":
            await predict(run, servable, request.model_spec.signature_name, inputs_of(request), request.output_filter)
        elif kind == "multi_inference_log":
            for task in request.tasks:
                method = classify if task.method_name == CLASSIFY_METHOD_NAME else regress
                await method(run, servable, task.model_spec.signature_name, examples_of(request.input))
        else:
            method = classify if kind == "classify_log" else regress
            await method(run, servable, request.model_spec.signature_name, examples_of(request.input))
        count += 1
    return count
