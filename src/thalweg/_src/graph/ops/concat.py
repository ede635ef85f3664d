"""Concatenation, stacking and splitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.shape_functions import at_least_rank, normalize_axis, require, same_dimension, scalar_value
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_INDEX = attr.types(dtypes.INDEX, dtypes.int32)


def concatenated(inputs: Sequence[Shape], axis: int | None) -> Shape:
    """Returns the shape of tensors concatenated along an axis; all other sizes must match."""
    ranked = [shape for shape in inputs if shape is not None]
    if not ranked:
        return None
    rank = len(ranked[0])
    if rank == 0:
        raise ShapeError("scalars cannot be concatenated", hint="use tf.stack")
    if any(len(shape) != rank for shape in ranked):
        other = next(shape for shape in ranked if len(shape) != rank)
        raise ShapeError(
            f"Shape must be rank {rank} but is rank {len(other)}",
            expected="tensors of the same rank",
            in_step=f"ConcatOp : Ranks of all input tensors should match: {_first_and(inputs, other)}",
        )
    if axis is None:
        return (None,) * rank
    axis = normalize_axis(axis, rank)
    result: list[int | None] = list(ranked[0])
    for i in range(rank):
        if i != axis:
            for shape in ranked[1:]:
                if None not in (result[i], shape[i]) and result[i] != shape[i]:
                    in_step = f"ConcatOp : Dimensions of inputs should match: {_first_and(inputs, shape)}"
                    raise shapes.different_sizes(i, tuple(result), shape, in_step)
                result[i] = shape[i] if result[i] is None else result[i]
    sizes = [shape[axis] for shape in ranked]
    result[axis] = None if None in sizes or len(ranked) < len(inputs) else sum(sizes)  # type: ignore[arg-type]
    return tuple(result)


def _first_and(inputs: Sequence[Shape], other: Shape) -> str:
    """Returns the shapes of the first part and of one that does not fit it."""
    return "shape[0] = {{0}} vs. shape[{0}] = {{{0}}}".format(inputs.index(other))


def _concat(c: Inference) -> Sequence[Shape]:
    axis = c.value(len(c.shapes) - 1)
    if c.shapes[-1]:
        raise ShapeError(f"axis must be a scalar, got {show(c.shapes[-1])}")
    return [concatenated(c.shapes[:-1], None if axis is None else int(axis))]


def _concat_value(c: Inference) -> Any:
    count = len(c.shapes) - 1
    values = [c.partial(i) for i in range(count)]
    for i, value in enumerate(values):
        size = c.shapes[i]
        if value is None and size is not None and len(size) == 1 and size[0] is not None:
            values[i] = object_array([None] * size[0])
    return np.concatenate(values, int(c.value(count)))  # type: ignore[arg-type]


concat_op = op(
    "ConcatV2",
    "values: N*T, axis: Tidx -> output: T",
    N=attr.integer(2),
    T=attr.types(),
    Tidx=_INDEX,
    host="axis",
    infer=_concat,
    evaluate=_concat_value,
    doc="Concatenates tensors along an existing dimension.",
    traceable=True,
    fails="by shape",
)


def _offsets(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 0)
    return c.shapes[1:]


concat_offset_op = nondifferentiable_op(
    "ConcatOffset",
    "concat_dim: int32, shape: N*shape_type -> offset: N*shape_type",
    "Computes the offset of each tensor within their concatenation.",
    N=attr.integer(2),
    shape_type=_INDEX,
    host="concat_dim, shape, offset",
    infer=_offsets,
)


def _pack(c: Inference) -> Sequence[Shape]:
    merged: Shape = None
    for number, shape in enumerate(c.shapes):
        try:
            merged = shapes.merge(merged, shape)
        except ShapeError as error:
            pair = f"values[0].shape = {{0}} != values[{number}].shape = {{{number}}}"
            in_step = f"Shapes of all inputs must match: {pair}"
            raise ShapeError(error.what, hint=f"shape {number} does not fit those before", in_step=in_step) from None
    if merged is None:
        return [None]
    axis = normalize_axis(c.attrs["axis"], len(merged) + 1)
    return [(*merged[:axis], len(c.shapes), *merged[axis:])]


def _pack_value(c: Inference) -> Any:
    values = [c.partial(i) for i in range(len(c.shapes))]
    if () in c.shapes:  # all are scalars
        return object_array([None if value is None else value.item() for value in values])
    return None if any(value is None for value in values) else np.stack(values, c.attrs["axis"])  # type: ignore[arg-type]


pack = op(
    "Pack",
    "values: N*T -> output: T",
    T=attr.types(),
    axis=0,
    infer=_pack,
    evaluate=_pack_value,
    doc="Stacks tensors of equal shape along a new dimension.",
    traceable=True,
    fails="by shape",
)


def _split_evenly(c: Inference) -> Sequence[Shape]:
    axis, source, count = scalar_value(c, 0), c.shapes[1], c.num_outputs
    if source is None:
        return [None] * count
    if axis is None:
        return [(None,) * len(source)] * count
    where = normalize_axis(int(axis), len(source))
    size = source[where]
    require(
        size is None or size % count == 0,
        f"Dimension size must be evenly divisible by {count} but is {size}. "
        "Number of ways to split should evenly divide the split dimension",
        expected=f"a multiple of {count} as size of dimension {where}",
    )
    return [(*source[:where], None if size is None else size // count, *source[where + 1 :])] * count


split_op = op(
    "Split",
    "split_dim: int32, value: T -> output: num_split*T",
    num_split=attr.integer(1),
    T=attr.types(),
    host="split_dim",
    infer=_split_evenly,
    doc="Splits a tensor into equal parts along a dimension.",
    traceable=True,
    fails="by shape",
    view="value",
)


def split_sizes(sizes: Sequence[int | None], whole: int | None, count: int) -> list[int | None]:
    """Returns the sizes of the parts, with a -1 inferred; they must add up to the whole."""
    result = list(sizes)
    require(len(result) == count, f"size_splits has {len(result)} entries", expected=f"{count}, one for each output")
    require(result.count(-1) <= 1, f"size_splits {result} has more than one -1", expected="at most one -1")
    fixed = [size for size in result if size is not None and size != -1]
    require(all(size >= 0 for size in fixed), f"size_splits {result} has a negative size")
    if -1 in result:
        rest = None if whole is None or None in result else whole - sum(fixed)
        require(rest is None or rest >= 0, f"size_splits {result} exceeds the dimension's {whole}")
        result[result.index(-1)] = rest
    elif whole is not None and None not in result:
        require(sum(fixed) == whole, f"size_splits {result} adds up to {sum(fixed)}", expected=f"a sum of {whole}")
    return result


def _split_by_sizes(c: Inference) -> Sequence[Shape]:
    source, sizes, axis, count = at_least_rank(c, 0, 1), c.partial(1), scalar_value(c, 2), c.num_outputs
    length = c.shapes[1]
    require(length is None or len(length) == 1, f"size_splits must be a vector, got {show(length)}")
    if length is not None:
        same_dimension(length[0], count, "entries of size_splits and outputs", expected=f"{count} sizes")
    if source is None:
        return [None] * count
    if axis is None:
        return [(None,) * len(source)] * count
    where = normalize_axis(int(axis), len(source))
    pieces = split_sizes([None] * count if sizes is None else sizes.tolist(), source[where], count)
    return [(*source[:where], size, *source[where + 1 :]) for size in pieces]


split_v_op = op(
    "SplitV",
    "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T",
    num_split=attr.integer(1),
    T=attr.types(),
    Tlen=attr.types({dtypes.int8, dtypes.int32, dtypes.int64}, dtypes.int64),
    host="size_splits, split_dim",
    infer=_split_by_sizes,
    doc="Splits a tensor into parts of the given sizes along a dimension.",
    traceable=True,
    fails="by shape",
    view="value",
)


def _unpack(c: Inference) -> Sequence[Shape]:
    source, count = c.shapes[0], c.num_outputs
    if source is None:
        return [None] * count
    axis = normalize_axis(c.attrs["axis"], len(source))
    same_dimension(source[axis], c.attrs["num"], "the dimension and num", expected=f"dimension {axis} of size num")
    return [source[:axis] + source[axis + 1 :]] * count


unpack_op = op(
    "Unpack",
    "value: T -> output: num*T",
    num=attr.integer(0),
    T=attr.types(),
    axis=0,
    infer=_unpack,
    doc="Unpacks a tensor along a dimension, which is removed.",
    traceable=True,
    fails="by shape",
    view="value",
)


@export("concat")
@dispatches
def concat(values: Sequence[TensorLike] | TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """Concatenates tensors along an existing dimension.

    Args:
        values: The tensors to join.
        axis: The axis to join along.
    """
    if not isinstance(values, list | tuple):
        values = [values]
    if len(values) != 1:
        return concat_op(list(values), axis, name=name)
    with name_scope(name, "concat", values) as scope:
        where = convert_to_tensor(axis, dtypes.int32, name="concat_dim")
        if where.dims not in ((), None):
            raise ValueError(f"axis has shape {show(where.dims)}, expected a scalar")
        return identity(values[0], name=scope)


@export("stack")
@dispatches
def stack(values: Sequence[TensorLike] | Tensor, axis: int = 0, name: str = "stack") -> Tensor:
    """Stacks tensors of one shape along a new axis.

    Args:
        values: The tensors to stack.
        axis: Position of the new axis.
    """
    if isinstance(values, Tensor):
        values = unstack(values)
    if axis == 0 and not any(isinstance(value, Tensor) for value in values):
        try:
            return convert_to_tensor(list(values), name=name)
        except (TypeError, ValueError):
            pass  # parts of different types are converted separately
    return pack(list(values), axis=axis, name=name)


@export("parallel_stack")
def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> Tensor:
    """Stacks tensors of one shape along a new first dimension.

    Args:
        values: The tensors to stack.
    """
    return stack(values, 0, name)


@export("unstack")
def unstack(value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Unpacks a tensor along a dimension, which is removed; the number of parts may be inferred.

    Args:
        value: The tensor to take apart.
        num: Size of the axis, if it is not known statically.
        axis: The axis to take apart.
    """
    tensor = convert_to_tensor(value, name="value")
    if num is None:
        source = tensor.dims
        if source is None:
            raise ValueError(f"Cannot infer num from shape <unknown> of {tensor.label}: pass num")
        if not -len(source) <= axis < len(source):
            raise ValueError(f"axis = {axis} not in [{-len(source)}, {len(source)})")
        num = source[axis]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {tensor.shape} of {tensor.label}: pass num")
    return unpack_op.many(tensor, num=num, axis=axis, name=name)  # type: ignore[no-any-return]


@export("split")
def split(
    value: TensorLike, num_or_size_splits: TensorLike, axis: TensorLike = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Splits a tensor into a number of equal parts, or into parts of given sizes, one of which may be -1.

    Args:
        value: The tensor to split.
        num_or_size_splits: Number of equal parts, or the sizes of the parts.
        axis: The axis to split.
        num: Number of parts, if the sizes are a tensor of unknown shape.
    """
    if isinstance(num_or_size_splits, int | np.integer | shapes.Dimension):
        return split_op.many(axis, value, num_split=int(num_or_size_splits), name=name)  # type: ignore[no-any-return]
    sizes = num_or_size_splits
    if isinstance(sizes, list | tuple) and all(isinstance(s, int | shapes.Dimension) for s in sizes):
        sizes = np.array([int(s) for s in sizes], np.int32)
    sizes = convert_to_tensor(sizes, name="size_splits")
    if sizes.dims == ():
        raise ValueError(
            f"num_or_size_splits is a scalar tensor, expected a Python number or a vector: {num_or_size_splits}"
        )
    if num is None:
        num = sizes.dims[0] if sizes.dims is not None else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {show(sizes.dims)} of size_splits: pass num")
    return split_v_op.many(value, sizes, axis, num_split=num, name=name)  # type: ignore[no-any-return]
