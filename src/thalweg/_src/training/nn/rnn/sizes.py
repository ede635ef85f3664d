"""Sizes of states and outputs of cells, and tensors of these sizes for a batch."""

from __future__ import annotations

from typing import Any, TypeAlias

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, as_shape, concatenate
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.reshape import constant_value, rank, reshape, transpose, zeros
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

# A tensor, or tuples, named tuples, lists and dictionaries of nests: a state, an input or an output of a cell, or their
# sizes. The form is that of the cell's `state_size` and `output_size`, which no static type knows.
NestedTensors: TypeAlias = Any


def static_size(value: TensorLike | ShapeLike) -> int | None:
    """Returns the static value of a number of examples or steps, given as an integer or a tensor; None if unknown."""
    if isinstance(value, Tensor):
        scalar = constant_value(value)
        return None if scalar is None else int(scalar)
    sizes = as_shape(value)
    return sizes[0] if sizes else None


def static_shape(batch_size: Any, size: TensorLike | ShapeLike) -> Shape:
    """Returns the static shape of a batch of elements of a size."""
    sizes: Shape
    if isinstance(size, Tensor):
        dims = constant_value(size, partial=True)
        sizes = None if dims is None else tuple(None if n is None else int(n) for n in dims.reshape(-1))
    else:
        sizes = as_shape(size)
    return concatenate((static_size(batch_size),), sizes)


def zeros_of(batch_size: TensorLike, size: TensorLike | ShapeLike, dtype: DTypeLike) -> Tensor:
    """Returns zeros for a batch of elements of a size."""
    static = static_shape(batch_size, size)
    if static is not None and None not in static:
        return zeros(list(static), dtype)
    batch = reshape(convert_to_tensor(batch_size, dtypes.int32), [1])
    sizes = size if isinstance(size, Tensor) else list(as_shape(size) or ())
    result = zeros(concat([batch, reshape(convert_to_tensor(sizes, dtypes.int32), [-1])], 0), dtype)
    result.set_shape(static)
    return result


def zeros_like_sizes(sizes: NestedTensors, batch_size: TensorLike, dtype: DTypeLike) -> Any:
    """Returns a structure of zeros for a structure of sizes."""
    return nest.map_structure(lambda size: zeros_of(batch_size, size, dtype), sizes)


@export("contrib.rnn.transpose_batch_time")
def swap_batch_and_time(x: TensorLike) -> Tensor:
    """Transposes the first two axes; tensors of lower rank are unchanged."""
    tensor = convert_to_tensor(x)
    shape = tensor.dims
    if shape is None:
        return transpose(tensor, concat([[1, 0], range_of(2, rank(tensor))], 0))
    return tensor if len(shape) < 2 else transpose(tensor, [1, 0, *range(2, len(shape))])
