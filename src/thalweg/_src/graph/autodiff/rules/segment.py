"""Gradients of segment reductions: each row receives its share of its segment's gradient."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater, greater_equal, logical_and
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import divide, maximum, multiply, subtract
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, rank, reshape, shape, zeros_like
from thalweg._src.graph.ops.segment import segment_sum, unsorted_segment_prod, unsorted_segment_sum
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@gradient("SegmentSum")
def segment_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [gather(grad, op.inputs[1]), None]


@gradient("SegmentMean")
def segment_mean(op: Operation, grad: Tensor) -> list[Any]:
    data, ids = op.inputs
    counts = segment_sum(_over_rows(ones_like(ids), data), ids)
    return [gather(divide(grad, cast(maximum(counts, ones_like(counts)), grad.dtype)), ids), None]


@gradient("SegmentMax", "SegmentMin")
def segment_extreme(op: Operation, grad: Tensor) -> list[Any]:
    data, ids = op.inputs
    return [_shared(data, ids, _segments_of(op.outputs[0]), op.outputs[0], grad), None]


@gradient("SegmentProd")
def segment_prod(op: Operation, grad: Tensor) -> list[Any]:
    data, ids = op.inputs
    return [_of_product(data, ids, _segments_of(op.outputs[0]), op.outputs[0], grad), None]


@gradient("UnsortedSegmentSum")
def unsorted_segment_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Gathers the gradient of each row's segment, zero for rows with a negative id, which are dropped."""
    ids = op.inputs[1]
    zeros = zeros_like(ids)
    rows = gather(grad, maximum(ids, zeros))
    # Trailing dimensions of size 1 make the condition broadcast over whole rows.
    trailing = fill(expand_dims(subtract(rank(rows), rank(ids)), 0), 1)
    counted = reshape(greater_equal(ids, zeros), concat([shape(ids), trailing], 0))
    return [where_v2(counted, rows, zeros_like(rows)), None, None]


@gradient("UnsortedSegmentMax", "UnsortedSegmentMin")
def unsorted_segment_extreme(op: Operation, grad: Tensor) -> list[Any]:
    data, ids, count = op.inputs
    return [_shared(data, ids, count, op.outputs[0], grad), None, None]


@gradient("UnsortedSegmentProd")
def unsorted_segment_prod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    data, ids, count = op.inputs
    return [_of_product(data, ids, count, op.outputs[0], grad), None, None]


def _segments_of(output: Tensor) -> Any:
    """Returns the number of segments."""
    dims: Any = shape(output)
    return dims[0]


def _over_rows(mask: Tensor, rows: Tensor) -> Tensor:
    """Reshapes one value per row so that it broadcasts over the row."""
    trailing = fill(expand_dims(subtract(rank(rows), rank(mask)), 0), 1)
    return reshape(mask, concat([shape(mask), trailing], 0))


def _taken(segments: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Gathers each row's segment value, zero for dropped rows (negative id), and returns which rows are kept."""
    zeros = zeros_like(ids)
    rows = gather(segments, maximum(ids, zeros))
    counted = _over_rows(greater_equal(ids, zeros), rows)
    return where_v2(counted, rows, zeros_like(rows)), counted


def _shared(data: Tensor, ids: Tensor, count: TensorLike, result: Tensor, grad: Tensor) -> Tensor:
    """Divides a segment's gradient among the rows that attain its extreme."""
    extremes, counted = _taken(result, ids)
    chosen = logical_and(equal(data, extremes), counted)
    winners = unsorted_segment_sum(cast(chosen, grad.dtype), ids, count)
    shares, _ = _taken(divide(grad, maximum(winners, ones_like(winners))), ids)
    return where_v2(chosen, shares, zeros_like(shares))


def _of_product(data: Tensor, ids: Tensor, count: TensorLike, product: Tensor, grad: Tensor) -> Tensor:
    """Divides the product by each factor; for a zero factor, takes the product of the others instead."""
    is_zero = equal(data, zeros_like(data))
    zeros_in = unsorted_segment_sum(cast(is_zero, dtypes.int32), ids, count)
    grad = where_v2(greater(zeros_in, ones_like(zeros_in)), zeros_like(grad), grad)
    nonzero = where_v2(is_zero, ones_like(data), data)
    others, _ = _taken(unsorted_segment_prod(nonzero, ids, count), ids)
    whole, _ = _taken(product, ids)
    received, _ = _taken(grad, ids)
    return multiply(received, where_v2(is_zero, others, divide(whole, nonzero)))
