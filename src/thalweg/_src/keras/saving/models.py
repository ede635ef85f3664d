"""Models from files and descriptions: save_model, load_model, model_from_json, model_from_yaml, clone_model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph import nest
from thalweg._src.keras.engine.config import make_graph, read_json, read_yaml
from thalweg._src.keras.engine.input_layer import InputLayer
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.engine.network import Network
from thalweg._src.keras.engine.sequential import Sequential
from thalweg._src.keras.layers.lookup import deserialize
from thalweg._src.keras.places import expected, in_file, within
from thalweg._src.keras.saving import hdf5, hdf5_checksum, hdf5_contents
from thalweg._src.keras.saving.saved_model_reader import read_model
from thalweg._src.keras.saving.training_config import compile_model
from thalweg._src.keras.serialization import trusting
from thalweg._src.training.nn.rnn.sizes import NestedTensors


@export("keras.models.save_model")
def save_model(
    model: Model,
    filepath: PathLike,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Saves a model, with its weights and the state of its optimizer: as an HDF5 file, or as a SavedModel."""
    require_members("model", model, "a model", "save")
    model.save(filepath, overwrite, include_optimizer, save_format, signatures)


@export("keras.models.load_model")
def load_model(
    filepath: Any,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    *,
    trusted: bool | None = None,
    strict: bool = True,
) -> Any:
    """Returns the model of an HDF5 file or of a SavedModel, compiled as it was when it was saved.

    trusted: by default a Lambda layer finds its functions in custom_objects alone, with True also in any module that
    is loaded; False refuses layers that read files
    strict: False loads an HDF5 file that another program has changed, and values that become others in the type of
    their weight
    """
    path = filepath if isinstance(filepath, str | os.PathLike) else None
    if path is not None and not os.path.exists(path):
        raise OSError(f"SavedModel file does not exist at: {filepath}")
    with trusting(trusted), in_file(getattr(filepath, "filename", filepath)):
        if path is not None and os.path.isdir(path):
            return read_model(path, custom_objects, compile)
        with hdf5_checksum.opened(path, strict) if path is not None else contextlib.nullcontext(filepath) as file:
            return _read_file(file, custom_objects, compile, strict)


def _read_file(file: Any, custom_objects: dict[str, Any] | None, compiled: bool, strict: bool) -> Any:
    description, training = hdf5.read_descriptions(file)
    with within(description, "model_config"):
        model = _of_layers(deserialize(description, custom_objects))
    hdf5.read_weights(hdf5_contents.member(file, "model_weights"), model.layers, strict=strict)
    if compiled and training is not None:
        compile_model(model, training, custom_objects)
        if hdf5.has_optimizer_weights(file):
            model.optimizer._create_all(model.trainable_weights)
            model.optimizer.set_weights(hdf5.read_optimizer_weights(file, model.optimizer.weights, strict))
    return model


def _of_layers(model: object) -> Any:
    if not isinstance(model, Network):
        raise TypeError(f"expected the description of a model, received that of {model!r}")
    return model


@export("keras.models.model_from_config")
def model_from_config(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None, *, trusted: bool | None = None
) -> Any:
    """Returns the model that a description describes.

    trusted: as that of `load_model`
    """
    with trusting(trusted), within(config):
        if isinstance(config, list):
            raise TypeError("`model_from_config` expects a dictionary, not a list.")
        return deserialize(expected(dict, config), custom_objects=custom_objects)


@export("keras.models.model_from_json")
def model_from_json(
    json_string: str, custom_objects: dict[str, Any] | None = None, *, trusted: bool | None = None
) -> Any:
    """Returns the model that a JSON text describes.

    trusted: as that of `load_model`
    """
    return model_from_config(read_json(json_string), custom_objects, trusted=trusted)


@export("keras.models.model_from_yaml")
def model_from_yaml(
    yaml_string: str, custom_objects: dict[str, Any] | None = None, *, trusted: bool | None = None
) -> Any:
    """Returns the model that a YAML text describes.

    trusted: as that of `load_model`
    """
    return model_from_config(read_yaml(yaml_string), custom_objects, trusted=trusted)


@export("keras.models.clone_model")
def clone_model(
    model: Network, input_tensors: NestedTensors = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """Returns a model of new layers with the configurations of those of another one, and new weights."""
    make = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if isinstance(model, Sequential):
        first = [] if input_tensors is None else [_input_layer(input_tensors)]
        inner = model._nested if not first else model.layers
        return Sequential([*first, *map(make, inner)], name=model.name)
    require_members("model", model, "a model", "_is_graph_network")
    if not model._is_graph_network:
        raise ValueError("Expected `model` argument to be a functional `Model` instance, but got a subclass model.")
    symbols = {} if input_tensors is None else dict(zip(model.input_names, nest.flatten(input_tensors), strict=True))
    layers = {
        layer.name: _input_layer(symbols[layer.name]) if layer.name in symbols else make(layer)
        for layer in model.layers
    }
    config = model.get_config()
    return make_graph(Model, config, None, lambda data, _: layers[data["name"]])


def _input_layer(tensor: NestedTensors) -> Any:
    symbol = tensor[0] if isinstance(tensor, list | tuple) and tensor else tensor
    history = getattr(symbol, "_keras_history", None)
    return history.layer if history is not None else InputLayer(input_tensor=symbol)
