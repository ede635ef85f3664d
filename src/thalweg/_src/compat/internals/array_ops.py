"""Names of `tensorflow.python.ops`: array_ops, math_ops, nn_ops, image_ops and gradients_impl, that are not public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike, as_dtype
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.ops.concat import unstack
from thalweg._src.graph.ops.gather import tensor_scatter_update
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, rank, reshape, shape, size
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: DTypeLike = dtypes.int32
) -> Tensor:
    """Returns the shape of a tensor; it is a constant where it is known, whatever `optimize` says."""
    return shape(input, name, out_type)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """Returns the rank of a tensor."""
    return rank(input, name)


def size_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: DTypeLike = dtypes.int32
) -> Tensor:
    """Returns the number of elements of a tensor."""
    return size(input, name, out_type)


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Returns the shape that an integer vector describes, as far as it is known."""
    return TensorShape(as_static_shape(tensor))


def _ReductionDims(x: TensorLike, axis: object, reduction_indices: object = None) -> Any:
    """Returns the axes of a reduction: those given, or all of the tensor's."""
    if axis is not None and reduction_indices is not None:
        raise ValueError("expected axis or reduction_indices, received both")
    chosen = reduction_indices if axis is None else axis
    return range_of(0, rank(convert_to_tensor(x))) if chosen is None else chosen


def reduced_shape(input_shape: object, axes: object) -> Tensor:
    """Returns a shape with the sizes of reduced axes replaced by 1."""
    sizes = convert_to_tensor(input_shape, dtypes.int32)
    chosen = reshape(convert_to_tensor(axes, dtypes.int32), [-1]) % size(sizes)
    return tensor_scatter_update(sizes, expand_dims(chosen, -1), ones_like(chosen))


def _get_sequence(value: Any, n: int, channel_index: int, name: str) -> list[Any]:
    """Returns sizes of all dimensions: those of the n spatial ones, or one for all, with 1 for batch and channels."""
    sizes = [1] if value is None else list(value) if isinstance(value, Sequence) else [value]
    if len(sizes) == n + 2:
        return sizes
    if len(sizes) not in (1, n):
        raise ValueError(f"{name}: expected 1, {n} or {n + 2} sizes, received {len(sizes)}")
    spatial = sizes * n if len(sizes) == 1 else sizes
    return [1, 1, *spatial] if channel_index == 1 else [1, *spatial, 1]


def _ImageDimensions(image: TensorLike, rank: int) -> list[Any]:
    """Returns the sizes of an image, integers where they are known and tensors elsewhere."""
    tensor = convert_to_tensor(image)
    static_shape = tensor.shape.with_rank(rank).as_list()
    if None not in static_shape:
        return static_shape
    return [size if size is not None else dynamic for size, dynamic in zip(static_shape, unstack(shape(tensor), rank))]


def fix_image_flip_shape(image: Tensor, result: Tensor) -> Tensor:
    """Gives a flipped image the static shape of the image, or rank 3 if it has none."""
    result.set_shape([None] * 3 if image.shape.ndims is None else image.shape)
    return result


def IsTrainable(tensor_or_dtype: object) -> bool:
    """Returns whether gradients are computed of values of a type."""
    dtype = tensor_or_dtype.dtype if isinstance(tensor_or_dtype, Tensor) else as_dtype(tensor_or_dtype)
    kind: DType = dtype.base_dtype
    return kind.is_floating or kind.is_complex or kind in (dtypes.resource, dtypes.variant)


def _hessian_vector_product(ys: Any, xs: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """Returns the product of the Hessian of ys with a vector, one part for each of xs, without the Hessian itself."""
    if len(v) != len(xs):
        raise ValueError(f"xs and v must have equal lengths, but have {len(xs)} and {len(v)}")
    first = gradients(ys, xs)
    products = [multiply(grad, stop_gradient(component)) for grad, component in zip(first, v) if grad is not None]
    return gradients(products, xs)
