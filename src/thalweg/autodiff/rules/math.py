"""Gradients of element-wise arithmetic and elementary functions."""

from __future__ import annotations

from typing import Any

from thalweg.autodiff.registry import gradient
from thalweg.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops import math


@gradient("Add", "AddV2")
def add(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op._inputs
    return [sum_to_shape_of(x, grad), sum_to_shape_of(y, grad)]


@gradient("Sub")
def subtract(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op._inputs
    return [sum_to_shape_of(x, grad), sum_to_shape_of(y, math.negative(grad))]


@gradient("Mul")
def multiply(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op._inputs
    return [
        sum_to_shape_of(x, math.multiply(grad, math.conj(y))),
        sum_to_shape_of(y, math.multiply(math.conj(x), grad)),
    ]


@gradient("RealDiv")
def divide(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (math.conj(t) for t in op._inputs)
    by_y = math.multiply(grad, math.realdiv(math.realdiv(math.negative(x), y), y))
    return [sum_to_shape_of(x, math.realdiv(grad, y)), sum_to_shape_of(y, by_y)]


@gradient("Neg")
def negative(op: Operation, grad: Tensor) -> Tensor:
    return math.negative(grad)


@gradient("AddN", "AccumulateNV2")
def add_n(op: Operation, grad: Tensor) -> list[Any]:
    return [grad] * len(op._inputs)


@gradient("Cast")
def cast(op: Operation, grad: Tensor) -> Any:
    source = op._inputs[0].dtype.base_dtype
    return math.cast(grad, source) if source.is_floating or source.is_complex else None


@gradient("Conj")
def conj(op: Operation, grad: Tensor) -> Tensor:
    return math.conj(grad)


@gradient("Square")
def square(op: Operation, grad: Tensor) -> Tensor:
    x = math.conj(op._inputs[0])
    return math.multiply(grad, math.add_v2_op(x, x))


@gradient("Sqrt")
def sqrt(op: Operation, grad: Tensor) -> Tensor:
    return math.sqrt_grad(op.outputs[0], grad)


@gradient("Exp")
def exp(op: Operation, grad: Tensor) -> Tensor:
    return math.multiply(grad, math.conj(op.outputs[0]))


@gradient("Log")
def log(op: Operation, grad: Tensor) -> Tensor:
    return math.realdiv(grad, math.conj(op._inputs[0]))


@gradient("Tanh")
def tanh(op: Operation, grad: Tensor) -> Tensor:
    return math.tanh_grad(math.conj(op.outputs[0]), grad)


@gradient("Sigmoid")
def sigmoid(op: Operation, grad: Tensor) -> Tensor:
    return math.sigmoid_grad(math.conj(op.outputs[0]), grad)
