"""Segment reductions of rows that share an id, and the dense form of IndexedSlices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, num_elements, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor, register_tensor_conversion_function
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.math import divide, maximum, sqrt, subtract
from thalweg._src.graph.ops.reshape import ones_like, rank, reshape, shape, squeeze
from thalweg._src.graph.ops.shape_functions import require, same_dimension
from thalweg._src.graph.ops.slicing import slice
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_LARGE = 100_000_000  # elements from which a dense gradient triggers a warning


def _unsorted(c: Inference) -> Sequence[Shape]:
    data, ids, count = c.shapes[0], c.shapes[1], c.value(2)
    require(c.shapes[2] in ((), None), f"num_segments must be a scalar, got {show(c.shapes[2])}")
    require(count is None or int(count) >= 0, f"num_segments is {count}", expected="at least 0")
    if data is None or ids is None:
        return [None]
    require(len(ids) <= len(data), f"segment_ids has rank {len(ids)}", expected=f"rank at most {len(data)}")
    fits = all(None in (a, b) or a == b for a, b in zip(data, ids))
    require(fits, f"segment_ids has shape {show(ids)}", expected=f"a prefix of data's shape {show(data)}")
    return [(None if count is None else int(count), *data[len(ids) :])]


def _sorted(c: Inference) -> Sequence[Shape]:
    data, ids = c.shapes
    require(ids is None or len(ids) == 1, f"segment_ids must be a vector, got {show(ids)}")
    if data is None:
        return [None]
    require(len(data) > 0, "data is a scalar", expected="data of rank at least 1")
    if ids is not None:
        same_dimension(data[0], ids[0], "sizes", expected="segment_ids.shape[0] == data.shape[0]")
    return [(None, *data[1:])]


_UNSORTED = "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T"
_SORTED = "data: T, segment_ids: Tindices -> output: T"


def _unsorted_op(name: str, types: frozenset[DType], doc: str, indices: frozenset[DType] = dtypes.INDEX) -> OpDef:
    return op(
        name,
        _UNSORTED,
        T=types,
        Tindices=indices,
        Tnumsegments=attr.types(dtypes.INDEX, dtypes.int32),
        host="num_segments",
        infer=_unsorted,
        doc=doc,
    )


def _sorted_op(name: str, types: frozenset[DType], doc: str) -> OpDef:
    return op(name, _SORTED, T=types, Tindices=dtypes.INDEX, infer=_sorted, doc=doc, capturable=False)


unsorted_segment_sum = export(
    "unsorted_segment_sum",
    "math.unsorted_segment_sum",
    data="The rows to combine.",
    segment_ids="Segment of each row, in any order; negative ids leave a row out.",
)(
    _unsorted_op(
        "UnsortedSegmentSum",
        dtypes.NUMERIC,
        "Sums the rows that share an id; rows with negative ids are dropped.",
        dtypes.INDEX | {dtypes.int16},
    )
)
unsorted_segment_prod = export(
    "unsorted_segment_prod",
    "math.unsorted_segment_prod",
    data="The rows to combine.",
    segment_ids="Segment of each row, in any order; negative ids leave a row out.",
)(_unsorted_op("UnsortedSegmentProd", dtypes.NUMERIC, "Multiplies the rows that share an id."))
unsorted_segment_max = export(
    "unsorted_segment_max",
    "math.unsorted_segment_max",
    data="The rows to combine.",
    segment_ids="Segment of each row, in any order; negative ids leave a row out.",
)(_unsorted_op("UnsortedSegmentMax", dtypes.REAL, "Computes the maximum of the rows that share an id."))
unsorted_segment_min = export(
    "unsorted_segment_min",
    "math.unsorted_segment_min",
    data="The rows to combine.",
    segment_ids="Segment of each row, in any order; negative ids leave a row out.",
)(_unsorted_op("UnsortedSegmentMin", dtypes.REAL, "Computes the minimum of the rows that share an id."))
segment_sum = export("segment_sum", "math.segment_sum", data="The rows to combine.")(
    _sorted_op("SegmentSum", dtypes.NUMERIC, "Sums the rows of each segment.")
)
segment_mean = export("segment_mean", "math.segment_mean", data="The rows to combine.")(
    _sorted_op("SegmentMean", dtypes.NUMERIC, "Computes the mean of the rows of each segment.")
)
segment_prod = export("segment_prod", "math.segment_prod", data="The rows to combine.")(
    _sorted_op("SegmentProd", dtypes.NUMERIC, "Multiplies the rows of each segment.")
)
segment_max = export("segment_max", "math.segment_max", data="The rows to combine.")(
    _sorted_op("SegmentMax", dtypes.REAL, "Computes the maximum of the rows of each segment.")
)
segment_min = export("segment_min", "math.segment_min", data="The rows to combine.")(
    _sorted_op("SegmentMin", dtypes.REAL, "Computes the minimum of the rows of each segment.")
)


@export("unsorted_segment_mean", "math.unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the means of the rows that share an id; 0 where there are none.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
    """
    return _by_count(data, segment_ids, num_segments, name, "UnsortedSegmentMean", root=False)


@export("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the sums of the rows that share an id, divided by the square root of their count.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
    """
    return _by_count(data, segment_ids, num_segments, name, "UnsortedSegmentSqrtN", root=True)


def _by_count(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None, default: str, root: bool
) -> Tensor:
    with name_scope(name, default, [data, segment_ids, num_segments]) as scope:
        rows, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        counts = unsorted_segment_sum(ones_like(ids, dtype=rows.dtype), ids, num_segments)
        counts = maximum(counts, convert_to_tensor(1, rows.dtype))
        ones = fill(reshape(subtract(rank(rows), rank(ids)), [1]), 1)
        counts = reshape(counts, concat([shape(counts), ones], 0))
        total = unsorted_segment_sum(rows, ids, num_segments)
        return divide(total, sqrt(counts) if root else counts, name=scope)


def to_dense(value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    """Converts IndexedSlices to a tensor, with a warning if it may be large."""
    result = without_warning(value, dtype, name)
    _warn_if_large(num_elements(value.shape._dims))
    return result


def without_warning(value: IndexedSlices, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """Converts IndexedSlices to a tensor: equal indices are summed, other rows are zero."""
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(f"IndexedSlices without dense_shape cannot be converted to a tensor: {value}")
    rows = squeeze(slice(value.dense_shape, [0], [1]), [0])
    return unsorted_segment_sum(value.values, value.indices, rows, name=name)


def _warn_if_large(count: int | None) -> None:
    if count is None or count >= _LARGE:
        size = "of unknown shape" if count is None else f"with {count} elements"
        warnings.warn(
            f"converting IndexedSlices to a dense tensor {size}, which may take much memory",
            stacklevel=5,
        )


register_tensor_conversion_function(IndexedSlices, to_dense)
