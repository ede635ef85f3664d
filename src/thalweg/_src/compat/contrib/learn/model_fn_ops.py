"""ModelFnOps and MetricSpec: what a model function of tf.contrib.learn returns, and metrics of its predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.estimator.calls import parameter_names
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.graph.types import TensorLike

_NAMES = {
    "labels": ("labels", "label", "targets", "target"),
    "predictions": ("predictions", "prediction", "logits", "logit", "y_pred"),
    "weights": ("weights", "weight"),
}


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    output_alternatives: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any


@export("contrib.learn.ModelFnOps")
class ModelFnOps(_Fields):
    """The operations of a model in one mode.

    Args:
        mode: A constant of `tf.contrib.learn.ModeKeys`.
        predictions: The predictions, a tensor or tensors by name.
        loss: The loss, a scalar.
        train_op: Operation that takes a step of training.
        eval_metric_ops: Pairs of value and update by name.
        output_alternatives: Pairs of a kind of problem and outputs by name, by the name of a head.
        training_chief_hooks: Hooks of training at the chief.
        training_hooks: Hooks of training at all workers.
        scaffold: A `tf.train.Scaffold`.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: TensorLike | None = None,
        loss: object = None,
        train_op: object = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        output_alternatives: Mapping[str, Any] | None = None,
        training_chief_hooks: Sequence[Any] | None = None,
        training_hooks: Sequence[Any] | None = None,
        scaffold: object = None,
    ) -> ModelFnOps:
        fields = mode, predictions, loss, train_op, eval_metric_ops, output_alternatives
        return super().__new__(cls, *fields, training_chief_hooks, training_hooks, scaffold)

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> EstimatorSpec:
        """Returns the same as an `EstimatorSpec`, whose predictions are served."""
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            self.eval_metric_ops,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


@export("contrib.learn.MetricSpec")
class MetricSpec:
    """A metric of some of the predictions and labels of a model.

    Args:
        metric_fn: Function of predictions and labels, and of weights if it takes them, that returns value and update.
        prediction_key: Name of the prediction; None for a model with one.
        label_key: Name of the label; None for a model with one.
        weight_key: Name of the feature with weights; None weighs all equally.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        if not callable(metric_fn):
            raise TypeError(f"metric_fn: expected a function of predictions and labels, received {metric_fn!r}")
        self.metric_fn = metric_fn
        self.prediction_key = prediction_key
        self.label_key = label_key
        self.weight_key = weight_key

    def create_metric_ops(self, inputs: object, labels: TensorLike, predictions: TensorLike) -> Any:
        """Returns what the function returns for the chosen predictions, labels and weights."""
        values = {
            "labels": _chosen(labels, self.label_key, "label_key"),
            "predictions": _chosen(predictions, self.prediction_key, "prediction_key"),
        }
        if self.weight_key is not None:
            values["weights"] = _chosen(inputs, self.weight_key, "weight_key")
        names = parameter_names(self.metric_fn)
        named = {
            next((synonym for synonym in _NAMES[what] if synonym in names), ""): value for what, value in values.items()
        }
        if "" not in named:
            return self.metric_fn(**named)
        if self.weight_key is not None:
            raise ValueError(f"{self}: expected a function with parameters for labels, predictions and weights")
        return self.metric_fn(values["predictions"], values["labels"])

    def __str__(self) -> str:
        function = self.metric_fn.func if isinstance(self.metric_fn, partial) else self.metric_fn
        keys = f"prediction_key={self.prediction_key}, label_key={self.label_key}, weight_key={self.weight_key}"
        return f"MetricSpec(metric_fn={getattr(function, '__name__', function)}, {keys})"


def _chosen(values: object, key: str | None, what: str) -> Any:
    """Returns one of several tensors by name, or the only one."""
    if not isinstance(values, Mapping):
        if key is not None:
            raise ValueError(f"{what}={key!r}, but there is one tensor without a name")
        return values
    if key is None:
        if len(values) == 1:
            return next(iter(values.values()))
        raise ValueError(f"{what} must be given, one of {sorted(values)}")
    if key not in values:
        raise ValueError(f"{what}: expected one of {sorted(values)}, received {key!r}")
    return values[key]
