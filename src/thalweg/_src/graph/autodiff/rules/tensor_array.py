"""Gradients of TensorArrays: reading an element writes to an array of gradients, and writing reads from it."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor


def _gradients_of(op: Operation, dtype: DTypeLike, flow: Tensor, shape: Shape = None) -> TensorArray:
    array = TensorArray(dtype, handle=op.inputs[0], flow=flow, infer_shape=False, element_shape=shape)
    return array.grad(op.graph.scopes.gradients, flow=flow)  # each call of `gradients` has its own arrays


@gradient("TensorArrayGradV3")
def array_gradient(op: Operation, _: object, flow: Tensor) -> list[Any]:
    return [None, flow]


@gradient("TensorArrayReadV3")
def read_gradient(op: Operation, grad: Tensor) -> list[Any]:
    array = _gradients_of(op, grad.dtype, op.inputs[2])
    return [None, None, array.write(op.inputs[1], grad).flow]


@gradient("TensorArrayWriteV3")
def write_gradient(op: Operation, flow: Tensor) -> list[Any]:
    value = op.inputs[2]
    array = _gradients_of(op, value.dtype, flow, value.dims)
    return [None, None, lambda: array.read(op.inputs[1]), flow]


@gradient("TensorArrayGatherV3")
def gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    array = _gradients_of(op, grad.dtype, op.inputs[2])
    return [None, None, array.scatter(op.inputs[1], grad).flow]


@gradient("TensorArrayScatterV3")
def scatter_gradient(op: Operation, flow: Tensor) -> list[Any]:
    value = op.inputs[2]
    shape = None if value.dims is None else value.dims[1:]
    array = _gradients_of(op, value.dtype, flow, shape)
    return [None, None, lambda: array.gather(op.inputs[1]), flow]


@gradient("TensorArrayConcatV3")
def concat_gradient(op: Operation, grad: Tensor, _: object) -> list[Any]:
    array = _gradients_of(op, grad.dtype, op.inputs[1])
    return [None, array.split(grad, op.outputs[1]).flow]


@gradient("TensorArraySplitV3")
def split_gradient(op: Operation, flow: Tensor) -> list[Any]:
    value = op.inputs[1]
    shape = None if value.dims is None else (None, *value.dims[1:])
    array = _gradients_of(op, value.dtype, flow, shape)
    return [None, lambda: array.concat(), None, flow]
