"""Export outputs: what a head of a model returns when it is served, and the signatures that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import as_text
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.deploy.saved_model.signatures import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    build_signature_def,
    build_tensor_info,
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from thalweg._src.graph.is_tensor import is_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

EVAL_METHOD_NAME, TRAIN_METHOD_NAME = "tensorflow/supervised/eval", "tensorflow/supervised/training"
SINGLE_RECEIVER_NAME = "input"

# -- outputs ----------------------------------------------------------------------------------------------------------


@export("estimator.export.ExportOutput")
class ExportOutput:
    """The base class of what a head of a model returns when it is served."""

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Returns the signature of this output, for inputs by name."""
        raise TypeError(f"{type(self).__name__} does not implement as_signature_def")


def _require_strings_or_numbers(tensor: object, dtype: DType | None, what: str) -> None:
    if tensor is None:
        return
    is_right = isinstance(tensor, Tensor) and (tensor.dtype.is_floating if dtype is None else tensor.dtype == dtype)
    if not is_right:
        expected = "float32" if dtype is None else dtype.name
        raise ValueError(f"Classification {what} must be a {expected} Tensor, received {tensor!r}")


@export("estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    """The output of a classification: scores, classes, or both.

    Args:
        scores: Scores of the classes, a float tensor, or None.
        classes: The classes, a string tensor, or None.
    """

    scores = ReadOnly[Any]("The scores, a float tensor, or None.")
    classes = ReadOnly[Any]("The classes, a string tensor, or None.")

    def __init__(self, scores: TensorLike | None = None, classes: TensorLike | None = None) -> None:
        _require_strings_or_numbers(scores, None, "scores")
        _require_strings_or_numbers(classes, dtypes.string, "classes")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores = scores
        self._classes = classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Returns the signature of a classification, whose only input is a string tensor."""
        return classification_signature_def(
            _only_examples(receiver_tensors, "Classification"), self.classes, self.scores
        )


@export("estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    """The output of a regression: one number for each example.

    Args:
        value: The predicted numbers, a float tensor.
    """

    value = ReadOnly[Any]("The predicted numbers, a float tensor.")

    def __init__(self, value: TensorLike) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor, received {value!r}")
        self._value = value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Returns the signature of a regression, whose only input is a string tensor."""
        return regression_signature_def(_only_examples(receiver_tensors, "Regression"), self.value)


def _only_examples(receiver_tensors: Mapping[str, Any], what: str) -> Any:
    if len(receiver_tensors) != 1:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    (examples,) = receiver_tensors.values()
    if not isinstance(examples, Tensor) or examples.dtype != dtypes.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return examples


@export("estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    """Any output: tensors by name, or one tensor, which is called "output".

    Args:
        outputs: Tensors by name, or one tensor.
    """

    outputs = ReadOnly[dict[str, Any]]("The tensors by name.")

    def __init__(self, outputs: object) -> None:
        self._outputs = _by_name(outputs, "output", "Prediction outputs")

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Returns the signature of a prediction."""
        return predict_signature_def(receiver_tensors, self.outputs)


def _by_name(outputs: object, default: str, what: str) -> dict[str, Any]:
    """Returns tensors by name; one that has none takes the default."""
    named = dict(outputs) if isinstance(outputs, Mapping) else {default: outputs}
    for key, value in named.items():
        if not isinstance(key, str | bytes):
            raise ValueError(f"{what}: keys must be strings, received {key!r}")
        if not is_tensor(value):
            raise ValueError(f"{what}: values must be Tensors, received {value!r} for {key!r}")
    return {as_text(key): value for key, value in named.items()}


class SupervisedOutput(ExportOutput):
    """The loss, predictions and metrics of a model in a mode with labels."""

    method_name = ""

    loss = ReadOnly[dict[str, Any] | None]("The loss, by name.")
    predictions = ReadOnly[dict[str, Any] | None]("The predictions, by name.")
    metrics = ReadOnly[dict[str, Any] | None]("Values and updates of the metrics, by name.")

    def __init__(self, loss: TensorLike | None = None, predictions: object = None, metrics: Any = None) -> None:
        self._loss = None if loss is None else _prefixed("loss", _by_name(loss, "loss", "Loss outputs"))
        named = {} if predictions is None else _by_name(predictions, "predictions", "Prediction outputs")
        self._predictions = _prefixed("predictions", named) or None
        self._metrics = None if metrics is None else _metric_outputs(metrics)

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Returns the signature of a step with labels."""
        inputs = {key: build_tensor_info(tensor) for key, tensor in receiver_tensors.items()}
        outputs: dict[str, Any] = {}
        for group in (self._loss, self._predictions, self._metrics):
            outputs |= {key: build_tensor_info(tensor) for key, tensor in (group or {}).items()}
        return build_signature_def(inputs, outputs, self.method_name)


def _prefixed(prefix: str, outputs: dict[str, Any]) -> dict[str, Any]:
    return {key if key.startswith(prefix) else f"{prefix}/{key}": value for key, value in outputs.items()}


def _metric_outputs(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the value and the update of each metric; an operation becomes a tensor that follows it."""
    outputs = {}
    require_kind("metrics", metrics, Mapping, "a dict of metrics")
    for name, (value, update) in metrics.items():
        if isinstance(update, Operation):
            with control_dependencies([update]):
                update = constant([], name="metric_op_wrapper")
        outputs[f"{name}/value"], outputs[f"{name}/update_op"] = value, update
    return _prefixed("metrics", outputs)


@export("estimator.export.EvalOutput")
class EvalOutput(SupervisedOutput):
    """The output of an evaluation: loss, predictions and metrics.

    Args:
        loss: The loss, a tensor or tensors by name.
        predictions: The predictions, a tensor or tensors by name.
        metrics: Pairs of value and update by name.
    """

    method_name = EVAL_METHOD_NAME

    def __init__(self, loss: TensorLike | None = None, predictions: object = None, metrics: object = None) -> None:
        super().__init__(loss, predictions, metrics)


class TrainOutput(SupervisedOutput):
    """The output of a training step: loss, predictions and metrics."""

    method_name = TRAIN_METHOD_NAME


# -- signatures -------------------------------------------------------------------------------------------------------


def with_default_output(export_outputs: object, predictions: object) -> dict[str, ExportOutput]:
    """Returns the outputs to serve, one of them under the default key; without any, the predictions are served."""
    if export_outputs is None:
        export_outputs = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"`export_outputs` must be dict, given: {export_outputs}")
    for key, value in export_outputs.items():
        if not isinstance(value, ExportOutput):
            raise TypeError(f"export_outputs[{key!r}]: expected an ExportOutput object, received {value!r}")
    if len(export_outputs) == 1:
        (value,) = export_outputs.values()
        return {**export_outputs, DEFAULT_SERVING_SIGNATURE_DEF_KEY: value}
    if len(export_outputs) > 1 and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in export_outputs:
        raise ValueError(
            f"export_outputs has {len(export_outputs)} entries, and none of them is the default: "
            f"name one of them {DEFAULT_SERVING_SIGNATURE_DEF_KEY!r}"
        )
    return export_outputs


def signature_defs(
    receiver_tensors: object, export_outputs: Mapping[str, ExportOutput], alternatives: Any = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns the signatures of all outputs for all inputs by key, and why others are left out, by key."""
    if not isinstance(receiver_tensors, Mapping):
        receiver_tensors = {SINGLE_RECEIVER_NAME: receiver_tensors}
    if export_outputs is None or not isinstance(export_outputs, Mapping):
        raise ValueError(f"export_outputs must be a dict, received {type(export_outputs)}")
    receivers: dict[str | None, Any] = {None: receiver_tensors}
    for name, tensors in (alternatives or {}).items():
        receivers[name] = tensors if isinstance(tensors, Mapping) else {SINGLE_RECEIVER_NAME: tensors}
    signatures, excluded = {}, {}
    for name, tensors in receivers.items():
        for key, output in export_outputs.items():
            full = key if name is None else f"{name}:{key}"
            try:
                signatures[full] = output.as_signature_def(tensors)
            except ValueError as error:
                excluded[full] = str(error)
    return signatures, excluded
