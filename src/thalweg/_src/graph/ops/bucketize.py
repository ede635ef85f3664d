"""Bucketization of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require


def _bucketized(c: Inference) -> Sequence[Shape]:
    boundaries = list(c.attrs["boundaries"])
    require(boundaries == sorted(boundaries), f"boundaries are {boundaries}", expected="sorted boundaries")
    return [c.shapes[0]]


bucketize = nondifferentiable_op(
    "Bucketize",
    "input: T -> output: int32",
    "Assigns each number to a bucket: the number of boundaries that are not greater.",
    T=frozenset((dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)),
    boundaries=attr.AttrDef("list(float)"),
    infer=_bucketized,
)
