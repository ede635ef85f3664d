"""Gradients of batch and layer normalization."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cast as cast_ops, math, normalization
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor


def _register(forward: OpDef, backward: OpDef) -> None:
    @gradient(forward.name)
    def by_input_scale_offset(op: Operation, grad: Tensor, *_: object) -> list[Any]:
        """Differentiates y, in training through the batch statistics, which depend on x, else with the given ones."""
        x, scale, _offset, mean, variance = op.inputs
        training = op.attrs["is_training"]
        statistics = op.outputs[3:] if training else [mean, variance, *op.outputs[5:]]
        attrs = {key: op.attrs[key] for key in ("epsilon", "data_format", "is_training")}
        result = backward.many(grad, x, scale, *statistics, **attrs)
        return [result[0], result[1], result[2], None, None]

    @gradient(backward.name)
    def of_gradient(op: Operation, *grads: Tensor) -> list[Any]:
        """Differentiates the gradients by x, scale and offset; the saved statistics count as constants."""
        return [*_second_order(op, *grads[:3]), *[None] * (len(op.inputs) - 3)]


_register(normalization.fused_batch_norm_v1_op, normalization.fused_batch_norm_grad_v1_op)
_register(normalization.fused_batch_norm_v2_op, normalization.fused_batch_norm_grad_v2_op)
_register(normalization.fused_batch_norm_op, normalization.fused_batch_norm_grad_op)


def _second_order(op: Operation, by_x: Tensor, by_scale: Tensor, by_offset: Tensor) -> list[Tensor]:
    """Returns the gradients by y_backprop, x and scale of the three outputs of a gradient op.

    With n the normalized x, s its scale, f = 1 / sqrt(variance + epsilon), m the mean over the batch, and
    P(u) = u - m(u) - n * m(u * n), the gradient by x is s * f * P(y_backprop) in training; P is its own transpose.
    """
    layout, epsilon = op.attrs["data_format"], op.attrs["epsilon"]
    rank = len(layout)
    first = layout.startswith("NC")
    axes = [i for i in range(rank) if i != (1 if first else rank - 1)]

    def spread(vector: Tensor) -> Tensor:
        return reshape(vector, [1, -1, *[1] * (rank - 2)]) if first else vector

    def mean_of(tensor: Tensor) -> Tensor:
        return reduce_mean(tensor, axes, keepdims=True)

    g, x, h = (cast_ops.cast(t, "float32") for t in (op.inputs[0], op.inputs[1], by_x))
    scale, by_scale, by_offset = (spread(t) for t in (op.inputs[2], by_scale, by_offset))
    if op.attrs["is_training"]:
        centered = x - mean_of(x)
        factor = math.rsqrt(mean_of(math.square(centered)) + epsilon)
        normalized = centered * factor
        g_centered, h_centered = g - mean_of(g), h - mean_of(h)
        g_normal, h_normal = mean_of(g * normalized), mean_of(h * normalized)
        g_projected, h_projected = g_centered - normalized * g_normal, h_centered - normalized * h_normal
        curved = normalized * (mean_of(h * g_centered) - 3 * g_normal * h_normal)
        curved += h_centered * g_normal + g_centered * h_normal
        second = by_scale * factor * g_projected - scale * math.square(factor) * curved
    else:
        mean, variance = (spread(t) for t in op.inputs[3:5])
        factor = math.rsqrt(variance + epsilon)
        normalized = (x - mean) * factor
        g_projected, h_projected = g, h
        second = by_scale * factor * g
    first_order = scale * factor * h_projected + by_scale * normalized + by_offset
    return [
        cast_ops.cast(first_order, op.inputs[0].dtype),
        cast_ops.cast(second, op.inputs[1].dtype),
        reduce_sum(h * factor * g_projected, axes),
    ]


@gradient("LRN")
def lrn(op: Operation, grad: Tensor) -> Tensor:
    return normalization.lrn_grad(grad, op.inputs[0], op.outputs[0], **{k: v for k, v in op.attrs.items() if k != "T"})
