"""Shape checks: static ones while the graph is built, others in the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add_n
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all, reduce_sum
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.weights import squeeze_to_common_rank


@export("contrib.framework.with_shape")
def with_shape(expected_shape: Any, tensor: TensorLike) -> Any:
    """Returns the tensor after a check of its shape, static if possible, otherwise in the step."""
    tensor = convert_to_tensor(tensor)
    if not isinstance(expected_shape, Tensor):
        expected_dims = shapes.as_shape(expected_shape)
        if not shapes.compatible(expected_dims, tensor.dims):
            raise ValueError(f"Invalid shape for tensor {tensor.label}, expected {expected_shape}, got {tensor.shape}.")
        if shapes.is_fully_defined(tensor.dims) or not shapes.is_fully_defined(expected_dims):
            return tensor
        expected_shape = list(expected_dims or ())
    else:
        expected_dims = None
    with name_scope(f"{tensor.op.name}/", values=[tensor]):
        actual_shape = shape(tensor)
        message = f"Wrong shape for {tensor.name} [expected] [actual]."
        same = reduce_all(equal(convert_to_tensor(expected_shape, dtypes.int32), actual_shape))
        with control_dependencies([Assert(same, [message, expected_shape, actual_shape])]):
            checked = identity(tensor, name="tensor")
    checked.set_shape(expected_dims)
    return checked


@export("contrib.framework.with_same_shape")
def with_same_shape(expected_tensor: TensorLike, tensor: TensorLike) -> Any:
    """Returns the tensor after a check that it has the shape of another."""
    expected = convert_to_tensor(expected_tensor)
    is_static = shapes.is_fully_defined(expected.dims)
    return with_shape(expected.shape if is_static else shape(expected), tensor)


@export("contrib.framework.remove_squeezable_dimensions")
def remove_squeezable_dimensions(
    predictions: TensorLike, labels: TensorLike, name: str | None = None
) -> tuple[Any, Any]:
    """Removes a last axis of size 1 from the tensor whose rank is higher by 1.

    Args:
        predictions: The predictions.
        labels: The labels.
    """
    with name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        labels, predictions = squeeze_to_common_rank(labels, predictions)[:2]
        return predictions, labels


@export("contrib.framework.assert_scalar_int")
def assert_scalar_int(tensor: TensorLike, name: str | None = None) -> Any:
    """Raises ValueError if the tensor is not an int32 or int64 scalar.

    Args:
        tensor: The tensor to check.
    """
    with name_scope(name, "assert_scalar_int", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Expected int32 or int64 type for tensor {tensor.label}, got {tensor.dtype.name}.")
        if tensor.dims not in (None, ()):
            raise ValueError(f"Unexpected shape {tensor.shape} for tensor {tensor.label}: a scalar is expected")
        return tensor


@export("contrib.framework.reduce_sum_n")
def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """Returns the sum of all elements of all tensors."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", list(tensors)) as scope:
        return add_n([reduce_sum(tensor) for tensor in tensors], name=scope)
