"""Selection: where, one_hot, and distinct values (unique)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import reduce_max
from thalweg._src.graph.ops.reshape import expand_dims
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.ops.shape_functions import normalize_axis, require, same_dimension, vector_size
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

where_op = nondifferentiable_op(
    "Where",
    "input: T -> index: int64",
    "Returns the indices of the true or nonzero elements, one row per element.",
    T=attr.types(dtypes.NUMERIC | dtypes.QUANTIZED | {dtypes.bool}, dtypes.bool),
    infer=lambda c: [(None, None if c.shapes[0] is None else len(c.shapes[0]))],
    capturable=False,
)


def _select(c: Inference) -> Sequence[Shape]:
    condition, result = c.shapes[0], merge(c.shapes[1], c.shapes[2])
    if condition is None or result is None or condition == ():
        return [result]
    if len(condition) == 1 and len(result) != 1:
        require(len(result) > 0, "condition is a vector, t and e are scalars")
        first = same_dimension(condition[0], result[0], "sizes", expected="condition.shape[0] == t.shape[0]")
        return [(first, *result[1:])]
    return [merge(condition, result)]


def _select_v2(c: Inference) -> Sequence[Shape]:
    return [broadcast(c.shapes[0], broadcast(c.shapes[1], c.shapes[2]))]


select_op = op(
    "Select",
    "condition: bool, t: T, e: T -> output: T",
    T=attr.types(),
    infer=_select,
    doc="Selects t where the condition holds, e elsewhere; a vector of conditions selects rows.",
    traceable=True,
    fails="never",
)
select_v2_op = op(
    "SelectV2",
    "condition: bool, t: T, e: T -> output: T",
    T=attr.types(),
    infer=_select_v2,
    doc="Selects t where the condition holds, e elsewhere; all three are broadcast.",
    traceable=True,
)


@export("where")
@dispatches
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Returns the indices where the condition holds; given x and y, x where it holds and y elsewhere.

    Args:
        condition: A boolean tensor.
        x: Values where the condition holds.
        y: Values where it does not.
    """
    if (x is None) != (y is None):
        raise ValueError("only one of x and y was given, expected both or neither")
    if x is None:
        return where_op(convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition"), name=name)
    return select_op(condition, x, y, name=name)


@export("where_v2")
@dispatches
def where_v2(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Does the same as `where`, with condition, x and y broadcast to one shape.

    Args:
        condition: A boolean tensor.
        x: Values where the condition holds.
        y: Values where it does not.
    """
    if (x is None) != (y is None):
        raise ValueError("only one of x and y was given, expected both or neither")
    return where(condition, name=name) if x is None else select_v2_op(condition, x, y, name=name)


def _one_hot(c: Inference) -> Sequence[Shape]:
    for index in (1, 2, 3):
        name = c.definition.inputs[index].name
        require(c.shapes[index] in ((), None), f"{name} must be a scalar, got {show(c.shapes[index])}")
    indices, depth = c.shapes[0], c.value(1)
    require(c.attrs["axis"] >= -1, f"axis is {c.attrs['axis']}", expected="axis >= -1")
    require(depth is None or int(depth) >= 0, f"depth is {depth}", expected="depth >= 0")
    if indices is None:
        return [None]
    axis = normalize_axis(c.attrs["axis"], len(indices) + 1)
    return [(*indices[:axis], None if depth is None else int(depth), *indices[axis:])]


one_hot_op = nondifferentiable_op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    "Adds a one-hot dimension: on_value at the index, off_value elsewhere.",
    axis=-1,
    T=attr.types(),
    TI=attr.types({dtypes.uint8, dtypes.int8, *dtypes.INDEX}, dtypes.int64),
    host="depth",
    infer=_one_hot,
    traceable=True,
)


@export("one_hot")
@dispatches
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds a one-hot dimension: on_value at the index, off_value elsewhere.

    Args:
        indices: Indices of the entries that are on.
        depth: Size of the new dimension.
        axis: Position of the new dimension; -1 makes it the last.
        dtype: The element type of the result; by default that of the values.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        target = None if dtype is None else dtypes.as_dtype(dtype)
        for key, value in (("on_value", on_value), ("off_value", off_value)):
            if dtype is None and value is not None:
                value_type = convert_to_tensor(value).dtype.base_dtype
                if target not in (None, value_type):
                    raise TypeError(f"{key} is {value_type.name}, the other value {target.name}")  # type: ignore[union-attr]
                target = value_type
        kind = target or dtypes.float32
        values = []
        for value, default, key in ((on_value, 1, "on_value"), (off_value, 0, "off_value")):
            tensor = convert_to_tensor(_default(default, kind) if value is None else value, kind, name=key)
            values.append(tensor)
        axis = -1 if axis is None else axis
        return one_hot_op(indices, depth, *values, axis=axis, name=scope)


def _default(value: int, kind: dtypes.DType) -> Any:
    return bool(value) if kind.is_bool else value


@export("sequence_mask")
def sequence_mask(
    lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = dtypes.bool, name: str | None = None
) -> Tensor:
    """Returns a mask that is true for the first `lengths` positions of each row.

    Args:
        lengths: Number of true positions of each row.
        maxlen: Size of the last dimension; by default the greatest length.
        dtype: The element type of the mask.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        counts = convert_to_tensor(lengths)
        limit = reduce_max(counts) if maxlen is None else convert_to_tensor(maxlen)
        if limit.dims not in ((), None):
            raise ValueError("maxlen must be scalar for sequence_mask")
        positions = range(0, limit, 1, dtype=limit.dtype)
        result: Tensor = less(positions, cast(expand_dims(counts, -1), limit.dtype))
        target = dtypes.as_dtype(dtype)
        return result if target is dtypes.bool else cast(result, target)


def _require_vector(c: Inference) -> Shape:
    require(c.shapes[0] is None or len(c.shapes[0]) == 1, f"x must be a vector, got {show(c.shapes[0])}")
    return c.shapes[0] or (None,)


_INDEX = attr.types(dtypes.INDEX, dtypes.int32)
unique_op = nondifferentiable_op(
    "Unique",
    "x: T -> y: T, idx: out_idx",
    "Returns the distinct values by first appearance, and the index of each element among them.",
    T=attr.types(),
    out_idx=_INDEX,
    infer=lambda c: [(None,), _require_vector(c)],
    capturable=False,
)
unique_with_counts = export("unique_with_counts", x="A vector.")(
    nondifferentiable_op(
        "UniqueWithCounts",
        "x: T -> y: T, idx: out_idx, count: out_idx",
        "Returns the distinct values, the index of each element among them, and their counts.",
        T=attr.types(),
        out_idx=_INDEX,
        infer=lambda c: [(None,), _require_vector(c), (None,)],
        capturable=False,
    )
)


def _unique_along(c: Inference) -> Sequence[Shape]:
    source, axis = c.shapes[0], c.value(1)
    vector_size(c, 1)
    if source is None or axis is None:
        return [None if source is None else (None,) * len(source), (None,)]
    require(axis.size <= 1, "axis must be empty or one number")
    require(axis.size == 1 or len(source) == 1, f"x must be a vector without an axis, got {show(source)}")
    where_ = normalize_axis(int(axis.ravel()[0]), len(source)) if axis.size else 0
    return [(*source[:where_], None, *source[where_ + 1 :]), (source[where_],)]


unique_v2_op = nondifferentiable_op(
    "UniqueV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx",
    "Returns the distinct slices along an axis by first appearance, and the index of each slice among them.",
    T=attr.types(),
    Taxis=attr.types(dtypes.INDEX, dtypes.int64),
    out_idx=_INDEX,
    host="axis",
    infer=_unique_along,
    capturable=False,
)


def _list_diff(c: Inference) -> Sequence[Shape]:
    for index in (0, 1):
        vector_size(c, index)
    return [(None,), (None,)]


list_diff_op = nondifferentiable_op(
    "ListDiff",
    "x: T, y: T -> out: T, idx: out_idx",
    "Returns the elements of x that are not in y, and their indices in x.",
    T=attr.types(),
    out_idx=_INDEX,
    infer=_list_diff,
    capturable=False,
)


@export("unique")
def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """Returns the distinct values by first appearance, and the index of each element among them.

    Args:
        x: A vector.
    """
    return unique_op.many(x, out_idx=out_idx, name=name)


@export("setdiff1d")
def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """Returns the elements of x that are not in y, and their indices in x.

    Args:
        x: The values to keep.
        y: The values to remove.
        index_dtype: The integer type of the indices that are returned.
    """
    return list_diff_op.many(x, y, out_idx=index_dtype, name=name)
