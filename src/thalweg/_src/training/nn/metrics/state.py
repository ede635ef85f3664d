"""State of metrics: local variables, value and update, and their collections."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameter, taking
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.ops.reshape import zeros
from thalweg._src.graph.scopes import GraphKeys, add_to_collections
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.weights import require_compatible, squeeze_to_common_rank, with_rank_of
from thalweg._src.training.variables.distribution import current_mode
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.variables import Variable

_COLLECTIONS = [parameter("metrics_collections", None), parameter("updates_collections", None)]
Result = tuple[Any, Any]  # the value, and the operation that adds a batch and returns the new value


def metric_variable(shape: ShapeLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None) -> Any:
    """Creates a local variable initialized to zero, which is neither saved nor trained."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def across_replicas(compute: Callable[..., Any], *totals: Any) -> Any:
    """Returns a function of variables; in a replica of a strategy, that of the totals of all replicas."""
    mode = current_mode()
    if mode is None or mode.replica is None:
        return compute(*totals)
    return mode.replica.merge_call(lambda strategy, *merged: compute(*merged), args=totals)


def metric(function: Callable[..., Result]) -> Callable[..., Result]:
    """Adds `metrics_collections` and `updates_collections` before the parameter `name` of a metric.

    The value and the update that the function returns are added to these collections.
    """
    signature = inspect.signature(function)
    before = [declared for name, declared in signature.parameters.items() if name != "name"]

    @wraps(function)
    def collecting(
        metrics_collections: Sequence[str] | str | None,
        updates_collections: Sequence[str] | str | None,
        **arguments: Any,
    ) -> Result:
        if executing_eagerly():
            raise RuntimeError(
                f"tf.metrics.{function.__name__} is not supported when eager execution is enabled; "
                "hint: tf.contrib.eager.metrics"
            )
        return collected(*function(**arguments), metrics_collections, updates_collections)

    return taking(signature.replace(parameters=[*before, *_COLLECTIONS, signature.parameters["name"]]), collecting)


def collected(
    value: object,
    update: object,
    metrics_collections: Sequence[str] | str | None,
    updates_collections: Sequence[str] | str | None,
) -> Result:
    """Returns value and update, after adding them to the given collections."""
    mode = current_mode()
    if metrics_collections and (mode is None or not mode.copy):  # the value of all replicas is one tensor
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def matched_ranks(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Returns predictions, labels and weights of one rank; a last dimension of size 1 is removed or added."""
    labels, predictions = squeeze_to_common_rank(labels, convert_to_tensor(predictions))
    require_compatible(predictions, labels)
    return predictions, labels, None if weights is None else with_rank_of(weights, predictions)
