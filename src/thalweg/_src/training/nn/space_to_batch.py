"""Dilated windows by space-to-batch: a plain operation on every n-th element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.convolution import conv2d_backprop_filter_op, conv2d_backprop_input_op
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import add, floordiv, floormod, multiply, subtract
from thalweg._src.graph.ops.reshape import constant_value, shape, zeros
from thalweg._src.graph.ops.space_to_depth import batch_to_space_nd, space_to_batch_nd
from thalweg._src.graph.ops.windows import has_channels_first
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: TensorLike, block_shape: TensorLike, base_paddings: TensorLike | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns paddings that make sizes divisible by block sizes, and the crops that undo them."""
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes = convert_to_tensor(input_shape, dtypes.int32, name="input_shape")
        blocks: Any = convert_to_tensor(block_shape, dtypes.int32, name="block_shape")
        if blocks.dims is None or len(blocks.dims) != 1 or blocks.dims[0] is None:
            raise ValueError("block_shape must be a vector of known length")
        count = blocks.dims[0]
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        base: Any = np.zeros((count, 2), np.int32) if base_paddings is None else base_paddings
        base = convert_to_tensor(base, dtypes.int32, name="base_paddings")
        before, after = base[:, 0], base[:, 1]
        whole = add(add(sizes, before), after)
        extra = floormod(subtract(blocks, floormod(whole, blocks)), blocks)
        end = add(after, extra)
        paddings = pack([pack([before[i], end[i]]) for i in range(count)], name="paddings")
        crops = pack([pack([0, extra[i]]) for i in range(count)], name="crops")
        return _folded(paddings), _folded(crops)


def _folded(value: Tensor) -> Any:
    """Returns the static value of a tensor if it is known, which avoids operations."""
    static_array = constant_value(value)
    return value if static_array is None else convert_to_tensor(static_array, value.dtype)


@export("nn.with_space_to_batch")
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: ShapeLike | TensorLike = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Runs `op(input, number of spatial dimensions, padding)` with windows dilated by dilation_rate.

    Args:
        op: Function `(input, number of spatial dimensions, padding)` to run.
        filter_shape: Shape of the kernel, needed for padding "SAME".
        spatial_dims: The spatial dimensions, in increasing order.
        data_format: Names that start with "NC" put channels second.
    """
    input = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")
    if rate.dims is None or len(rate.dims) != 1 or rate.dims[0] is None:
        raise ValueError("dilation_rate must be a vector of known length")
    count = rate.dims[0]
    static_rate = constant_value(rate)
    if static_rate is not None and (static_rate < 1).any():
        raise ValueError(f"dilation_rate must be positive, got {static_rate.tolist()}")
    if static_rate is not None and (static_rate == 1).all():
        return op(input, count, padding)
    start = 2 if has_channels_first(data_format) else 1
    places = [start + i for i in range(count)] if spatial_dims is None else [int(d) for d in spatial_dims]
    if places != sorted(set(places)) or any(place < 1 for place in places):
        raise ValueError(f"spatial_dims must increase and be positive, got {places}")
    base = _base_paddings(padding, filter_shape, count, rate)
    paddings, crops = required_space_to_batch_paddings(_spatial_sizes(input, places), rate, base)
    blocks = _fill_dimensions(rate, 1, places)
    split = space_to_batch_nd(input, blocks, _fill_dimensions(paddings, 0, places))
    return batch_to_space_nd(op(split, count, "VALID"), blocks, _fill_dimensions(crops, 0, places))


def _spatial_sizes(input: Tensor, places: list[int]) -> Any:
    dims = input.dims
    sizes = None if dims is None else [dims[place] for place in places]
    return gather(shape(input), places) if sizes is None or None in sizes else sizes


def _base_paddings(padding: str, filter_shape: ShapeLike | TensorLike, count: int, rate: Tensor) -> Any:
    if padding == "VALID":
        return np.zeros((count, 2), np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape is missing, which padding='SAME' needs")
    sizes: Any = convert_to_tensor(filter_shape, dtypes.int32, name="filter_shape")
    total = multiply(subtract(sizes[:count], 1), rate)
    first = floordiv(total, 2)
    rest = subtract(total, first)
    return pack([pack([first[i], rest[i]]) for i in range(count)])


def _fill_dimensions(values: Any, fill: int, places: list[int]) -> Any:
    """Returns one entry for each dimension up to the last spatial one, with `filler` for the others."""
    values = convert_to_tensor(values)
    if places == [i + 1 for i in range(len(places))]:
        return values
    filler = convert_to_tensor(np.full((values.dims or (0,))[1:], fill, np.int32))
    return pack([values[places.index(d)] if d in places else filler for d in range(1, places[-1] + 1)])


@export("conv2d_backprop_input_v2")
def conv2d_backprop_input_v2(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of conv2d with respect to its input, of which only the shape is used.

    Args:
        input: The input of the convolution.
        filter: The kernel [height, width, channels in, channels out].
        explicit_paddings: Numbers of elements to pad, two for each dimension, when `padding` is "EXPLICIT".
    """
    options = {key: value for key, value in locals().items() if key not in ("input", "filter", "out_backprop")}
    return conv2d_backprop_input_op(shape(input), filter, out_backprop, **options)


@export("conv2d_backprop_filter_v2")
@parameters_of(conv2d_backprop_input_v2)
def conv2d_backprop_filter_v2(
    input: TensorLike, filter: TensorLike, out_backprop: TensorLike, **options: Any
) -> Tensor:
    """Returns the gradient of conv2d with respect to its filter, of which only the shape is used."""
    return conv2d_backprop_filter_op(input, shape(filter), out_backprop, **options)
