"""Segments: sums of rows that belong together."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg import dtypes
from thalweg.graph import attr
from thalweg.graph.infer import Inference
from thalweg.graph.op_def import op
from thalweg.ops.shape_functions import require
from thalweg.shapes import Shape, compatible, show


def _segments(c: Inference) -> Sequence[Shape]:
    data, ids, number = c.shapes
    require(number in (None, ()), f"num_segments has shape {show(number)}", expected="a scalar num_segments")
    value = c.value(2)
    count = None if value is None else int(value)
    require(count is None or count >= 0, f"num_segments is {count}", expected="num_segments of at least 0")
    if data is None or ids is None:
        return [None]
    require(
        len(ids) <= len(data) and compatible(data[: len(ids)], ids),
        f"segment_ids has shape {show(ids)}",
        expected=f"the first dimensions of data, {show(data)}",
    )
    return [(count, *data[len(ids) :])]


unsorted_segment_sum = op(
    "UnsortedSegmentSum",
    "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T",
    T=dtypes.NUMERIC,
    Tindices=dtypes.INDEX | {dtypes.int16},
    Tnumsegments=attr.types(dtypes.INDEX, dtypes.int32),
    host="num_segments",
    infer=_segments,
    doc="Row i is the sum of the rows of data whose segment id is i; negative ids drop theirs.",
)
