"""Gradients of pooling."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import pooling
from thalweg._src.graph.ops.reshape import shape, zeros_like
from thalweg._src.graph.tensor import Tensor


def _settings(op: Operation, definition: OpDef) -> dict[str, Any]:
    """Returns the attributes shared with the gradient op, except types."""
    return {
        key: value
        for key, value in op.attrs.items()
        if key in definition.attrs and key not in ("T", "TInput", "Targmax")
    }


def _register_max_pool(forward: OpDef, backward: OpDef, again: OpDef) -> None:
    @gradient(forward.name)
    def by_input(op: Operation, grad: Tensor) -> Tensor:
        return backward(op.inputs[0], op.outputs[0], grad, **_settings(op, backward))

    @gradient(backward.name)
    def of_gradient(op: Operation, grad: Tensor) -> list[Any]:
        x, y, _ = op.inputs
        return [zeros_like(x), zeros_like(y), again(x, y, grad, **_settings(op, again))]

    @gradient(again.name)
    def of_second_gradient(op: Operation, grad: Tensor) -> list[Any]:
        x, y, _ = op.inputs
        return [zeros_like(x), zeros_like(y), backward(x, y, grad, **_settings(op, backward))]


def _register_avg_pool(forward: OpDef, backward: OpDef) -> None:
    @gradient(forward.name)
    def by_input(op: Operation, grad: Tensor) -> Tensor:
        return backward(shape(op.inputs[0]), grad, **_settings(op, backward))

    @gradient(backward.name)
    def of_gradient(op: Operation, grad: Tensor) -> list[Any]:
        return [None, forward(grad, **_settings(op, forward))]


_register_max_pool(pooling.max_pool_op, pooling.max_pool_grad, pooling.max_pool_grad_grad)
_register_max_pool(pooling.max_pool3d_op, pooling.max_pool3d_grad, pooling.max_pool3d_grad_grad)
_register_avg_pool(pooling.avg_pool_op, pooling.avg_pool_grad)
_register_avg_pool(pooling.avg_pool3d_op, pooling.avg_pool3d_grad)


@gradient("MaxPoolWithArgmax")
def max_pool_with_argmax(op: Operation, grad: Tensor, _: object) -> Tensor:
    backward = pooling.max_pool_grad_with_argmax
    return backward(op.inputs[0], grad, op.outputs[1], **_settings(op, backward))


@gradient("MaxPoolGradWithArgmax")
def max_pool_grad_with_argmax(op: Operation, grad: Tensor) -> list[Any]:
    x, _, argmax = op.inputs
    again = pooling.max_pool_grad_grad_with_argmax
    return [zeros_like(x), again(x, grad, argmax, **_settings(op, again)), None]


@gradient("MaxPoolGradGradWithArgmax")
def max_pool_grad_grad_with_argmax(op: Operation, grad: Tensor) -> list[Any]:
    x, _, argmax = op.inputs
    backward = pooling.max_pool_grad_with_argmax
    return [zeros_like(x), backward(x, grad, argmax, **_settings(op, backward)), None]
