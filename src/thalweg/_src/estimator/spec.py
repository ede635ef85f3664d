"""EstimatorSpec: what a model function returns, with the checks of what each mode requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.estimator.export_outputs import with_default_output
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.is_tensor import is_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_run_hook import SessionRunHook

LOSS_KEY, AVERAGE_LOSS_KEY = "loss", "average_loss"
MODES = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, tuple[Any, Any]]
    export_outputs: Any
    training_chief_hooks: tuple[SessionRunHook, ...]
    training_hooks: tuple[SessionRunHook, ...]
    scaffold: Any
    evaluation_hooks: tuple[SessionRunHook, ...]
    prediction_hooks: tuple[SessionRunHook, ...]


@export("estimator.EstimatorSpec")
class EstimatorSpec(_Fields):
    """The operations of a model in one mode: training needs a loss and an update, prediction needs predictions.

    Args:
        mode: A constant of `tf.estimator.ModeKeys`.
        predictions: The predictions, a tensor or tensors by name.
        train_op: Operation that takes a step of training.
        eval_metric_ops: Metrics by name: pairs of value and update, or metric objects.
        export_outputs: What is served: `ExportOutput` objects by signature; by default the predictions.
        training_chief_hooks: Hooks of training at the chief.
        training_hooks: Hooks of training at all workers.
        evaluation_hooks: Hooks of evaluation.
        prediction_hooks: Hooks of prediction.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: object = None,
        loss: Any = None,
        train_op: object = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Mapping[str, Any] | None = None,
        training_chief_hooks: Sequence[SessionRunHook] | None = None,
        training_hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        evaluation_hooks: Sequence[SessionRunHook] | None = None,
        prediction_hooks: Sequence[SessionRunHook] | None = None,
    ) -> EstimatorSpec:
        if mode not in MODES:
            raise ValueError(f"Invalid mode {mode!r}: expected one of {MODES}")
        checked = _checked_predictions(predictions, mode)
        if mode == ModeKeys.PREDICT:
            export_outputs = with_default_output(export_outputs, checked)
        if scaffold is not None and not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be a tf.train.Scaffold, given: {scaffold!r}")
        return super().__new__(
            cls,
            mode,
            checked,
            _checked_loss(loss, mode),
            _checked_train_op(train_op, mode),
            checked_metrics(eval_metric_ops),
            export_outputs,
            checked_hooks(training_chief_hooks, "training_chief_hooks"),
            checked_hooks(training_hooks, "training_hooks"),
            Scaffold() if scaffold is None else scaffold,
            checked_hooks(evaluation_hooks, "evaluation_hooks"),
            checked_hooks(prediction_hooks, "prediction_hooks"),
        )


def _require_here(value: object, what: str) -> None:
    """Raises unless an object belongs to the default graph."""
    if getattr(value, "graph", get_default_graph()) is not get_default_graph():
        raise ValueError(
            f"{what} must be of the default graph, in which the model function is called, but {value!r} is of another"
        )


def _require_tensor(value: object, what: str) -> None:
    if not is_tensor(value):
        raise TypeError(f"{what} must be Tensor, given: {value!r}")
    _require_here(value, what)


def _checked_train_op(train_op: object, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    if not isinstance(train_op, Operation) and not is_tensor(train_op):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op!r}")
    _require_here(train_op, "train_op")
    return train_op


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    _require_tensor(loss, "loss")
    shape = loss.get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss!r}")
    return loss if shape.ndims == 0 else reshape(loss, [])


def _checked_predictions(predictions: object, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if isinstance(predictions, Mapping):
        for key, value in predictions.items():
            _require_tensor(value, f"predictions[{key!r}]")
    else:
        _require_tensor(predictions, "predictions")
    return predictions


def checked_metrics(metrics: object) -> dict[str, tuple[Any, Any]]:
    """Returns the value and the update of each metric; raises if a value is of another type."""
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics!r}")
    return {key: _checked_metric(key, value) for key, value in metrics.items()}


def _checked_metric(key: str, value: Any) -> tuple[Any, Any]:
    """Returns the value and the update of a metric; an object such as a Keras metric gives its result and updates."""
    if hasattr(value, "update_state") and hasattr(value, "result"):
        if not value.updates:
            raise ValueError(f"eval_metric_ops[{key!r}]: call update_state(...) of the metric before it is returned")
        local_variables = get_collection(GraphKeys.LOCAL_VARIABLES)
        for variable in getattr(value, "variables", ()):  # which sessions initialize
            if not any(variable is other for other in local_variables):
                add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
        value = (value.result(), value.updates[0])
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(
            f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {value!r} for key: {key}"
        )
    for element in value:
        if not isinstance(element, Operation) and not is_tensor(element):
            raise TypeError(f"eval_metric_ops[{key!r}] must be Operation or Tensor, given: {element!r}")
        _require_here(element, f"eval_metric_ops[{key!r}]")
    return value[0], value[1]


def checked_hooks(hooks: Sequence[SessionRunHook] | None, what: str) -> tuple[SessionRunHook, ...]:
    """Returns hooks as a tuple; raises TypeError if one of them is not a hook."""
    for hook in hooks or ():
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"{what}: all hooks must be SessionRunHook instances, given: {hook!r}")
    return tuple(hooks or ())
