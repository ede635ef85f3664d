"""The summary of a model: a table of its layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.keras.engine.graph_map import GraphModel
from thalweg._src.keras.engine.node import history_of
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.variables.variables import Variable

_LINE, _WIDE_LINE = 65, 98
_COLUMNS, _WIDE_COLUMNS = (0.45, 0.85, 1.0), (0.33, 0.55, 0.67, 1.0)


def print_summary(
    model: GraphModel, line_length: int | None, positions: Sequence[float] | None, print_fn: Callable[[str], Any] | None
) -> None:
    """Prints the layers of a model with their output shapes and numbers of parameters."""
    show = print_fn or print
    is_line = _is_line(model)
    length = line_length or (_LINE if is_line else _WIDE_LINE)
    ends = list(positions or (_COLUMNS if is_line else _WIDE_COLUMNS))
    places = [int(length * end if ends[-1] <= 1 else end) for end in ends]
    fields = ["Layer (type)", "Output Shape", "Param #"] + ([] if is_line else ["Connected to"])
    show(f'Model: "{model.name}"')
    show("_" * length)
    show(_row(fields, places))
    show("=" * length)
    for index, layer in enumerate(model.layers):
        for row in _rows(model, layer, is_line):
            show(_row(row, places))
        show(("=" if index == len(model.layers) - 1 else "_") * length)
    trained = sum(_size(weight) for weight in model.trainable_weights)
    fixed = sum(_size(weight) for weight in model.non_trainable_weights)
    show(f"Total params: {trained + fixed:,}")
    show(f"Trainable params: {trained:,}")
    show(f"Non-trainable params: {fixed:,}")
    show("_" * length)


def _is_line(model: GraphModel) -> bool:
    """Returns whether each layer takes the output of the one before, so that a column of connections tells nothing."""
    if not model._is_graph_network:
        return True
    counts = [sum(node.layer is layer for node in model.graph_nodes) for layer in model.layers]
    return all(count == 1 for count in counts) and all(len(node.input_tensors) <= 1 for node in model.graph_nodes)


def _rows(model: GraphModel, layer: Layer, is_line: bool) -> list[list[str]]:
    try:
        shape = str(layer.output_shape)
    except AttributeError:
        shape = "multiple"
    count = str(sum(_size(weight) for weight in layer.weights)) if layer.built else "0 (unused)"
    first = [f"{layer.name} ({type(layer).__name__})", shape, count]
    if is_line:
        return [first]
    connections = [
        f"{history.layer.name}[{history.node_index}][{history.tensor_index}]"
        for node in model.graph_nodes
        if node.layer is layer
        for history in map(history_of, node.input_tensors)
    ]
    return [
        [*first, connections[0] if connections else ""],
        *(["", "", "", connection] for connection in connections[1:]),
    ]


def _row(fields: Sequence[str], places: Sequence[int]) -> str:
    line = ""
    for index, (field, place) in enumerate(zip(fields, places)):
        line = (f"{line} " if index else "") + field
        line = line[:place].ljust(place)
    return line


def _size(weight: Variable) -> int:
    return weight.shape.num_elements() or 0
