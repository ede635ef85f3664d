"""Gradients of convolutions, which are convolutions themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import convolution
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.tensor import Tensor


def _settings(op: Operation) -> dict[str, Any]:
    return {key: value for key, value in op.attrs.items() if key not in ("T", "Tshape")}


def _register(forward: OpDef, to_input: OpDef, to_filter: OpDef) -> None:
    """Registers the gradients of a convolution and of its two backprop ops."""

    @gradient(forward.name)
    def by_input_and_filter(op: Operation, grad: Tensor) -> Sequence[Any]:
        x, w = op.inputs
        attrs = _settings(op)

        def by_input() -> Tensor:
            return to_input(shape(x), w, grad, **attrs)

        def by_filter() -> Tensor:
            return to_filter(x, shape(w), grad, **attrs)

        # A graph has both, as TensorFlow's do; what no fetch needs is pruned.
        return [by_input, by_filter] if stacks.is_eager else [by_input(), by_filter()]

    @gradient(to_input.name)
    def of_gradient_by_input(op: Operation, grad: Tensor) -> Sequence[Any]:
        _, w, out_backprop = op.inputs
        attrs = _settings(op)
        return [None, to_filter(grad, shape(w), out_backprop, **attrs), forward(grad, w, **attrs)]

    @gradient(to_filter.name)
    def of_gradient_by_filter(op: Operation, grad: Tensor) -> Sequence[Any]:
        x, _, out_backprop = op.inputs
        attrs = _settings(op)
        return [to_input(shape(x), grad, out_backprop, **attrs), None, forward(x, grad, **attrs)]


_register(convolution.conv2d_op, convolution.conv2d_backprop_input_op, convolution.conv2d_backprop_filter_op)
_register(convolution.depthwise_op, convolution.depthwise_backprop_input_op, convolution.depthwise_backprop_filter_op)
_register(convolution.conv3d_op, convolution.conv3d_backprop_input_op, convolution.conv3d_backprop_filter_op)
