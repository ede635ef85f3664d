"""The rewrite of a graph for training with quantization, and for evaluation afterwards."""

from __future__ import annotations

from thalweg._src.base import logging
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.graph_editor.reroute import replace_inputs
from thalweg._src.compat.contrib.quantize.fake_quant import (
    Settings,
    quantization_step,
    quantize_activation,
    quantize_weights,
)
from thalweg._src.compat.contrib.quantize.fold import averages, fold
from thalweg._src.compat.contrib.quantize.layers import Layer, after_activation, layers_of, sums_of
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.tensor import Tensor


@export("contrib.quantize.create_training_graph")
def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Adds the rounding of eight bits to a graph for training, in place, before gradients are added to it.

    Weights, with batch normalization folded into them, and activations are rounded in the forward pass; gradients pass
    the rounding unchanged.
    """
    _rewrite(input_graph, Settings(is_training=True, quant_delay=quant_delay))


@export("contrib.quantize.create_eval_graph")
def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Adds rounding to a graph for evaluation, in place, with the ranges that training has found."""
    _rewrite(input_graph, Settings(is_training=False))


@export("contrib.quantize.experimental_create_training_graph")
def experimental_create_training_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Adds rounding to a graph for training, in place, with a choice of bits and delays."""
    settings = Settings(True, weight_bits, activation_bits, symmetric, quant_delay, freeze_bn_delay)
    _rewrite(input_graph, settings, scope)


@export("contrib.quantize.experimental_create_eval_graph")
def experimental_create_eval_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Adds rounding to a graph for evaluation, in place, with a choice of bits."""
    _rewrite(input_graph, Settings(False, weight_bits, activation_bits, symmetric, quant_delay), scope)


def _rewrite(input_graph: Graph | None, settings: Settings, scope: str | None = None) -> None:
    graph = input_graph or get_default_graph()
    require_kind("input_graph", graph, Graph, "a Graph or None")
    with graph.as_default():
        operations = graph.get_operations()
        layers = layers_of(graph, scope)
        if not layers:
            logging.warn("no layer with variables as weights was found in the graph, and nothing is quantized")
        if settings.counts_steps:
            quantization_step()
        names = _Names()
        outputs: set[Tensor] = set()
        for layer in layers:
            _quantize_layer(layer, names, settings, outputs)
        for operation in sums_of(operations, outputs):
            name = names.unique(operation.name.rpartition("/")[0], "add_quant")
            outputs.add(_quantize_output(after_activation(operation.outputs[0]), name, settings))


def _quantize_layer(layer: Layer, names: _Names, settings: Settings, outputs: set[Tensor]) -> None:
    weights, name = layer.product.inputs[1], names.unique(layer.context, "weights_quant")
    moments = None if layer.norm is None else averages(layer)
    output = layer.output
    if moments is not None:
        folded = fold(layer, moments, name, settings)
        output = folded if layer.norm is not None and output is layer.norm.outputs[0] else output
    else:
        rounded = quantize_weights(weights, name, settings)
        replace_inputs([(rounded, weights)], can_modify=[layer.product])
    outputs.add(_quantize_output(output, names.unique(layer.context, "act_quant"), settings))


def _quantize_output(tensor: Tensor, name: str, settings: Settings) -> Tensor:
    """Lets all that uses a tensor use its rounded values, which are returned."""
    users = tensor.consumers()
    rounded = quantize_activation(tensor, name, settings)
    replace_inputs([(rounded, tensor)], can_modify=users)
    return rounded


class _Names:
    """Names of scopes for fake quantization, each used once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def unique(self, context: str, what: str) -> str:
        """Returns a scope below a context, numbered if it was used before."""
        base = name = f"{context}/{what}" if context else what
        number = 0
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name
