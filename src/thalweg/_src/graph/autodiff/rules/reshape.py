"""Gradients of reshape, transpose and other changes of shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.graph.autodiff.registry import Gradient, gradient
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.reshape import conjugate_transpose_op, invert_permutation, reshape_op, shape, transpose_op
from thalweg._src.graph.ops.segment import without_warning
from thalweg._src.graph.tensor import Tensor


@gradient("Reshape", "ExpandDims")
def reshape(op: Operation, grad: Gradient) -> list[Any]:
    if isinstance(grad, IndexedSlices):
        grad = without_warning(grad)
    return [reshape_op(grad, shape(op.inputs[0])), None]


@gradient("Squeeze")
def squeeze(op: Operation, grad: Tensor) -> Tensor:
    return reshape_op(grad, shape(op.inputs[0]))


@gradient("Transpose")
def transpose(op: Operation, grad: Tensor) -> list[Any]:
    return [transpose_op(grad, _inverse(op.inputs[1])), None]


@gradient("ConjugateTranspose")
def conjugate_transpose(op: Operation, grad: Tensor) -> list[Any]:
    return [conjugate_transpose_op(grad, _inverse(op.inputs[1])), None]


def _inverse(perm: Tensor) -> Any:
    order = complete(static_value(perm))
    return invert_permutation(perm) if order is None else np.argsort(order).astype(perm.dtype.as_numpy_dtype)
