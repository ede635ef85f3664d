"""Gradients of tensor lists, in which loops save their values."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.graph.autodiff.loops import empty_list, zeros_for
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import tensor_list
from thalweg._src.graph.ops.reshape import shape, zeros_like
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.tensor import Tensor


@gradient("TensorListPushBack")
def push_gradient(op: Operation, grad: Tensor) -> Any:
    element = op.inputs[1]
    if not _has_gradient(element):
        return None, None
    is_static = is_fully_defined(element.dims) and element.dims != ()
    sizes = list(element.dims or ()) if is_static else -1 if element.dtype is dtypes.variant else shape(element)
    shorter, value = tensor_list.pop_back_op.many(grad, sizes, element_dtype=element.dtype)
    shorter.op.attrs["_or_zeros"] = True  # the gradient of a list that nothing was computed from is empty
    value.dims = element.dims
    return shorter, value


@gradient("TensorListPopBack")
def pop_gradient(op: Operation, grad: Tensor | None, element: Tensor | None) -> Any:
    if not _has_gradient(op.outputs[1]):
        return None, None
    element = zeros_for(op.outputs[1]) if element is None else element
    return tensor_list.push_back_op(empty_list(element.dtype) if grad is None else grad, element), None


@gradient("TensorListFromTensor")
def from_tensor_gradient(op: Operation, grad: Tensor) -> Any:
    tensor = op.inputs[0]
    return tensor_list.list_stack_op(_filled(grad, op.outputs[0]), _rest(tensor), element_dtype=tensor.dtype), None


@gradient("TensorListStack")
def stack_gradient(op: Operation, grad: Tensor) -> Any:
    return tensor_list.from_tensor_op(grad, _rest(grad)), None


@gradient("TensorListGetItem")
def get_item_gradient(op: Operation, grad: Tensor) -> Any:
    elements, index, element_shape = op.inputs
    nothing = tensor_list.reserve_op(element_shape, tensor_list.length_op(elements), element_dtype=grad.dtype)
    return tensor_list.set_item_op(nothing, index, grad), None, None


@gradient("TensorListSetItem")
def set_item_gradient(op: Operation, grad: Tensor) -> Any:
    _, index, item = op.inputs
    if not _has_gradient(item):
        return None, None, None
    grad = _filled(grad, op.outputs[0])
    element = tensor_list.get_item_op(grad, index, shape(item), element_dtype=item.dtype)
    return lambda: tensor_list.set_item_op(grad, index, zeros_like(item)), None, element


@gradient("TensorListGather")
def gather_gradient(op: Operation, grad: Tensor) -> Any:
    elements, indices, _ = op.inputs  # which may contain an element more than once
    return (
        tensor_list.from_tensor_op(unsorted_segment_sum(grad, indices, tensor_list.length_op(elements)), _rest(grad)),
        None,
        None,
    )


@gradient("TensorListScatterV2")
def scatter_gradient(op: Operation, grad: Tensor) -> Any:
    tensor, indices = op.inputs[:2]
    grad = _filled(grad, op.outputs[0])
    return tensor_list.list_gather_op(grad, indices, _rest(tensor), element_dtype=tensor.dtype), None, None, None


@gradient("TensorListConcatV2")
def concat_gradient(op: Operation, grad: Tensor, _: object) -> Any:
    return tensor_list.list_split_op(grad, op.inputs[1], op.outputs[1]), None, None


@gradient("TensorListSplit")
def split_gradient(op: Operation, grad: Tensor) -> Any:
    tensor, element_shape, lengths = op.inputs
    return tensor_list.list_concat_op.many(grad, element_shape, lengths, element_dtype=tensor.dtype)[0], None, None


def _filled(grad: Tensor, elements: Tensor) -> Tensor:
    """Returns the gradients of a list's elements, of which none are there if no loop used them."""
    return tensor_list.resize_op(grad, tensor_list.length_op(elements))


def _rest(tensor: Tensor) -> Tensor:
    """Returns the shape of a tensor's slices along its first dimension."""
    return shape(tensor)[1:]


def _has_gradient(element: Tensor) -> bool:
    """Returns whether a list of such elements has a list of gradients; counters and handles of arrays have none."""
    return element.dtype.is_floating or element.dtype.is_complex or element.dtype is dtypes.variant
