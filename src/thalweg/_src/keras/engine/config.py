"""Descriptions of models: dictionaries, JSON and YAML texts, from which such models are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.errors import MissingPackageError
from thalweg._src.graph import nest
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.node import has_history, history_of
from thalweg._src.keras.engine.operation_layer import TensorFlowOpLayer

VERSION = "2.2.4-tf"  # of the format of Keras's descriptions in TensorFlow 1.15
_TOO_DEEP = "the description is nested too deeply"
_MAX_VALUES = 1 << 20  # of a description in YAML
Deserialize = Callable[[dict[str, Any], Any], Any]


def describe_graph(model: Any) -> dict[str, Any]:
    """Returns the description of a model: its layers with their configurations, and how they are connected."""
    if not model._is_graph_network:
        raise NotImplementedError(f"{type(model).__name__} has a `call` of its own, which no description contains")
    numbers = _node_numbers(model)
    layers = []
    for layer in model.layers:
        if isinstance(layer, TensorFlowOpLayer):
            raise NotImplementedError(f"the operation {layer.name!r} between layers has no description; use Lambda")
        nodes = [node for node in model._nodes if node.layer is layer and node.input_tensors]
        layers.append(
            {
                "name": layer.name,
                "class_name": type(layer).__name__,
                "config": layer.get_config(),
                "inbound_nodes": [_describe_node(node, numbers) for node in nodes],
            }
        )
    return {
        "name": model.name,
        "layers": layers,
        "input_layers": [_describe_tensor(tensor, numbers) for tensor in model.inputs],
        "output_layers": [_describe_tensor(tensor, numbers) for tensor in model.outputs],
    }


def _node_numbers(model: Any) -> dict[Any, int]:
    """Returns the number of each call among those of its layer in this model; a nested model begins with its own."""
    numbers: dict[Any, int] = {}
    counts: dict[int, int] = {}
    for node in model._nodes:
        start = 1 if getattr(node.layer, "_is_graph_network", False) else 0
        numbers[node] = counts.setdefault(id(node.layer), start)
        counts[id(node.layer)] += 1
    return numbers


def _describe_tensor(tensor: Any, numbers: dict[Any, int]) -> list[Any]:
    layer, node_index, tensor_index = history_of(tensor)
    return [layer.name, numbers[layer._inbound_nodes[node_index]], tensor_index]


def _describe_node(node: Any, numbers: dict[Any, int]) -> list[Any]:
    """Returns where the inputs of a call come from, each with the other arguments of the call."""
    arguments = nest.map_structure(
        lambda leaf: _describe_tensor(leaf, numbers) if has_history(leaf) else leaf, node.arguments
    )
    return [[*_describe_tensor(tensor, numbers), arguments] for tensor in nest.flatten(node.inputs)]


def make_graph(cls: Any, config: dict[str, Any], custom_objects: Any, deserialize: Deserialize) -> Any:
    """Returns the model that a description describes."""
    layers = {data["name"]: deserialize(data, custom_objects) for data in config["layers"]}
    made: dict[tuple[str, int], list[Tensor]] = {}
    for name, layer in layers.items():
        if layer._inbound_nodes:  # an input, or a nested model
            start = 0
            made[name, start] = nest.flatten(layer._inbound_nodes[0].outputs)
    waiting = [
        (data["name"], number, node) for data in config["layers"] for number, node in enumerate(data["inbound_nodes"])
    ]
    while waiting:
        left = []
        for name, number, node in waiting:
            start = number + (1 if getattr(layers[name], "_is_graph_network", False) else 0)
            sources = [_normalized(source) for source in (node if isinstance(node[0], list) else [node])]
            if not all((source[0], source[1]) in made for source in sources):
                left.append((name, number, node))
                continue
            inputs = [made[source[0], source[1]][source[2]] for source in sources]
            outputs = layers[name](inputs[0] if len(inputs) == 1 else inputs, **_arguments(sources[0][3], made))
            made[name, start] = nest.flatten(outputs)
        if len(left) == len(waiting):
            raise ValueError(f"the description of the model has calls whose inputs do not exist: {left[0]}")
        waiting = left
    inputs, outputs = (
        [made[name, node][index] for name, node, index in config[key]] for key in ("input_layers", "output_layers")
    )
    return cls(inputs=_single(inputs), outputs=_single(outputs), name=config.get("name"))


def _normalized(source: list[Any]) -> tuple[str, int, int, dict[str, Any]]:
    return source[0], source[1], source[2], source[3] if len(source) > 3 else {}


def _arguments(given: dict[str, Any], made: dict[tuple[str, int], list[Tensor]]) -> dict[str, Any]:
    """Returns the other arguments of a call, in which the descriptions of tensors are replaced by these."""

    def value(leaf: Any) -> Any:
        if isinstance(leaf, list) and len(leaf) == 3 and isinstance(leaf[0], str) and (leaf[0], leaf[1]) in made:
            return made[leaf[0], leaf[1]][leaf[2]]
        return leaf

    return {key: value(leaf) for key, leaf in given.items()}


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def as_json(model: Any, **kwargs: Any) -> str:
    """Returns the description of a model as JSON."""
    content = {
        "class_name": type(model).__name__,
        "config": model.get_config(),
        "keras_version": VERSION,
        "backend": "tensorflow",
    }
    return json.dumps(content, default=_plain, **kwargs)


def as_yaml(model: Any, **kwargs: Any) -> str:
    """Returns the description of a model as YAML."""
    return str(yaml().safe_dump(json.loads(as_json(model)), **kwargs))


def read_json(text: str | bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Returns the description of a model in a JSON text."""
    try:
        return json.loads(text, object_hook=object_hook)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def read_yaml(text: str) -> Any:
    """Returns the description of a model in a YAML text; Keras may have written tuples into it."""
    package = yaml()

    class Loader(package.SafeLoader):  # type: ignore[misc, name-defined]
        """Reads plain values and tuples."""

    Loader.add_constructor(
        "tag:yaml.org,2002:python/tuple", lambda loader, node: tuple(loader.construct_sequence(node, deep=True))
    )
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _count(node, {})
        return loader.construct_document(node)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    finally:
        loader.dispose()


def _count(node: Any, counts: dict[int, int]) -> int:
    """Returns how many values a node of YAML has where aliases are replaced by what they stand for; they are limited.

    counts: those of the nodes so far; that of a node that is being counted, and so contains itself, is the limit
    """
    if id(node) not in counts:
        counts[id(node)] = _MAX_VALUES
        inner = node.value if isinstance(node.value, list) else ()
        counts[id(node)] = 1 + sum(
            _count(each, counts) for item in inner for each in (item if isinstance(item, tuple) else (item,))
        )
    if counts[id(node)] >= _MAX_VALUES:
        raise ValueError(f"the description of the model has {_MAX_VALUES} values or more, most of them by its aliases")
    return counts[id(node)]


def yaml() -> Any:
    """Returns the package yaml, which only YAML texts need."""
    try:
        import yaml as found
    except ImportError:
        raise MissingPackageError("YAML", "PyYAML", "'thalweg[keras]'") from None
    return found


def _plain(value: Any) -> Any:
    """Returns a value of a configuration as JSON knows it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "as_list"):
        return value.as_list()
    if hasattr(value, "name"):
        return value.name
    if callable(value):
        return value.__name__
    raise TypeError(f"a description of a model cannot contain {value!r}")
