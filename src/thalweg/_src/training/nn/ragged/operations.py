"""Functions of tensors, called with ragged ones: element-wise ones, reductions, concatenation, gathering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import implements
from thalweg._src.graph.infer import static_value
from thalweg._src.graph.ops import comparison, math, nn, reduction, segment, special, strings
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_equal
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.decoding import as_string, string_to_number_op
from thalweg._src.graph.ops.gather import batch_gather, boolean_mask, gather, gather_nd
from thalweg._src.graph.ops.hashing import (
    string_to_hash_bucket_fast,
    string_to_hash_bucket_op,
    string_to_hash_bucket_strong,
)
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.operators import OPERATORS
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, rank, shape, size, squeeze, zeros_like
from thalweg._src.graph.ops.saturate_cast import saturate_cast
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.ops.where import one_hot, where, where_v2
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.dropout import dropout
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.ragged import indexing  # noqa: F401  which defines the indexing of ragged tensors
from thalweg._src.training.nn.ragged.factories import expanded, gathered, joined, stacked
from thalweg._src.training.nn.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    coordinates,
    from_lengths,
    ids_of_splits,
)

# -- element-wise -----------------------------------------------------------------------------------------------------

_UNARY = (
    *(math.negative, math.sign, math.reciprocal, math.square, math.sqrt, math.rsqrt, math.exp, math.expm1, math.log),
    *(math.log1p, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh),
    *(math.asinh, math.acosh, math.atanh, math.sigmoid, math.ceil, math.floor, math.rint, math.abs, math.round),
    *(saturate_cast, math.clip_by_value, cast, identity, zeros_like, ones_like, as_string),
    *(comparison.logical_not, comparison.invert, comparison.is_finite, comparison.is_inf, comparison.is_nan),
    *(nn.relu, nn.relu6, nn.elu, nn.selu, nn.softplus, nn.softsign, special.lgamma, special.digamma, special.erf),
    *(strings.substr, strings.string_length_op, strings.string_strip, strings.lower, strings.upper, one_hot, dropout),
    *(strings.static_regex_replace_op, strings.static_regex_full_match_op, string_to_number_op),
    *(string_to_hash_bucket_op, string_to_hash_bucket_fast, string_to_hash_bucket_strong),
)
_BINARY = (
    *(math.add, math.subtract, math.multiply, math.realdiv, math.truncatediv, math.floormod, math.truncatemod),
    *(math.pow, math.maximum, math.minimum, math.squared_difference, math.atan2, math.truediv, math.divide, math.div),
    *(math.floordiv, math.floordiv_op),
    *(comparison.equal, comparison.not_equal, comparison.less, comparison.less_equal, comparison.greater),
    *(comparison.greater_equal, comparison.logical_and, comparison.logical_or, comparison.logical_xor),
    *(comparison.bitwise_and, comparison.bitwise_or, comparison.bitwise_xor),
)


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(first: Any, *args: Any, **kwargs: Any) -> Any:
        return first.with_flat_values(function(first.flat_values, *args, **kwargs))

    return call


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: RaggedTensor | TensorLike, y: RaggedTensor | TensorLike, name: str | None = None) -> Any:
        with name_scope(name, "Ragged"):
            rows, operands = aligned([x, y])
            return rows.with_flat_values(function(*operands))

    return call


def aligned(values: Sequence[Any]) -> tuple[RaggedTensor, list[Any]]:
    """Returns the rows of several operands and their flat values; dense operands are broadcast to the rows."""
    rows = next(value for value in values if isinstance(value, RaggedTensor))
    checks = []
    for value in values:
        if isinstance(value, RaggedTensor) and value is not rows:
            if value.ragged_rank != rows.ragged_rank:
                raise ValueError(f"expected operands of ragged_rank {rows.ragged_rank}, received {value.ragged_rank}")
            checks += [
                assert_equal(*pair, message="the operands have rows of different lengths")
                for pair in zip(rows.nested_row_splits, value.nested_row_splits)
                if pair[0] is not pair[1]
            ]
    operands = [v.flat_values if isinstance(v, RaggedTensor) else _broadcast(v, rows) for v in values]
    if checks:
        with control_dependencies([check for check in checks if check is not None]):
            operands = [identity(x) if isinstance(v, RaggedTensor) else x for v, x in zip(values, operands)]
    return rows, operands


def _broadcast(value: RaggedTensor, rows: RaggedTensor) -> Any:
    """Returns a dense operand as it is, if it is broadcast to the flat values, else its elements for each of them."""
    if isinstance(value, int | float | complex | bool | str | bytes):
        return value
    dense = convert_to_tensor(value, preferred_dtype=rows.dtype)
    if dense.dims is None or rows.dims is None:
        raise ValueError("operands of ragged tensors must have a known rank")
    inner = len(rows.dims) - rows.ragged_rank - 1
    if len(dense.dims) <= inner:
        return dense
    if len(dense.dims) > len(rows.dims):
        raise ValueError(f"an operand of rank {len(dense.dims)} cannot be broadcast to rank {len(rows.dims)}")
    outer = len(dense.dims) - inner  # the dimensions of the operand that meet the outer one or ragged ones
    sizes = shape(dense, out_type=rows.row_splits.dtype)
    columns = coordinates(rows)[-outer:]
    places = [where_v2(comparison.equal(sizes[i], 1), zeros_like(c), c) for i, c in enumerate(columns)]
    return gather_nd(dense, stack(places, 1))


for _function in _UNARY:
    implements(_function)(_unary(_function))
for _operation in _BINARY:
    implements(_operation)(_binary(_operation))
for _special, _operator in OPERATORS.items():
    setattr(RaggedTensor, _special, _operator)


@implements(math.add_n)
def _add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    with name_scope(name, "RaggedAddN"):
        rows, operands = aligned(list(inputs))
        return rows.with_flat_values(math.add_n(operands))


@implements(strings.string_join)
def _string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Any:
    with name_scope(name, "RaggedJoin"):
        rows, operands = aligned(list(inputs))
        return rows.with_flat_values(strings.string_join(operands, separator))


@implements(where, where_v2)
def _where(
    condition: Any,
    x: RaggedTensor | TensorLike | None = None,
    y: RaggedTensor | TensorLike | None = None,
    name: str | None = None,
) -> Any:
    with name_scope(name, "RaggedWhere"):
        if (x is None) != (y is None):
            raise ValueError("only one of x and y was given, expected both or neither")
        if x is None:
            chosen = boolean_mask(stack(coordinates(condition), 1), condition.flat_values)
            return cast(chosen, dtypes.int64)
        rows, operands = aligned([condition, x, y])
        return rows.with_flat_values(where_v2(*operands))


# -- shapes -----------------------------------------------------------------------------------------------------------


@implements(concat)
def _concat(values: Sequence[Any], axis: TensorLike | None, name: str = "concat") -> Any:
    with name_scope(name, "RaggedConcat"):
        return joined(values, _static_axis(axis))


@implements(stack)
def _stack(values: Sequence[Any], axis: int = 0, name: str = "stack") -> Any:
    with name_scope(name, "RaggedStack"):
        return stacked(values, axis)


def _static_axis(axis: Any) -> int:
    static_axis = static_value(axis) if isinstance(axis, Tensor) else axis
    if static_axis is None:
        raise ValueError("axis must be known when the graph is built")
    return int(static_axis)


@implements(expand_dims)
def _expand_dims(
    input: RaggedTensor, axis: TensorLike | None = None, name: str | None = None, dim: TensorLike | None = None
) -> Any:
    with name_scope(name, "RaggedExpandDims"):
        return expanded(input, _static_axis(dim if axis is None else axis))


@implements(squeeze)
def _squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    axes = squeeze_dims if axis is None else axis
    if axes is None:
        raise ValueError("squeeze: a RaggedTensor needs an axis")
    with name_scope(name, "RaggedSqueeze"):
        result = input
        rank_of_input = len(input.dims)
        for one in sorted(
            ({int(a) % rank_of_input for a in ([axes] if isinstance(axes, int) else axes)}), reverse=True
        ):
            result = _squeezed(result, one)
        return result


def _squeezed(value: RaggedTensor, axis: int) -> Any:
    if not isinstance(value, RaggedTensor):
        return squeeze(value, [axis])
    if axis > 1:
        return value.with_values(_squeezed(value.values, axis - 1))
    ones = value.nrows() if axis == 0 else value.row_lengths()
    with control_dependencies(
        [assert_equal(ones, ones_like(ones), message="only dimensions of size 1 can be removed")]
    ):
        values = value.values
        return values.with_values(identity(values.values)) if isinstance(values, RaggedTensor) else identity(values)


@implements(size)
def _size(input: RaggedTensor, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    return size(input.flat_values, name=name, out_type=out_type)


@implements(rank)
def _rank(input: RaggedTensor, name: str | None = None) -> Tensor:
    with name_scope(name, "RaggedRank"):
        return math.add(rank(input.flat_values), input.ragged_rank)


@implements(tile)
def _tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    counts = static_value(multiples) if isinstance(multiples, Tensor) else multiples
    if counts is None:
        raise ValueError("tile: the multiples of a RaggedTensor must be known when the graph is built")
    with name_scope(name, "RaggedTile"):
        result = input
        for axis, count in enumerate(map(int, counts)):
            if count < 1:
                raise ValueError(f"tile: expected multiples of at least 1 for a RaggedTensor, received {count}")
            result = joined([result] * count, axis) if count > 1 else result
        return result


# -- gathering --------------------------------------------------------------------------------------------------------


@implements(gather)
def _gather(
    params: RaggedTensor | TensorLike,
    indices: RaggedTensor | TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Any:
    if batch_dims == 1:
        return _batch_gather(params, indices, name)
    if batch_dims or (axis is not None and _static_axis(axis) != 0):
        raise ValueError("gather from or by a RaggedTensor: only axis=0 with batch_dims=0 or 1")
    with name_scope(name, "RaggedGather"):
        rows = convert_to_tensor_or_ragged_tensor(params)
        places = convert_to_tensor_or_ragged_tensor(indices)
        if isinstance(places, RaggedTensor):
            return places.with_values(gather(rows, places.values))
        if places.dims is None:
            raise ValueError("gather from a RaggedTensor: the rank of indices must be known")
        if not places.dims:
            return rows[places]
        if len(places.dims) == 1:
            return gathered(rows, places)
        nested = RaggedTensor.from_tensor(places, ragged_rank=len(places.dims) - 1)
        return nested.with_flat_values(gathered(rows, nested.flat_values))


@implements(batch_gather)
def _batch_gather(
    params: RaggedTensor | TensorLike, indices: RaggedTensor | TensorLike, name: str | None = None
) -> Any:
    with name_scope(name, "RaggedBatchGather"):
        rows, places = convert_to_tensor_or_ragged_tensor(params), convert_to_tensor_or_ragged_tensor(indices)
        rows = rows if isinstance(rows, RaggedTensor) else RaggedTensor.from_tensor(rows)
        dense = not isinstance(places, RaggedTensor)
        chosen = RaggedTensor.from_tensor(places) if dense else places
        starts = gather(rows.row_splits, chosen.value_rowids())
        result = chosen.with_values(gathered(rows.values, cast(chosen.values, starts.dtype) + starts))
        return result


@implements(gather_nd)
def _gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    if batch_dims:
        raise ValueError("gather_nd from a RaggedTensor: only batch_dims=0")
    with name_scope(name, "RaggedGatherNd"):
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather_nd(params, indices.values))
        places = convert_to_tensor(indices)
        depth = places.dims[-1] if places.dims else None
        if depth is None:
            raise ValueError("gather_nd from a RaggedTensor: the last dimension of indices must be known")
        if not isinstance(params, RaggedTensor):
            return gather_nd(params, indices)
        if depth == 1:
            return _gather(params, places[..., 0])
        kind = params.row_splits.dtype
        first, second = (cast(places[..., i], kind) for i in (0, 1))
        below = expand_dims(gather(params.row_splits, first) + second, -1)
        return gather_nd(params.values, concat([below, cast(places[..., 2:], kind)], -1))


@export("ragged.boolean_mask")
def ragged_boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Returns the elements where a mask holds, in the rows of the mask.

    Args:
        mask: Which elements are kept.
    """
    with name_scope(name, "RaggedMask"):
        data = convert_to_tensor_or_ragged_tensor(data)
        mask = convert_to_tensor_or_ragged_tensor(mask, dtypes.bool)
        if mask.dims is None or not mask.dims:
            raise ValueError("mask: expected a known rank above 0")
        return _masked(data, mask)


def _masked(data: Any, mask: Any) -> Any:
    if len(mask.dims) == 1:
        return gathered(data, where(mask)[:, 0])
    ranks = len(mask.dims) - 1
    mask = mask if isinstance(mask, RaggedTensor) else RaggedTensor.from_tensor(mask, ragged_rank=ranks)
    data = data if isinstance(data, RaggedTensor) else RaggedTensor.from_tensor(data, ragged_rank=ranks)
    values = _masked(data.values, mask.values)
    if len(mask.dims) > 2:
        return mask.with_values(values)
    row_lengths = segment.unsorted_segment_sum(
        cast(mask.values, mask.row_splits.dtype), mask.value_rowids(), mask.nrows()
    )
    return RaggedTensor(values, from_lengths(row_lengths), internal=True)


@implements(boolean_mask)
def _boolean_mask(
    tensor: RaggedTensor | TensorLike,
    mask: RaggedTensor | TensorLike,
    name: str = "boolean_mask",
    axis: int | None = None,
) -> Any:
    if axis:
        raise ValueError("boolean_mask of a RaggedTensor: only axis=0")
    return ragged_boolean_mask(tensor, mask, name)


@implements(embedding_lookup)
def _embedding_lookup(params: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
    return ids.with_flat_values(embedding_lookup(params, ids.flat_values, *args, **kwargs))


# -- reductions -------------------------------------------------------------------------------------------------------


def _reduce_along(rows: RaggedTensor, axis: int, dense: Callable[..., Any], by_segment: Callable[..., Any]) -> Any:
    if not isinstance(rows, RaggedTensor):
        return dense(rows, axis)
    if axis > 1:
        return rows.with_values(_reduce_along(rows.values, axis - 1, dense, by_segment))
    if axis == 1:
        return segmented(by_segment, rows.values, rows.value_rowids(), rows.nrows())
    splits = rows.row_splits
    columns = sequence(splits[-1]) - gather(splits, ids_of_splits(splits))
    width = reduction.reduce_max(concat([rows.row_lengths(), [0]], 0))
    return segmented(by_segment, rows.values, columns, width)


def segmented(by_segment: Callable[..., Any], data: RaggedTensor | TensorLike, ids: Tensor, count: TensorLike) -> Any:
    """Combines the elements that share an id; where these are rows, elements at one place of them."""
    if not isinstance(data, RaggedTensor):
        return by_segment(data, ids, count)
    ids = cast(ids, data.row_splits.dtype)
    lengths = math.maximum(segment.unsorted_segment_max(data.row_lengths(), ids, count), 0)
    splits = from_lengths(lengths)
    rows = data.value_rowids()
    places = sequence(data.row_splits[-1]) - gather(data.row_splits, rows)
    below = gather(gather(splits, ids), rows) + places
    return RaggedTensor(segmented(by_segment, data.values, below, splits[-1]), splits, internal=True)


def _reduction(dense: Callable[..., Any], by_segment: Any) -> Callable[..., Any]:
    def reduce(
        input_tensor: RaggedTensor,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        if keepdims or keep_dims:
            raise ValueError("a reduction of a RaggedTensor does not keep dimensions: use tf.expand_dims")
        axes = reduction.one_of("axis", axis, "reduction_indices", reduction_indices)
        with name_scope(name, "RaggedReduce"):
            if axes is None:
                return dense(input_tensor.flat_values)
            static_axes = static_value(axes) if isinstance(axes, Tensor) else axes
            if static_axes is None or (
                input_tensor.dims is None and min([static_axes] if isinstance(static_axes, int) else static_axes) < 0
            ):
                raise ValueError("axis must be known when the graph is built")
            count = 0 if input_tensor.dims is None else len(input_tensor.dims)
            positive_axes = {int(a) + count if int(a) < 0 else int(a) for a in reshape_axes(static_axes)}
            if dense is reduction.reduce_mean:
                return _mean(input_tensor, positive_axes)
            return _over(input_tensor, positive_axes, dense, by_segment)

    return reduce


def reshape_axes(axes: Any) -> list[int]:
    """Returns one axis, or several, as a list."""
    return [int(axes)] if not hasattr(axes, "__len__") and not getattr(axes, "ndim", 0) else [int(a) for a in axes]


def _over(rows: RaggedTensor, axes: set[int], dense: Callable[..., Any], by_segment: Callable[..., Any]) -> Any:
    for axis in sorted(axes, reverse=True):
        rows = _reduce_along(rows, axis, dense, by_segment)
    return rows


def _mean(rows: RaggedTensor, axes: set[int]) -> Any:
    total, count = (
        _over(operand, axes, reduction.reduce_sum, segment.unsorted_segment_sum)
        for operand in (rows, rows.with_flat_values(ones_like(rows.flat_values)))
    )
    return math.divide(total, count)


def _all(data: Tensor, ids: Tensor, count: TensorLike) -> Tensor:
    return segment.unsorted_segment_min(cast(data, dtypes.int32), ids, count) > 0


def _any(data: Tensor, ids: Tensor, count: TensorLike) -> Tensor:
    return segment.unsorted_segment_max(cast(data, dtypes.int32), ids, count) > 0


for _dense, _by_segment in (
    (reduction.reduce_sum, segment.unsorted_segment_sum),
    (reduction.reduce_prod, segment.unsorted_segment_prod),
    (reduction.reduce_max, segment.unsorted_segment_max),
    (reduction.reduce_min, segment.unsorted_segment_min),
    (reduction.reduce_mean, None),
    (reduction.reduce_all, _all),
    (reduction.reduce_any, _any),
):
    implements(_dense)(_reduction(_dense, _by_segment))


def _by_segment_of_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        data: RaggedTensor | TensorLike,
        segment_ids: RaggedTensor | TensorLike,
        num_segments: TensorLike,
        name: str | None = None,
    ) -> Any:
        with name_scope(name, "RaggedSegment"):
            return segmented(function, data, convert_to_tensor(segment_ids), num_segments)

    return call


for _segments in (
    *(segment.unsorted_segment_sum, segment.unsorted_segment_prod),
    *(segment.unsorted_segment_max, segment.unsorted_segment_min),
):
    implements(_segments)(_by_segment_of_rows(_segments))
