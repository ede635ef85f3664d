"""tf.ragged: constants, placeholders and ranges, and functions of row partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant as dense_constant, placeholder as dense_placeholder
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import ceil, maximum
from thalweg._src.graph.ops.reshape import expand_dims, shape as shape_of, zeros
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.ops.sorting import argsort
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    from_lengths,
    ids_of_splits,
    splits_of_ids,
)
from thalweg._src.training.nn.ragged.value import RaggedTensorValue, constant_value, splits_dtype


@export("ragged.constant")
def constant(
    pylist: object,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> Any:
    """Returns nested lists as a constant RaggedTensor, or as a Tensor where no dimension is ragged."""
    with name_scope(name, "RaggedConstant"):
        value = constant_value(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype)
        if not isinstance(value, RaggedTensorValue):
            return dense_constant(value, dtype)
        flat = value.flat_values
        if dtype is None and flat.dtype.kind in "if":  # Python's numbers have TensorFlow's types, not NumPy's
            flat = flat.astype("int32" if flat.dtype.kind == "i" else "float32")
        return RaggedTensor.from_nested_row_splits(dense_constant(flat, dtype), value.nested_row_splits, validate=False)


@export("ragged.placeholder")
def placeholder(dtype: DTypeLike, ragged_rank: int, value_shape: ShapeLike = None, name: str | None = None) -> Any:
    """Returns a ragged tensor of placeholders: for the flat values, and for the row splits of each dimension."""
    with name_scope(name, "RaggedPlaceholder"):
        inner = as_shape(value_shape)
        result: Any = dense_placeholder(dtype, None if inner is None else (None, *inner), "flat_values")
        for number in reversed(range(ragged_rank)):
            splits = dense_placeholder(dtypes.int64, [None], f"row_splits_{number}")
            result = RaggedTensor(result, splits, internal=True)
        return result


@export("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function with the flat values of all ragged arguments, and gives its result their rows.

    Args:
        **kwargs: Further arguments of the function.
    """
    ragged_arguments: list[RaggedTensor] = []

    def flat(value: Any) -> Any:
        if isinstance(value, RaggedTensor):
            ragged_arguments.append(value)
            return value.flat_values
        return type(value)(map(flat, value)) if type(value) in (list, tuple) else value

    plain = [flat(value) for value in args], {key: flat(value) for key, value in kwargs.items()}
    if not ragged_arguments:
        return op(*args, **kwargs)
    if len({rows.ragged_rank for rows in ragged_arguments}) > 1:
        raise ValueError(f"map_flat_values: expected arguments of one ragged_rank, received {ragged_arguments}")
    return ragged_arguments[0].with_flat_values(op(*plain[0], **plain[1]))


@export("ragged.range")
def ragged_range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """Returns one sequence per row: from a start to before a limit, in steps of delta."""
    if limits is None:
        starts, limits = 0, starts
    kind = splits_dtype(row_splits_dtype)
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        bounds = [convert_to_tensor(value, dtype) for value in (starts, limits, deltas)]
        types = {bound.dtype for bound in bounds}
        widest = next(t for t in (dtypes.float64, dtypes.float32, dtypes.int64, dtypes.int32) if t in types)
        first, end, step = (cast(bound, widest) for bound in bounds)
        count = (end - first + zeros(shape_of(step), widest)) / step
        exact = ceil(count) if widest.is_floating else -((first - end) // step)
        rows = maximum(cast(exact, kind), cast(0, kind))
        sizes = shape_of(rows)
        if rows.dims is None or len(rows.dims) == 0:
            rows = rows + zeros([1], kind) if rows.dims == () else rows
            sizes = shape_of(rows)
        splits = from_lengths(rows)
        ids = ids_of_splits(splits)
        places = cast(sequence(splits[-1]) - gather(splits, ids), widest)
        of_rows = [value + zeros(sizes, widest) for value in (first, step)]
        return RaggedTensor(gather(of_rows[0], ids) + places * gather(of_rows[1], ids), splits, internal=True)


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """Returns the row number of each value, given where rows start.

    Args:
        out_type: Type of the result; by default that of the input.
    """
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        row_splits = convert_to_tensor(splits, preferred_dtype=dtypes.int64)
        if row_splits.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"splits: expected int32 or int64, received {row_splits.dtype.name}")
        return cast(ids_of_splits(row_splits), row_splits.dtype if out_type is None else out_type)  # type: ignore[no-any-return]


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns where rows start, given the sorted row number of each value.

    Args:
        segment_ids: Row numbers, sorted.
        num_segments: Number of rows; by default one more than the last row number.
        out_type: Type of the result; by default that of the input.
    """
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        ids = convert_to_tensor(segment_ids, preferred_dtype=dtypes.int64)
        if ids.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"segment_ids: expected int32 or int64, received {ids.dtype.name}")
        return cast(splits_of_ids(ids, num_segments), dtypes.int64 if out_type is None else out_type)  # type: ignore[no-any-return]


@export("ragged.stack")
def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Stacks tensors, which may have rows of different lengths, along a new axis.

    Args:
        values: The tensors.
        axis: The new axis.
    """
    with name_scope(name, "RaggedStack"):
        return stacked(values, axis)


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(
    data: TensorLike | RaggedTensor, partitions: TensorLike, num_partitions: TensorLike, name: str | None = None
) -> RaggedTensor:
    """Returns the elements of each partition as one row.

    Args:
        num_partitions: Number of rows.
    """
    with name_scope(name, "SegmentStack", [partitions, num_partitions]):
        elements = convert_to_tensor_or_ragged_tensor(data)
        ids = convert_to_tensor(partitions, preferred_dtype=dtypes.int64)
        order = argsort(ids, stable=True)
        rows = cast(gather(ids, order), dtypes.int64)
        ordered = gathered(elements, order)
        return RaggedTensor.from_value_rowids(ordered, rows, cast(num_partitions, dtypes.int64), validate=False)


# -- rows -------------------------------------------------------------------------------------------------------------


def gathered(rows: Any, indices: Tensor) -> Any:
    """Returns the rows with given numbers, a vector."""
    if not isinstance(rows, RaggedTensor):
        return gather(rows, indices)
    starts, limits = (gather(side, indices) for side in (rows.row_splits[:-1], rows.row_splits[1:]))
    return rows_between(rows.values, starts, limits)


def rows_between(values: RaggedTensor | Tensor, starts: Tensor, limits: Tensor, step: int = 1) -> RaggedTensor:
    """Returns the rows of values between given positions, which may overlap."""
    places = ragged_range(starts, limits, cast(step, starts.dtype), row_splits_dtype=starts.dtype)
    return places.with_values(gathered(values, places.values))


def as_ragged(value: RaggedTensor | Tensor, ragged_rank: int) -> Any:
    """Returns a tensor, or a ragged one with fewer ragged dimensions, with `ragged_rank` ragged dimensions."""
    value = convert_to_tensor_or_ragged_tensor(value)
    if isinstance(value, RaggedTensor):
        return value.with_values(as_ragged(value.values, ragged_rank - 1)) if ragged_rank > 1 else value
    return value if ragged_rank < 1 else RaggedTensor.from_tensor(value, ragged_rank=ragged_rank)


def joined(values: Sequence[Any], axis: int) -> Any:
    """Concatenates along an axis; along inner axes, rows are concatenated one by one."""
    tensors = [convert_to_tensor_or_ragged_tensor(value) for value in values]
    ranks = {len(tensor.dims) for tensor in tensors if tensor.dims is not None}
    if len(ranks) != 1:
        raise ValueError(f"concat: expected tensors of one known rank, received ranks {sorted(ranks)}")
    (rank,) = ranks
    if not -rank <= axis < rank:
        raise ValueError(f"axis is {axis}, expected from {-rank} to {rank - 1}")
    axis %= rank
    if rank == 1:
        return concat(tensors, 0)
    inner = max((t.ragged_rank for t in tensors if isinstance(t, RaggedTensor)), default=0)
    return _joined([as_ragged(tensor, max(inner, axis, 1)) for tensor in tensors], axis)


def _joined(rows: Sequence[Any], axis: int) -> Any:
    if not isinstance(rows[0], RaggedTensor):
        return concat(rows, axis)
    if axis > 1:
        return rows[0].with_values(_joined([tensor.values for tensor in rows], axis - 1))
    lengths = concat([tensor.row_lengths() for tensor in rows], 0)
    below = RaggedTensor(_joined([tensor.values for tensor in rows], 0), from_lengths(lengths), internal=True)
    if axis == 0:
        return below
    kind, count = lengths.dtype, len(rows)
    total = rows[0].nrows()
    numbers = sequence(total * cast(count, kind))
    interleaved = gathered(below, numbers // count + numbers % count * total)
    ends = gather(interleaved.row_splits, sequence(total + 1) * count)
    return RaggedTensor(interleaved.values, ends, internal=True)


def expanded(value: RaggedTensor | Tensor, axis: int) -> Any:
    """Adds a dimension of size 1 before an axis."""
    if not isinstance(value, RaggedTensor):
        raise TypeError(f"expected a RaggedTensor, received {value!r}")
    rank = None if value.dims is None else len(value.dims)
    if axis < 0:
        if rank is None:
            raise ValueError(f"axis is {axis}, but the rank is unknown")
        axis += rank + 1
    if axis < 0 or (rank is not None and axis > rank):
        raise ValueError(f"axis is out of range for rank {rank}")
    count = value.nrows()
    if axis == 0:
        return RaggedTensor(value, concat([zeros([1], count.dtype), count + zeros([1], count.dtype)], 0), internal=True)
    if axis == 1:
        return RaggedTensor(value, sequence(count + 1), internal=True)
    return value.with_values(dense_or_expanded(value.values, axis - 1))


def dense_or_expanded(value: RaggedTensor | Tensor, axis: int) -> Any:
    """Adds a dimension of size 1 to a tensor of either type."""
    return expanded(value, axis) if isinstance(value, RaggedTensor) else expand_dims(value, axis)


def stacked(values: Sequence[Any], axis: int) -> Any:
    """Stacks tensors of either type along a new axis."""
    tensors = [convert_to_tensor_or_ragged_tensor(value) for value in values]
    ranks = {len(tensor.dims) for tensor in tensors if tensor.dims is not None}
    if len(ranks) != 1:
        raise ValueError(f"stack: expected tensors of one known rank, received ranks {sorted(ranks)}")
    (rank,) = ranks
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis is {axis}, expected from {-rank - 1} to {rank}")
    axis %= rank + 1
    if rank == 0:
        return concat([expand_dims(tensor, 0) for tensor in tensors], 0)
    if axis == 0 and rank == 1:
        lengths = concat([expand_dims(shape_of(tensor, out_type=dtypes.int64)[0], 0) for tensor in tensors], 0)
        return RaggedTensor.from_row_lengths(concat(tensors, 0), lengths, validate=False)
    return joined([dense_or_expanded(tensor, axis) for tensor in tensors], axis)
