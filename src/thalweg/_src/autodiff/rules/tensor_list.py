"""Gradients of tensor lists, in which loops save their values."""

from __future__ import annotations

from typing import Any

from thalweg._src import dtypes
from thalweg._src.autodiff.loops import empty_list, zeros_for
from thalweg._src.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.tensor_list import pop_back_op, push_back_op


@gradient("TensorListPushBack")
def push_gradient(op: Operation, grad: Any) -> Any:
    element = op.inputs[1]
    if not _has_gradient(element):
        return None, None
    known = element.dims is not None and None not in element.dims and element.dims != ()
    shorter, value = pop_back_op.many(grad, list(element.dims or ()) if known else -1, element_dtype=element.dtype)
    value.dims = element.dims
    return shorter, value


@gradient("TensorListPopBack")
def pop_gradient(op: Operation, grad: Any, element: Any) -> Any:
    if not _has_gradient(op.outputs[1]):
        return None, None
    element = zeros_for(op.outputs[1]) if element is None else element
    return push_back_op(empty_list(element.dtype) if grad is None else grad, element), None


def _has_gradient(element: Tensor) -> bool:
    """Returns whether a list of such elements has a list of gradients; counters and handles of arrays have none."""
    return element.dtype.is_floating or element.dtype.is_complex or element.dtype is dtypes.variant
