"""Gradients of functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.tensor import Tensor


def gradient_of_one(op_type: str, rule: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Registers the gradient of a function y(x), as a function of the incoming gradient, x and y."""

    def gradient_function(op: Operation, grad: Tensor) -> Tensor:
        return rule(grad, op.inputs[0], op.outputs[0])

    gradient_function.__module__ = rule.__module__
    gradient(op_type)(gradient_function)


def derivative(op_type: str, slope: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Registers the derivative of a real function y(x), as a function of x and y."""

    def rule(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return multiply(grad, slope(x, y))

    rule.__module__ = slope.__module__
    gradient_of_one(op_type, rule)
