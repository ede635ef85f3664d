"""Gradients of image patches: every pixel receives the sum over its copies."""

from __future__ import annotations

import math
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import subtract
from thalweg._src.graph.ops.patches import extract_image_patches_op, extract_volume_patches
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import reshape, shape, transpose
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.tensor import Tensor


def _register(forward: OpDef) -> None:
    @gradient(forward.name)
    def by_input(op: Operation, grad: Tensor) -> Tensor:
        """Extracts patches of the pixels' indices, counted from 1, and sums by index; padding has index 0."""
        dims: Any = shape(op.inputs[0])
        attrs = {key: value for key, value in op.attrs.items() if key != "T"}
        area, cells = dims[1:-1], math.prod(op.attrs["ksizes"])
        count = reduce_prod(area)
        indices = reshape(range(1, count + 1, dtype=dtypes.int32), concat([[1], area, [1]], 0))
        ids = subtract(reshape(forward(indices, **attrs), [-1]), 1)
        windows: Any = shape(grad)
        copies = reduce_prod(windows[1:-1]) * cells
        rows = transpose(reshape(grad, [dims[0], copies, dims[-1]]), [1, 0, 2])
        total = unsorted_segment_sum(rows, ids, count)
        return reshape(transpose(total, [1, 0, 2]), dims)


_register(extract_image_patches_op)
_register(extract_volume_patches)
