"""Batch normalization, folded into weights before they are quantized, as deployed networks have it.

While it trains, weights are scaled by the averages of the statistics, so that their range does not change with every
batch; the product is then scaled to the statistics of the batch.

This is not the folding of the compiler and of the transforms (`compiler/optimize/freeze.py`), which compute new
constants from old ones: here gamma, the statistics and the weights are variables that still change, so that the formula
itself becomes operations of the user's graph, with gradients, and with the names that checkpoints of
tf.contrib.quantize have. It is (gamma / sqrt(variance + epsilon)) * weights in both; no line of code is the same.
"""

from __future__ import annotations

from collections import deque

from thalweg._src.compat.contrib.graph_editor.reroute import replace_inputs
from thalweg._src.compat.contrib.quantize.fake_quant import Settings, quantization_step, quantize_weights
from thalweg._src.compat.contrib.quantize.layers import Layer, variable_behind
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import greater_equal
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add, multiply, rsqrt, sqrt
from thalweg._src.graph.ops.normalization import moments
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.ops.state import read_variable_op
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor

_FARTHEST = 100  # operations between statistics and the averages that they update


def averages(layer: Layer) -> tuple[Tensor, Tensor] | None:
    """Returns mean and variance that a layer's normalization uses when it does not train, None if none are found."""
    norm = layer.norm
    assert norm is not None
    if not norm.attrs["is_training"]:
        return norm.inputs[3], norm.inputs[4]
    mean, variance = (_average_of(norm.outputs[place]) for place in (1, 2))
    return None if mean is None or variance is None else (mean, variance)


def _average_of(statistic: Tensor) -> Tensor | None:
    """Returns the value of the variable that is updated with a statistic of batches."""
    waiting = deque(statistic.consumers())
    seen: set[Operation] = set()
    while waiting and len(seen) < _FARTHEST:
        operation = waiting.popleft()
        if operation in seen:
            continue
        seen.add(operation)
        if operation.definition.facts_in_steps.writes:
            variable = variable_behind(operation.inputs[0])
            return None if variable is None else _value(variable)
        waiting += [consumer for output in operation.outputs for consumer in output.consumers()]
    return None


def _value(variable: Operation) -> Tensor:
    if variable.type == "VarHandleOp":
        return read_variable_op(variable.outputs[0], dtype=variable.attrs["dtype"])
    return identity(variable.outputs[0])


def fold(layer: Layer, averaged: tuple[Tensor, Tensor], name: str, settings: Settings) -> Tensor:
    """Replaces product and normalization of a layer by a product with folded, quantized weights and a bias."""
    product, norm = layer.product, layer.norm
    assert norm is not None
    gamma, beta = norm.inputs[1:3]
    epsilon = norm.attrs["epsilon"]
    mean, variance = averaged
    with name_scope(f"{layer.context}/"):
        scale = multiply(gamma, rsqrt(variance + epsilon), name="scale_fold")
        weights = multiply(product.inputs[1], _by_weight(scale, product), name="mul_fold")
    weights = quantize_weights(weights, name, settings)
    attrs = {key: product.attrs[key] for key in product.definition.explicit}
    with name_scope(f"{layer.context}/"):
        folded = product.definition(product.inputs[0], weights, name=f"{product.type}_Fold", **attrs)
        bias = beta - mean * scale
        if settings.is_training and norm.attrs["is_training"]:
            folded, bias = _as_in_batch(layer, folded, bias, averaged, settings)
        result = add(folded, _by_channel(bias, norm), name="add_fold")
    replace_inputs([(result, norm.outputs[0])], cannot_modify=[result.op])
    return result


def _as_in_batch(
    layer: Layer, folded: Tensor, bias: Tensor, averaged: tuple[Tensor, Tensor], settings: Settings
) -> tuple[Tensor, Tensor]:
    """Returns a folded product and its bias with the statistics of the batch, until normalization is frozen."""
    norm = layer.norm
    assert norm is not None
    gamma, beta = norm.inputs[1:3]
    epsilon, variance = norm.attrs["epsilon"], averaged[1]
    axes = [0, 2, 3] if _channels_first(norm) else [0, 1, 2]
    batch_mean, batch_variance = moments(norm.inputs[0], axes, name="batch_fold")
    correction = sqrt(variance + epsilon) * rsqrt(batch_variance + epsilon)
    batch_bias = beta - gamma * batch_mean * rsqrt(batch_variance + epsilon)
    corrected = multiply(folded, _by_channel(correction, norm), name="correction_fold")
    if settings.freeze_bn_delay is None:
        return corrected, batch_bias
    frozen = greater_equal(quantization_step(), settings.freeze_bn_delay, name="freeze_fold")
    branch_outputs = cond(frozen, lambda: [folded, bias], lambda: [corrected, batch_bias])
    return branch_outputs[0], branch_outputs[1]


def _channels_first(norm: Operation) -> bool:
    return bool(norm.attrs["data_format"] == "NCHW")


def _by_channel(values: Tensor, norm: Operation) -> Tensor:
    """Returns one value per channel in a shape that is combined with activations."""
    return reshape(values, [-1, 1, 1]) if _channels_first(norm) else values


def _by_weight(scale: Tensor, product: Operation) -> Tensor:
    """Returns one factor per channel in a shape that is combined with weights."""
    if product.type == "DepthwiseConv2dNative":
        shape = product.inputs[1].shape.as_list()
        return reshape(scale, shape[2:])
    return scale
