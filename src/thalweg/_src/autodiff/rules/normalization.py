"""Gradients of batch and layer normalization."""

from __future__ import annotations

from typing import Any

from thalweg._src.autodiff.registry import gradient
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops import math, normalization
from thalweg._src.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.ops.reshape import reshape


def _register(forward: OpDef, backward: OpDef) -> None:
    @gradient(forward.name)
    def by_input_scale_offset(op: Operation, grad: Tensor, *_: Any) -> list[Any]:
        """Differentiates y, in training through the batch statistics, which depend on x, else with the given ones."""
        x, scale, _offset, mean, variance = op.inputs
        training = op.attrs["is_training"]
        statistics = op.outputs[3:] if training else [mean, variance, *op.outputs[5:]]
        attrs = {key: op.attrs[key] for key in ("epsilon", "data_format", "is_training")}
        result = backward.many(grad, x, scale, *statistics, **attrs)
        return [result[0], result[1], result[2], None, None]

    @gradient(backward.name)
    def of_gradient(op: Operation, *grads: Any) -> list[Any]:
        """Differentiates the gradient, expressed in elementary ops."""
        from thalweg._src.autodiff.gradients import gradients

        y_backprop, x, scale = sources = list(op.inputs[:3])
        outputs = _written_out(op, y_backprop, x, scale, *op.inputs[3:5])
        found = gradients(outputs, sources, list(grads[:3]), stop_gradients=sources)
        return [*found, *[None] * (len(op.inputs) - 3)]


_register(normalization.fused_batch_norm_v1_op, normalization.fused_batch_norm_grad_v1_op)
_register(normalization.fused_batch_norm_v2_op, normalization.fused_batch_norm_grad_v2_op)
_register(normalization.fused_batch_norm_op, normalization.fused_batch_norm_grad_op)


def _written_out(
    op: Operation, y_backprop: Tensor, x: Tensor, scale: Tensor, mean: Tensor, variance: Tensor
) -> list[Tensor]:
    """Returns the gradients with respect to x, scale and offset as an expression of elementary ops."""
    layout, epsilon = op.attrs["data_format"], op.attrs["epsilon"]
    rank = len(layout)
    first = layout.startswith("NC")
    axes = [i for i in range(rank) if i != (1 if first else rank - 1)]

    def spread(vector: Tensor) -> Tensor:
        return reshape(vector, [1, -1, *[1] * (rank - 2)]) if first else vector

    dtype = x.dtype
    g, x, scale = (math.cast(t, "float32") for t in (y_backprop, x, scale))
    if not op.attrs["is_training"]:
        factor = math.rsqrt(variance + epsilon)
        by_x = g * spread(scale * factor)
        by_scale = reduce_sum(g * (x - spread(mean)) * spread(factor), axes)
        return [math.cast(by_x, dtype), by_scale, reduce_sum(g, axes)]
    centered = x - reduce_mean(x, axes, keepdims=True)
    spread_of_x = reduce_mean(math.square(centered), axes, keepdims=True) + epsilon
    factor = math.rsqrt(spread_of_x)
    projection = reduce_mean(g * centered, axes, keepdims=True)
    inner = g - reduce_mean(g, axes, keepdims=True) - centered * projection / spread_of_x
    by_x = spread(scale) * factor * inner
    return [math.cast(by_x, dtype), reduce_sum(g * centered * factor, axes), reduce_sum(g, axes)]


@gradient("LRN")
def lrn(op: Operation, grad: Tensor) -> Tensor:
    return normalization.lrn_grad(grad, op.inputs[0], op.outputs[0], **{k: v for k, v in op.attrs.items() if k != "T"})
