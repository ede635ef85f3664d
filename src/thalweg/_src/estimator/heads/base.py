"""Head: the part of a model after its logits: its loss, predictions, metrics, training and exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.estimator.calls import accepted, parameter_names
from thalweg._src.estimator.export_outputs import ExportOutput
from thalweg._src.estimator.spec import AVERAGE_LOSS_KEY, LOSS_KEY, EstimatorSpec
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.is_tensor import is_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.math import add_n
from thalweg._src.graph.ops.reshape import expand_dims
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.nn.feature_columns.base import DenseColumn, Features
from thalweg._src.training.nn.losses import Reduction, compute_weighted_loss
from thalweg._src.training.nn.metrics.means import mean
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.nn.summaries import scalar
from thalweg._src.training.variables.global_step import get_global_step

# The reductions that make a scalar, under their names in Keras too.
REDUCTIONS = {
    "sum": Reduction.SUM,
    "sum_over_batch_size": Reduction.SUM_OVER_BATCH_SIZE,
    **{key: key for key in Reduction.all() if key != Reduction.NONE},
}
REGULARIZATION_KEY = "regularization_loss"
Pair = tuple[Any, Any]


class HeadMetric:
    """A metric of a head: its value over all batches, and the update that adds a batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.updates: list[Any] = []
        self._value: Any = None

    def update_state(self, value: object, update: TensorLike) -> Any:
        """Sets the value and the update, and returns the update."""
        self._value, self.updates = value, [update]
        return update

    def result(self) -> Any:
        """Returns the value."""
        return self._value


@export("estimator.Head")
class Head:
    """The base class of heads."""

    name = ReadOnly[str | None]("The name, which ends the names of metrics; None without one.")
    logits_dimension = ReadOnly[Any]("The size of the last dimension of the logits.")
    loss_reduction = ReadOnly[str]("How the losses of examples become one number.")

    _name: str | None = None
    _logits_dimension: Any = 1
    _loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE
    _weight_column: Any = None
    _loss_fn: Callable[..., Any] | None = None

    def loss(
        self,
        labels: NestedTensors,
        logits: NestedTensors,
        features: NestedTensors = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Tensor:
        """Returns the loss of a batch, penalties included."""
        labels = self._checked_labels(labels, self._checked_logits(logits))
        unweighted = self._loss_of(labels, self._checked_logits(logits), features)
        return self._total(unweighted, self._weights(features), regularization_losses)

    def predictions(self, logits: NestedTensors, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        """Returns the predictions by name, all or some of them."""
        predictions = self._all_predictions(self._checked_logits(logits))
        return predictions if keys is None else {key: predictions[key] for key in keys}

    def metrics(self, regularization_losses: Sequence[Any] | None = None) -> dict[str, Any]:
        """Returns the metrics by name, before any batch."""
        keys = self._metric_keys()
        if regularization_losses:
            keys = [*keys, REGULARIZATION_KEY]
        return {self._named(key): HeadMetric(self._named(key)) for key in keys}

    def update_metrics(
        self,
        eval_metrics: Mapping[str, Any],
        features: NestedTensors,
        logits: NestedTensors,
        labels: NestedTensors,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Adds a batch to metrics, and returns them."""
        logits = self._checked_logits(logits)
        labels = self._checked_labels(labels, logits)
        weights = self._weights(features)
        unweighted = self._loss_of(labels, logits, features)
        updates = self._metric_pairs(labels, logits, weights, unweighted)
        updates[AVERAGE_LOSS_KEY] = mean(unweighted, broadcast_weights(weights))
        if regularization_losses:
            updates[REGULARIZATION_KEY] = mean(add_n(list(regularization_losses)))
        for key, (value, update) in updates.items():
            if self._named(key) in eval_metrics:
                eval_metrics[self._named(key)].update_state(value, update)
        return dict(eval_metrics)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:
        """Returns what a model function returns, for logits in a mode."""
        predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predictions, export_outputs=self._export_outputs(predictions))
        loss = self.loss(labels, logits, features, mode, regularization_losses)
        if mode == ModeKeys.EVAL:
            metrics = self.update_metrics(
                self.metrics(regularization_losses), features, logits, labels, mode, regularization_losses
            )
            return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics)
        update = train_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        self._summarize(loss, regularization_losses)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=update)

    # -- what kinds of heads say --------------------------------------------------------------------------------------

    def _checked_labels(self, labels: NestedTensors, logits: Tensor) -> Any:
        raise TypeError(f"{type(self).__name__} does not implement _checked_labels")

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not implement _unweighted")

    def _all_predictions(self, logits: Tensor) -> dict[Any, Any]:
        raise TypeError(f"{type(self).__name__} does not implement predictions")

    def _metric_keys(self) -> list[str]:
        raise TypeError(f"{type(self).__name__} does not implement metrics")

    def _metric_pairs(
        self, labels: NestedTensors, logits: Tensor, weights: TensorLike, unweighted: Tensor
    ) -> dict[str, Pair]:
        raise TypeError(f"{type(self).__name__} does not implement update_metrics")

    def _export_outputs(self, predictions: dict[Any, Any]) -> dict[str, ExportOutput]:
        raise TypeError(f"{type(self).__name__} does not implement create_estimator_spec")

    # -- what they share ----------------------------------------------------------------------------------------------

    def _set(
        self,
        name: str | None,
        reduction: str,
        weight_column: str | DenseColumn | None,
        loss_fn: Callable[..., Any] | None,
    ) -> None:
        """Sets what all heads have, after checks."""
        if reduction not in REDUCTIONS:
            raise ValueError(f"Invalid loss_reduction: {reduction!r}; expected one of {sorted(REDUCTIONS)}")
        if loss_fn is not None:
            names = set(parameter_names(loss_fn))
            if not {"labels", "logits"} <= names or names - {"labels", "logits", "features", "loss_reduction"}:
                raise ValueError(
                    f"loss_fn must have the parameters labels and logits, and may have features and loss_reduction: "
                    f"{sorted(names)}"
                )
        if weight_column is not None and not isinstance(weight_column, str | DenseColumn):
            raise TypeError(
                f"Weight column must be either a string or NumericColumn. Given type: {type(weight_column)}"
            )
        self._name = name
        self._loss_reduction = reduction
        self._weight_column = weight_column
        self._loss_fn = loss_fn

    def _named(self, key: str) -> str:
        return f"{key}/{self._name}" if self._name else key

    def _checked_logits(self, logits: NestedTensors) -> Tensor:
        if logits is None:
            raise ValueError("logits must not be None")
        tensor: Tensor = cast(convert_to_tensor(logits), dtypes.float32)
        size = None if tensor.dims is None else tensor.dims[-1] if tensor.dims else 0
        if size is not None and size != self._logits_dimension:
            raise ValueError(f"logits shape must be [..., {self._logits_dimension}], received {tensor.shape}")
        return tensor

    def _loss_of(self, labels: NestedTensors, logits: Tensor, features: NestedTensors) -> Tensor:
        if self._loss_fn is None:
            return self._unweighted(labels, logits)
        options = {"labels": labels, "logits": logits, "features": features, "loss_reduction": Reduction.NONE}
        return convert_to_tensor(self._loss_fn(**accepted(self._loss_fn, **options)))

    def _weights(self, features: NestedTensors) -> Any:
        """Returns the weights of examples, [batch, 1]; 1 without a column of weights."""
        if self._weight_column is None:
            return 1.0
        if features is None:
            raise ValueError("weights are a feature: give the features too")
        if isinstance(self._weight_column, str):
            if self._weight_column not in features:
                raise ValueError(f"weight column {self._weight_column!r} is not among the features {sorted(features)}")
            weights = convert_to_tensor(features[self._weight_column])
        else:
            weights = self._weight_column.dense(Features(features))
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise ValueError(f"Weight column should be castable to float. Given dtype: {weights.dtype.name}")
        weights = cast(weights, dtypes.float32)
        return expand_dims(weights, -1) if weights.shape.ndims == 1 else weights

    def _total(self, unweighted: Tensor, weights: TensorLike, regularization_losses: Sequence[Any] | None) -> Tensor:
        """Returns the reduced loss of examples with the penalties."""
        loss = compute_weighted_loss(unweighted, weights, reduction=REDUCTIONS[self._loss_reduction])
        return add_n([loss, *regularization_losses]) if regularization_losses else loss

    def _summarize(self, loss: TensorLike, regularization_losses: Sequence[Any] | None) -> None:
        scalar(self._named(LOSS_KEY), loss)
        if regularization_losses:
            scalar(self._named(REGULARIZATION_KEY), add_n(list(regularization_losses)))


def broadcast_weights(weights: TensorLike) -> Any:
    """Returns weights as metrics take them: None for equal ones."""
    return weights if is_tensor(weights) else None


def require_labels(labels: NestedTensors) -> None:
    """Raises if a mode that needs labels has none."""
    if labels is None:
        raise ValueError("You must provide a labels Tensor. Given: None. Does the input function return labels?")


def with_last_dimension(labels: NestedTensors, size: int) -> Any:
    """Returns labels [..., size]; those of rank 1 get a last dimension of size 1."""
    tensor = convert_to_tensor(labels)
    if tensor.shape.ndims == 1 and size == 1:
        tensor = expand_dims(tensor, -1)
    if tensor.shape.ndims is not None:
        last = tensor.shape[-1].value if tensor.shape.ndims else 0
        if last is not None and last != size:
            raise ValueError(f"Mismatched label shape. Expected labels dimension={size}. Received {tensor.shape}.")
    return tensor


def train_op(
    loss: TensorLike,
    optimizer: Any,
    variables: Sequence[Any] | None,
    train_op_fn: Callable[[Any], Any] | None,
    update_ops: Sequence[Any] | None,
) -> Any:
    """Returns the operation of a step, of an optimizer or of a function of the loss; updates of layers come first."""
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError("exactly one of optimizer and train_op_fn must be given")
    updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
    with control_dependencies(updates):
        if train_op_fn is not None:
            step = train_op_fn(loss)
        else:
            step = optimizer.minimize(loss, global_step=get_global_step(), var_list=variables)
    return group(step, *updates) if updates else step
