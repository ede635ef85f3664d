"""Shapes of tensors of the Keras backend: reshaping, repeating, padding, joining."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import concat, image_resize, pad_tile, reshape as reshape_ops, sequences, where
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.sparse_shaping import sparse_concat, sparse_transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.keras.backend.values import is_sparse, to_dense
from thalweg._src.training.nn.layers.windows import data_format_of

Pair = Sequence[int]


def format_of(data_format: str | None) -> str:
    """Returns where channels are, by default as `image_data_format()` says."""
    return data_format_of(data_format or image_data_format())


def channels_last(x: Tensor, data_format: str) -> Tensor:
    """Returns images or volumes of a format with their channels last."""
    if data_format == "channels_last":
        return x
    return reshape_ops.transpose(x, [0, *range(2, x._rank()), 1])  # type: ignore[arg-type]


def in_format(x: Tensor, data_format: str) -> Tensor:
    """Returns images or volumes that have their channels last in a format."""
    if data_format == "channels_last":
        return x
    rank = x._rank()
    assert rank is not None
    return reshape_ops.transpose(x, [0, rank - 1, *range(1, rank - 1)])


# -- the shape --------------------------------------------------------------------------------------------------------


@export("keras.backend.shape")
def shape(x: TensorLike) -> Tensor:
    """Returns the shape of a tensor as a tensor."""
    return reshape_ops.shape(x)


@export("keras.backend.reshape")
def reshape(x: TensorLike, shape: ShapeLike | TensorLike) -> Tensor:
    """Returns the elements in another shape."""
    return reshape_ops.reshape(x, shape)


@export("keras.backend.transpose")
def transpose(x: Any) -> Any:
    """Returns a tensor with its axes in reverse order."""
    return sparse_transpose(x) if is_sparse(x) else reshape_ops.transpose(x)


@export("keras.backend.permute_dimensions")
def permute_dimensions(x: TensorLike, pattern: TensorLike) -> Tensor:
    """Returns a tensor with its axes in another order."""
    return reshape_ops.transpose(x, pattern)


@export("keras.backend.expand_dims")
def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns a tensor with an axis of size 1 inserted."""
    return reshape_ops.expand_dims(x, axis)


@export("keras.backend.squeeze")
def squeeze(x: TensorLike, axis: int) -> Tensor:
    """Returns a tensor without an axis of size 1."""
    return reshape_ops.squeeze(x, [axis])


@export("keras.backend.flatten")
def flatten(x: TensorLike) -> Tensor:
    """Returns the elements as a vector."""
    return reshape_ops.reshape(x, [-1])


@export("keras.backend.batch_flatten")
def batch_flatten(x: TensorLike) -> Tensor:
    """Returns the elements of each example as a vector."""
    x = convert_to_tensor(x)
    if x.dims is not None and None not in x.dims[1:]:
        size = 1
        for length in x.dims[1:]:
            size *= length or 0
        return reshape_ops.reshape(x, [-1, size])
    return reshape_ops.reshape(x, [-1, reduce_prod(reshape_ops.shape(x)[1:])])


# -- repeating, joining and generating --------------------------------------------------------------------------------


@export("keras.backend.concatenate")
def concatenate(tensors: Sequence[Any], axis: int = -1) -> Any:
    """Returns tensors joined along an axis; sparse ones stay sparse if all of them are."""
    if all(is_sparse(tensor) for tensor in tensors):
        return sparse_concat(axis, list(tensors))
    return concat.concat([to_dense(tensor) for tensor in tensors], axis)


@export("keras.backend.stack")
def stack(x: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Returns tensors of equal shape, joined along a new axis."""
    return concat.stack(x, axis)


@export("keras.backend.repeat_elements")
def repeat_elements(x: TensorLike, rep: int, axis: int) -> Tensor:
    """Returns a tensor with each slice along an axis repeated."""
    return pad_tile.repeat(x, rep, axis)


@export("keras.backend.repeat")
def repeat(x: TensorLike, n: int) -> Tensor:
    """Returns each row of a matrix n times, along a new second axis."""
    x = convert_to_tensor(x)
    if x._rank() != 2:
        raise ValueError(f"expected a matrix, received shape {x.shape}")
    return pad_tile.tile(reshape_ops.expand_dims(x, 1), [1, n, 1])


@export("keras.backend.tile")
def tile(x: TensorLike, n: TensorLike) -> Tensor:
    """Returns a tensor repeated n times along each axis."""
    return pad_tile.tile(x, [n] if isinstance(n, int) else n)


@export("keras.backend.arange")
def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike = "int32"
) -> Tensor:
    """Returns evenly spaced numbers; without stop, those from 0 to start."""
    if stop is None and isinstance(start, int | float) and start < 0:
        start = 0
    numbers = (
        sequences.range(start, name="arange") if stop is None else sequences.range(start, stop, step, name="arange")
    )
    return cast(numbers, dtype)  # type: ignore[no-any-return]


@export("keras.backend.one_hot")
def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """Returns, for each index, a vector with a one there and zeros elsewhere."""
    return where.one_hot(indices, num_classes, axis=-1)


@export("keras.backend.reverse")
def reverse(x: TensorLike, axes: TensorLike) -> Tensor:
    """Returns a tensor reversed along axes."""
    return pad_tile.reverse(x, [axes] if isinstance(axes, int) else axes)


# -- padding and resizing ---------------------------------------------------------------------------------------------


@export("keras.backend.temporal_padding")
def temporal_padding(x: TensorLike, padding: Pair = (1, 1)) -> Tensor:
    """Returns sequences with zeros before and after their steps.

    Args:
        padding: Numbers of zeros before and after.
    """
    return _padded(x, (padding,), "channels_last")


@export("keras.backend.spatial_2d_padding")
def spatial_2d_padding(
    x: TensorLike, padding: Sequence[Pair] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Returns images with zeros around them.

    Args:
        padding: Numbers of zeros before and after, for each spatial axis.
    """
    return _padded(x, padding, format_of(data_format))


@export("keras.backend.spatial_3d_padding")
def spatial_3d_padding(
    x: TensorLike, padding: Sequence[Pair] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Returns volumes with zeros around them.

    Args:
        padding: Numbers of zeros before and after, for each spatial axis.
    """
    return _padded(x, padding, format_of(data_format))


def _padded(x: TensorLike, padding: Sequence[Pair], data_format: str) -> Tensor:
    pairs = [list(pair) for pair in padding]
    if builtins.any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"padding: expected two numbers for each axis, received {padding}")
    none = [0, 0]
    return pad_tile.pad(x, [none, none, *pairs] if data_format == "channels_first" else [none, *pairs, none])


@export("keras.backend.resize_images")
def resize_images(
    x: TensorLike, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Returns images enlarged by integer factors.

    Args:
        interpolation: "nearest" or "bilinear".
    """
    methods = {"nearest": image_resize.resize_nearest_neighbor, "bilinear": image_resize.resize_bilinear}
    if interpolation not in methods:
        raise ValueError(f"interpolation: expected {' or '.join(methods)}, received {interpolation!r}")
    images = channels_last(convert_to_tensor(x), data_format_of(data_format))
    factors = (height_factor, width_factor)
    spatial = None if images.dims is None else images.dims[1:3]
    if spatial is not None and None not in spatial:
        size: Any = [old * factor for old, factor in zip(spatial, factors)]  # type: ignore[operator]
    else:
        size = multiply(reshape_ops.shape(images)[1:3], cast(list(factors), dtypes.int32))
    result: Tensor = methods[interpolation](images, size, half_pixel_centers=True)
    if spatial is not None:
        sides = [None if old is None else old * factor for old, factor in zip(spatial, factors)]
        result.set_shape([None, *sides, None])
    return in_format(result, data_format_of(data_format))


@export("keras.backend.resize_volumes")
def resize_volumes(x: TensorLike, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Tensor:
    """Returns volumes enlarged by integer factors.

    Args:
        depth_factor: How many times as deep the result is.
    """
    first = 2 if data_format_of(data_format) == "channels_first" else 1
    result = convert_to_tensor(x)
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        result = pad_tile.repeat(result, factor, axis)
    return result
