"""Drawings of models: their layers as a graph of Graphviz."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.graph_map import GraphModel
from thalweg._src.keras.engine.network import Network
from thalweg._src.keras.layers.wrappers import Wrapper

_MISSING = (
    "Failed to import pydot. You must install pydot and graphviz for `pydotprint` to work: `pip install pydot`, and "
    "Graphviz of https://graphviz.org for images"
)


def _pydot() -> Any:
    """Returns the package pydot, which only drawings need; None in a notebook that lacks it."""
    try:
        import pydot
    except ImportError:
        return _report()
    return pydot


def _report() -> None:
    if "IPython.core.magics.namespace" not in sys.modules:
        raise ImportError(_MISSING) from None
    print(_MISSING)


@export("keras.utils.model_to_dot")
def model_to_dot(
    model: GraphModel,
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
    subgraph: bool = False,
) -> Any:
    """Returns a graph of pydot with the layers of a model, or a cluster of one if it is a part of another.

    Args:
        show_shapes: Whether the shapes of inputs and outputs are shown.
        show_layer_names: Whether the names of layers are shown.
        rankdir: "TB" draws from top to bottom, "LR" from left to right.
        expand_nested: Whether the layers of nested models are shown.
        dpi: Dots per inch.
        subgraph: Whether it is a part of another drawing.
    """
    require_members("model", model, "a Keras model", "_is_graph_network", "layers")
    pydot = _pydot()
    if pydot is None:
        return None
    if subgraph:
        dot = pydot.Cluster(model.name, style="dashed", label=f'"{model.name}"')
    else:
        dot = pydot.Dot(rankdir=rankdir, concentrate="true", dpi=str(dpi))
        dot.set_node_defaults(shape="record")
    if not model._is_graph_network:
        dot.add_node(pydot.Node(str(id(model)), label=f'"{model.name}"'))
        return dot
    for layer in _layers(model):
        if expand_nested and _is_nested(layer):
            dot.add_subgraph(model_to_dot(layer, show_shapes, show_layer_names, rankdir, True, dpi, subgraph=True))
        else:
            dot.add_node(pydot.Node(str(id(layer)), label=_label(layer, show_shapes, show_layer_names)))
    for before, after in _edges(model, expand_nested):
        if not dot.get_edge(before, after):
            dot.add_edge(pydot.Edge(before, after))
    return dot


def _layers(model: GraphModel) -> list[Any]:
    """Returns the layers of a graph, the inputs of a `Sequential` too."""
    return list(dict.fromkeys(node.layer for node in model.graph_nodes))


def _is_nested(layer: Layer) -> bool:
    return isinstance(layer, Network) and layer._is_graph_network


def _label(layer: Layer, show_shapes: bool, show_layer_names: bool) -> str:
    name, kind = layer.name, type(layer).__name__
    if isinstance(layer, Wrapper):
        name, kind = f"{name}({layer.layer.name})", f"{kind}({type(layer.layer).__name__})"
    label = f"{name}: {kind}" if show_layer_names else kind
    if show_shapes:
        inputs, outputs = (_shape(layer, attribute) for attribute in ("input_shape", "output_shape"))
        label = f"{label}\\n|{{input:|output:}}|{{{{{inputs}}}|{{{outputs}}}}}"
    return f'"{label}"'


def _shape(layer: Layer, attribute: str) -> str:
    """Returns the shape of inputs or outputs; a layer that was called with several has none."""
    try:
        return str(getattr(layer, attribute)).replace("None", "?")
    except AttributeError:
        return "multiple"


def _edges(model: GraphModel, expand_nested: bool) -> Iterator[tuple[str, str]]:
    for node in model.graph_nodes:
        for before in node.inbound_layers:
            yield _end(before, expand_nested, -1), _end(node.layer, expand_nested, 0)


def _end(layer: Any, expand_nested: bool, place: int) -> str:
    """Returns the name of a layer's node: of a nested model, that of its first layer or of its last one."""
    while expand_nested and _is_nested(layer):
        layer = _layers(layer)[place]
    return str(id(layer))


@export("keras.utils.plot_model")
def plot_model(
    model: GraphModel,
    to_file: PathLike = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> Any:
    """Saves a drawing of a model, and returns it in a notebook.

    Graphviz makes an image of the kind that the name of the file ends with; a file `.dot`, its input, needs none.

    Args:
        to_file: Path of the file; its ending is the kind of image, or `.dot` for the input of Graphviz.
        show_shapes: Whether the shapes of inputs and outputs are shown.
        show_layer_names: Whether the names of layers are shown.
        rankdir: "TB" draws from top to bottom, "LR" from left to right.
        expand_nested: Whether the layers of nested models are shown.
        dpi: Dots per inch.
    """
    dot = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    if dot is None:
        return None
    path = os.fspath(to_file)
    extension = os.path.splitext(path)[1][1:] or "png"
    if extension == "dot":
        dot.write(path, format="raw")
        return None
    try:
        dot.write(path, format=extension)
    except OSError:
        return _report()
    display = sys.modules.get("IPython.display")
    return display.Image(filename=path) if display is not None and extension != "pdf" else None
