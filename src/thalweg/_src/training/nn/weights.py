"""Broadcasting of weights to values, for losses and metrics.

Weights are a scalar, or have the rank of the values and each size either 1 or that of the values.
"""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, compatible, is_fully_defined, show
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.bincount import remove_squeezable_dimensions
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, logical_or
from thalweg._src.graph.ops.concat import concat, pack
from thalweg._src.graph.ops.constants import fill, no_op
from thalweg._src.graph.ops.math import multiply, subtract
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, rank, reshape, shape, squeeze
from thalweg._src.graph.ops.slicing import slice as slice_of
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation:
    """Returns an operation that fails if weights do not broadcast to values; raises ValueError if that is known."""
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        weights, values = convert_to_tensor(weights, name="weights"), convert_to_tensor(values, name="values")
        if _fit(weights.dims, values.dims):
            return no_op(name="static_checks_determined_all_ok")
        weights_shape, values_shape = shape(weights), shape(values)
        whole = cond(
            equal(rank(weights), rank(values)),
            lambda: reduce_all(logical_or(equal(weights_shape, 1), equal(weights_shape, values_shape))),
            lambda: equal(rank(weights), 0),
        )
        data: list[TensorLike] = [
            "weights can not be broadcast to values.",
            f"weights.shape={weights.name}",
            weights_shape,
            f"values.shape={values.name}",
            values_shape,
        ]
        return Assert(whole, data, name=scope)


def _fit(weights: Shape, values: Shape) -> bool:
    """Returns whether weights are known to broadcast; raises ValueError if they are known not to."""
    if weights == ():
        return True
    if weights is None or values is None:
        return False
    shapes = f"values.shape={show(values)}, weights.shape={show(weights)}"
    if len(weights) != len(values):
        raise ValueError(
            f"weights can not be broadcast to values. values.rank={len(values)}. weights.rank={len(weights)}. {shapes}"
        )
    pairs = list(zip(weights, values))
    for dimension, (weight_size, other) in enumerate(pairs):
        if weight_size not in (None, 1, other) and other is not None:
            raise ValueError(f"weights can not be broadcast to values. Mismatch at dim {dimension}. {shapes}")
    return all(weight_size == 1 or (weight_size is not None and weight_size == other) for weight_size, other in pairs)


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Returns the weights broadcast to the shape of the values."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        factors = convert_to_tensor(weights, values.dtype.base_dtype, name="weights")
        if is_fully_defined(factors.dims) and factors.dims == values.dims:
            return factors
        with control_dependencies([assert_broadcastable(factors, values)]):
            return multiply(factors, ones_like(values), name=scope)


def with_rank_of(weights: Any, values: Tensor) -> Tensor:
    """Adds or removes a last dimension of weights so that they have the rank of the values; scalars are unchanged."""
    factors = convert_to_tensor(weights, name="weights")
    weight_dims, other = factors.dims, values.dims
    if weight_dims == ():
        return factors
    if weight_dims is None or other is None:
        return _with_rank_of(factors, values)
    if len(weight_dims) == len(other) + 1:
        return squeeze(factors, [-1])
    return expand_dims(factors, -1) if len(weight_dims) == len(other) - 1 else factors


def _with_rank_of(weights: Tensor, values: Tensor) -> Tensor:
    """Adds or removes the last dimension in the step, for ranks that are not known statically."""
    weight_rank, difference = rank(weights), subtract(rank(weights), rank(values))
    is_weights = subtract(1, cast(equal(weight_rank, 0), dtypes.int32))
    fewer = cast(equal(difference, 1), dtypes.int32)
    more = multiply(is_weights, cast(equal(difference, -1), dtypes.int32))
    if weights.dims is not None and weights.dims[-1] not in (None, 1):
        fewer = multiply(fewer, 0)
    return reshape(weights, concat([_leading(weights, subtract(weight_rank, fewer)), fill([more], 1)], 0))


def _leading(tensor: Tensor, count: Tensor) -> Tensor:
    """Returns the first dimensions of a tensor's shape."""
    return slice_of(shape(tensor), [0], pack([count]))


def squeeze_to_rank(weights: TensorLike, values: Tensor) -> Tensor:
    """Removes a surplus last dimension of the weights."""
    factors = convert_to_tensor(weights, name="weights")
    if factors.dims is None or values.dims is None:
        return _dropped(factors, equal(subtract(rank(factors), rank(values)), 1))
    return squeeze(factors, [-1]) if len(factors.dims) == len(values.dims) + 1 else factors


def squeeze_to_common_rank(
    labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0
) -> tuple[Tensor, Tensor]:
    """Removes a last dimension of size 1 from the tensor with the higher rank, if necessary in the step."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    if labels.dims is not None and predictions.dims is not None:
        return remove_squeezable_dimensions(labels, predictions, expected_rank_diff)
    difference = subtract(rank(predictions), rank(labels))
    shorter = [
        _dropped(tensor, equal(difference, expected_rank_diff + sign))
        for tensor, sign in ((labels, -1), (predictions, 1))
    ]
    return shorter[0], shorter[1]


def _dropped(tensor: Tensor, condition: Tensor) -> Tensor:
    """Removes the last dimension, of size 1, if a condition holds in the step."""
    if tensor.dims is not None and (not tensor.dims or tensor.dims[-1] not in (None, 1)):
        return tensor
    return reshape(tensor, _leading(tensor, subtract(rank(tensor), cast(condition, dtypes.int32))))


def require_compatible(first: Tensor, second: Tensor) -> None:
    """Raises ValueError if two static shapes are incompatible."""
    if not compatible(first.dims, second.dims):
        raise ValueError(f"Shapes {show(first.dims)} and {show(second.dims)} are incompatible")
