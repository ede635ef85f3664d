"""The inputs that a symbolic tensor depends on."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.node import node_of


@export("keras.utils.get_source_inputs")
def get_source_inputs(tensor: Tensor, layer: Layer | None = None, node_index: int | None = None) -> list[Any]:
    """Returns the inputs from which layers compute a symbolic tensor.

    Args:
        tensor: A symbolic tensor.
        layer: Layer that has computed it; found by default.
        node_index: Number of the call of that layer.
    """
    if layer is not None:
        require_members("layer", layer, "a Keras layer or None", "_inbound_nodes")
    start = node_of(tensor) if layer is None else layer._inbound_nodes[node_index or -1]
    source_inputs: dict[Any, None] = {}
    stack, seen = [start], {start}
    while stack:
        node = stack.pop()
        if not node.input_tensors:
            source_inputs.update(dict.fromkeys(nest.flatten(node.outputs)))
        before = [parent for parent in node.inbound_nodes if parent not in seen]
        seen.update(before)
        stack += reversed(before)
    return list(source_inputs)
