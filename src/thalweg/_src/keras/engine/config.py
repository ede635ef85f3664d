"""Descriptions of models: dictionaries, JSON and YAML texts, from which such models are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from thalweg._src.base.errors import MissingPackageError, require_kind
from thalweg._src.graph import nest
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.graph_map import GraphModel
from thalweg._src.keras.engine.node import Node, has_history, history_of
from thalweg._src.keras.engine.operation_layer import TensorFlowOpLayer
from thalweg._src.keras.places import TOO_DEEP, at, entry, expected, short, within

VERSION = "2.2.4-tf"  # of the format of Keras's descriptions in TensorFlow 1.15
_MAX_VALUES = 1 << 20  # of a description in YAML
Deserialize = Callable[[dict[str, Any], Any], Any]
Source = tuple[str, int, int, dict[str, Any]]  # layer, call, output, other arguments of the call that takes it
Call = tuple[int, int, str, list[Source]]  # number of the layer, number of the call, name of the layer, inputs
CallOutputs = dict[tuple[str, int], list[Tensor]]  # the outputs of calls, by layer and call


def describe_graph(model: GraphModel) -> dict[str, Any]:
    """Returns the description of a model: its layers with their configurations, and how they are connected."""
    if not model._is_graph_network:
        raise NotImplementedError(f"{type(model).__name__} has a `call` of its own, which no description contains")
    numbers = _node_numbers(model)
    layers = []
    for layer in model.layers:
        if isinstance(layer, TensorFlowOpLayer):
            raise NotImplementedError(f"the operation {layer.name!r} between layers has no description; use Lambda")
        nodes = [node for node in model.graph_nodes if node.layer is layer and node.input_tensors]
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


def _node_numbers(model: GraphModel) -> dict[Any, int]:
    """Returns the number of each call among those of its layer in this model; a nested model begins with its own."""
    numbers: dict[Any, int] = {}
    counts: dict[int, int] = {}
    for node in model.graph_nodes:
        start = 1 if getattr(node.layer, "_is_graph_network", False) else 0
        numbers[node] = counts.setdefault(id(node.layer), start)
        counts[id(node.layer)] += 1
    return numbers


def _describe_tensor(tensor: Tensor, numbers: dict[Any, int]) -> list[Any]:
    layer, node_index, tensor_index = history_of(tensor)
    return [layer.name, numbers[layer._inbound_nodes[node_index]], tensor_index]


def _describe_node(node: Node, numbers: dict[Any, int]) -> list[Any]:
    """Returns where the inputs of a call come from, each with the other arguments of the call."""
    arguments = nest.map_structure(
        lambda leaf: _describe_tensor(leaf, numbers) if has_history(leaf) else leaf, node.arguments
    )
    return [[*_describe_tensor(tensor, numbers), arguments] for tensor in nest.flatten(node.inputs)]


def make_graph(
    cls: Any, config: dict[str, Any], custom_objects: Mapping[str, Any] | None, deserialize: Deserialize
) -> Any:
    """Returns the model that a description describes."""
    with within(config):
        layers, waiting, outputs_of_calls = _described_layers(config, custom_objects, deserialize)
        while waiting:
            left = []
            for call in waiting:
                index, number, name, sources = call
                if all(source[:2] in outputs_of_calls for source in sources):
                    with at("layers", index, "inbound_nodes", number):
                        start = number + (1 if getattr(layers[index], "_is_graph_network", False) else 0)
                        outputs_of_calls[name, start] = _called(layers[index], sources, outputs_of_calls)
                else:
                    left.append(call)
            if len(left) == len(waiting):
                index, number, *_, sources = left[0]
                with at("layers", index, "inbound_nodes", number):
                    raise ValueError(
                        f"the description of the model has calls whose inputs do not exist: {short(sources)}"
                    )
            waiting = left
        inputs, outputs = (_ends(config, key, outputs_of_calls) for key in ("input_layers", "output_layers"))
        return cls(inputs=_single(inputs), outputs=_single(outputs), name=config.get("name"))


def _described_layers(
    config: dict[str, Any], custom_objects: Mapping[str, Any] | None, deserialize: Deserialize
) -> tuple[list[Any], list[Call], CallOutputs]:
    """Returns the layers of a model, their calls, and the outputs that they have before them."""
    layers: list[Any] = []
    calls: list[Call] = []
    outputs: CallOutputs = {}
    for index, data in enumerate(entry(config, "layers", (list, tuple))):
        with at("layers", index):
            name, layer = entry(data, "name", str), deserialize(data, custom_objects)
            if not isinstance(layer, Layer):
                raise TypeError(f"expected the description of a layer, received that of {layer!r}")
            layers.append(layer)
            if layer._inbound_nodes:  # an input, or a nested model
                outputs[name, 0] = nest.flatten(layer._inbound_nodes[0].outputs)
            for number, node in enumerate(entry(data, "inbound_nodes", (list, tuple))):
                with at("inbound_nodes", number):
                    calls.append((index, number, name, _sources(node)))
    return layers, calls, outputs


def _sources(node: Any) -> list[Source]:
    """Returns where the inputs of a call come from, as its description says."""
    if not expected((list, tuple), node):
        raise ValueError("expected at least one tensor, received none")
    return [_source(description) for description in (node if isinstance(node[0], list | tuple) else [node])]


def _source(value: object) -> Source:
    """Returns the layer, the number of its call, the number of the output, and the other arguments of the call."""
    name, call, index, *rest = value if isinstance(value, list | tuple) and len(value) in (3, 4) else [None] * 3
    arguments = rest[0] if rest else {}
    if not (isinstance(name, str) and type(call) is type(index) is int and isinstance(arguments, dict)):
        raise ValueError(
            "expected the name of a layer, the numbers of its call and of the output, and optionally a dictionary of "
            f"arguments, received {short(value)}"
        )
    return name, call, index, arguments


def _called(layer: Layer, sources: list[Source], outputs: CallOutputs) -> list[Tensor]:
    """Returns the outputs of a layer for inputs that were made before."""
    inputs = [_output(source, outputs) for source in sources]
    return nest.flatten(layer(_single(inputs), **_arguments(sources[0][3], outputs)))


def _arguments(arguments: dict[str, Any], outputs: CallOutputs) -> dict[str, Any]:
    """Returns the other arguments of a call, in which the descriptions of tensors are replaced by these."""

    def value(leaf: object) -> Any:
        if isinstance(leaf, list) and len(leaf) == 3 and isinstance(leaf[0], str) and (leaf[0], leaf[1]) in outputs:
            return _output(_source(leaf), outputs)
        return leaf

    return {key: value(leaf) for key, leaf in arguments.items()}


def _ends(config: dict[str, Any], key: str, outputs: CallOutputs) -> list[Tensor]:
    """Returns the inputs or the outputs of a model."""
    described = entry(config, key, (list, tuple))
    with at(key):
        return [_output(source, outputs) for source in _sources(described)]


def _output(source: Source, outputs_of_calls: CallOutputs) -> Tensor:
    name, call, index, _ = source
    outputs = outputs_of_calls.get((name, call), [])
    if not 0 <= index < len(outputs):
        raise ValueError(
            f"call {call} of the layer {short(name)!r} has {len(outputs)} outputs, and none of number {index}"
        )
    return outputs[index]


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def as_json(model: GraphModel, **kwargs: Any) -> str:
    """Returns the description of a model as JSON."""
    content = {
        "class_name": type(model).__name__,
        "config": model.get_config(),
        "keras_version": VERSION,
        "backend": "tensorflow",
    }
    return json.dumps(content, default=_plain, **kwargs)


def as_yaml(model: GraphModel, **kwargs: Any) -> str:
    """Returns the description of a model as YAML."""
    return str(yaml().safe_dump(json.loads(as_json(model)), **kwargs))


def read_json(text: str | bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Returns the description of a model in a JSON text."""
    try:
        return json.loads(text, object_hook=object_hook)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        raise ValueError(f"the description of a model is not JSON: {error}; received {short(text)}") from error


def read_yaml(text: str) -> Any:
    """Returns the description of a model in a YAML text; Keras may have written tuples into it."""
    require_kind("yaml_string", text, (str, bytes), "a YAML text")
    package = yaml()

    class Loader(package.SafeLoader):  # type: ignore[misc, name-defined]
        """Reads plain values and tuples."""

    Loader.add_constructor(
        "tag:yaml.org,2002:python/tuple", lambda loader, node: tuple(loader.construct_sequence(node, deep=True))
    )
    try:
        loader = Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _count(node, {})
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except package.YAMLError as error:
        raise ValueError(f"the description of a model is not YAML: {error}") from error


def _count(node: Any, counts: dict[int, int]) -> int:
    """Returns how many values a node of YAML has where aliases are replaced by what they stand for; they are limited.

    counts: those of the nodes so far; that of a node that is being counted, and so contains itself, is the limit
    """
    if id(node) not in counts:
        counts[id(node)] = _MAX_VALUES
        inner = node.value if isinstance(node.value, list) else ()
        counts[id(node)] = 1 + sum(
            _count(value, counts) for item in inner for value in (item if isinstance(item, tuple) else (item,))
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
