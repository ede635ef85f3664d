"""Gradients of segments."""

from __future__ import annotations

from typing import Any

from thalweg.autodiff.registry import gradient
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.array import concat, expand_dims, gather, rank, reshape, shape, where_v2, zeros_like
from thalweg.ops.comparison import greater_equal
from thalweg.ops.constants import fill
from thalweg.ops.math import maximum, subtract


@gradient("UnsortedSegmentSum")
def unsorted_segment_sum(op: Operation, grad: Tensor) -> list[Any]:
    """Gives each row the gradient of its segment's sum, zero if a negative id dropped it."""
    ids = op.inputs[1]
    zeros = zeros_like(ids)
    rows = gather(grad, maximum(ids, zeros))
    # Trailing dimensions of size 1 make the condition one about whole rows.
    trailing = fill(expand_dims(subtract(rank(rows), rank(ids)), 0), 1)
    kept = reshape(greater_equal(ids, zeros), concat([shape(ids), trailing], 0))
    return [where_v2(kept, rows, zeros_like(rows)), None, None]
