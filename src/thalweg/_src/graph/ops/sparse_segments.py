"""Sparse segment reductions: sums and means of rows selected by indices, without gathering them first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, same_dimension, scalar_value, vector_size
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_INDEX = attr.types(dtypes.INDEX, dtypes.int32)


def _segments(c: Inference) -> Sequence[Shape]:
    data = at_least_rank(c, 0, 1)
    same_dimension(vector_size(c, 1), vector_size(c, 2), "sizes", "as many segment_ids as indices")
    count = scalar_value(c, 3) if len(c.shapes) > 3 else None
    require(count is None or count >= 0, f"num_segments is {count}", expected="at least 0")
    return [None if data is None else (count, *data[1:])]


def _gradient(c: Inference) -> Sequence[Shape]:
    grad = at_least_rank(c, 0, 1)
    same_dimension(vector_size(c, 1), vector_size(c, 2), "sizes", "as many segment_ids as indices")
    rows = scalar_value(c, 3)
    require(rows is None or rows >= 0, f"output_dim0 is {rows}", expected="at least 0")
    return [None if grad is None else (rows, *grad[1:])]


def _reduction(verb: str, what: str, types: frozenset[DType]) -> tuple[OpDef, OpDef]:
    """Declares a reduction whose number of segments follows from the ids, and its variant with num_segments."""
    inputs = "data: T, indices: Tidx, segment_ids: Tsegmentids"
    attrs: dict[str, Any] = {
        "T": types,
        "Tidx": _INDEX,
        "Tsegmentids": _INDEX,
        "sparse_gradient": False,
        "capturable": False,
    }
    doc = f"Computes the {what} of the rows at the indices whose segment ids are equal."
    plain = op(f"SparseSegment{verb}", f"{inputs} -> output: T", infer=_segments, doc=doc, **attrs)
    counted = op(
        f"SparseSegment{verb}WithNumSegments",
        f"{inputs}, num_segments: Tnumsegments -> output: T",
        Tnumsegments=_INDEX,
        host="num_segments",
        infer=_segments,
        doc=f"{doc[:-1]}, for a given number of segments.",
        **attrs,
    )
    return plain, counted


def _gradient_of(verb: str) -> OpDef:
    return op(
        f"SparseSegment{verb}Grad",
        "grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 -> output: T",
        T=dtypes.FLOATING,
        Tidx=_INDEX,
        Tsegmentids=_INDEX,
        host="output_dim0",
        infer=_gradient,
        capturable=False,
        doc="Computes the gradient with respect to data: each row receives its share of its segments' gradients.",
    )


SUM = _reduction("Sum", "sum", dtypes.REAL)
MEAN = _reduction("Mean", "mean", dtypes.FLOATING)
SQRT_N = _reduction("SqrtN", "scaled sum (divided by the square root of the count)", dtypes.FLOATING)
sparse_segment_sum_grad = _gradient_of("Sum")
sparse_segment_mean_grad = _gradient_of("Mean")
sparse_segment_sqrt_n_grad = _gradient_of("SqrtN")


def _reduce(
    ops: tuple[OpDef, OpDef],
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Reduces the rows of each segment by an op.

    Args:
        data: The tensor that rows are taken from.
        indices: The rows to take.
        segment_ids: Segment of each index; ids must not decrease.
        num_segments: Number of segments; by default one more than the last id.
        sparse_gradient: Whether the gradient is sparse.
    """
    if num_segments is None:
        return ops[0](data, indices, segment_ids, sparse_gradient=sparse_gradient, name=name)
    return ops[1](data, indices, segment_ids, num_segments, sparse_gradient=sparse_gradient, name=name)


@export("sparse_segment_sum", "sparse.segment_sum")
@variant(_reduce, SUM)
def sparse_segment_sum() -> None:
    """Sums the rows at the indices whose segment ids are equal."""


@export("sparse_segment_mean", "sparse.segment_mean")
@variant(_reduce, MEAN)
def sparse_segment_mean() -> None:
    """Computes the means of the rows at the indices whose segment ids are equal."""


@export("sparse_segment_sqrt_n", "sparse.segment_sqrt_n")
@variant(_reduce, SQRT_N)
def sparse_segment_sqrt_n() -> None:
    """Computes the sums of the rows at the indices whose segment ids are equal, over the root of their count."""
