"""Gradients of slices: the gradient padded with zeros to the input's shape."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.math import add
from thalweg._src.graph.ops.reshape import ones_like, shape
from thalweg._src.graph.ops.slicing import strided_slice_grad_op, strided_slice_op
from thalweg._src.graph.tensor import Tensor

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@gradient("Slice")
def slice(op: Operation, grad: Tensor) -> list[Any]:
    source, begin, _ = op.inputs
    end = add(begin, shape(op.outputs[0], out_type=begin.dtype))
    return [strided_slice_grad_op(shape(source, out_type=begin.dtype), begin, end, ones_like(begin), grad), None, None]


@gradient("StridedSlice")
def strided_slice(op: Operation, grad: Tensor) -> list[Any]:
    source, begin, end, strides = op.inputs
    masks = {key: op.attrs[key] for key in _MASKS}
    dims = shape(source, out_type=begin.dtype)
    return [strided_slice_grad_op(dims, begin, end, strides, grad, **masks), None, None, None]


@gradient("StridedSliceGrad")
def strided_slice_grad(op: Operation, grad: Tensor) -> list[Any]:
    _, begin, end, strides, _ = op.inputs
    masks = {key: op.attrs[key] for key in _MASKS}
    return [None, None, None, None, strided_slice_op(grad, begin, end, strides, **masks)]
