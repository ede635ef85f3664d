"""Models and weights in HDF5 files, in the format of Keras 2: what one writes, the other reads."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from thalweg._src.keras.backend.values import batch_get_value, batch_set_value
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.config import VERSION, _plain, read_json
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.keras.places import within
from thalweg._src.keras.saving.hdf5_contents import array, converted, dataset, link_to, member, text, texts
from thalweg._src.keras.saving.training_config import training_config
from thalweg._src.training.variables.variables import Variable

_MAX_ATTRIBUTE = 64512  # bytes of an attribute of a file

# -- weights ----------------------------------------------------------------------------------------------------------


def write_weights(group: Any, layers: list[Any]) -> None:
    """Writes the weights of layers, each layer in a group of its own."""
    _set_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = VERSION.encode()
    for layer in layers:
        _write_datasets(group.create_group(layer.name), in_file_order(layer))


def _write_datasets(group: Any, weights: list[Any]) -> None:
    """Writes weights into a group."""
    _set_names(group, "weight_names", [weight.name for weight in weights])
    for weight, value in zip(weights, batch_get_value(weights)):
        group.create_dataset(weight.name, data=np.asarray(value))


def in_file_order(layer: Layer) -> list[Any]:
    """Returns the weights of a layer in the order of files: the trainable ones first."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def read_weights(group: Any, layers: list[Any], by_name: bool = False, strict: bool = True) -> None:
    """Sets the weights of layers to those of a file, by their order or by the names of the layers."""
    with_weights = [layer for layer in layers if layer.weights]
    stored = {name: _datasets(member(group, name)) for name in _names(group, "layer_names")}
    stored = {name: values for name, values in stored.items() if values}
    if by_name:
        pairs = [(layer, stored[layer.name]) for layer in with_weights if layer.name in stored]
    else:
        if len(stored) != len(with_weights):
            raise ValueError(
                f"You are trying to load a weight file containing {len(stored)} layers into a model with "
                f"{len(with_weights)} layers."
            )
        pairs = list(zip(with_weights, stored.values()))
    values: list[tuple[Any, Any]] = []
    for layer, datasets in pairs:
        weights = in_file_order(layer)
        if len(weights) != len(datasets):
            raise ValueError(f"Layer {layer.name!r} has {len(weights)} weights, the file has {len(datasets)} for it.")
        for weight, value in zip(weights, datasets):
            if _shape(weight) != value.shape:
                raise ValueError(
                    f"Layer {layer.name!r}: weight {weight.name!r} has shape {_shape(weight)}, the file "
                    f"has {value.shape} for it."
                )
            values.append((weight, _value(value, weight, strict)))
    batch_set_value(values)


def _shape(weight: Any) -> tuple[int, ...]:
    return tuple(weight.shape.as_list())


def _datasets(group: Any) -> list[Any]:
    """Returns the data sets of a group, whose values are not read yet."""
    return [dataset(group, name) for name in _names(group, "weight_names")]


def _value(dataset: Any, weight: Variable, strict: bool) -> Any:
    """Returns the value of a data set for a weight."""
    value = array(dataset, _shape(weight))
    return converted(value, weight.dtype.base_dtype.as_numpy_dtype, dataset.name) if strict else value


def _set_names(group: Any, key: str, names: list[str]) -> None:
    """Writes a list of names as an attribute, in several parts if it is too long for one."""
    encoded = [name.encode() for name in names]
    if sum(map(len, encoded)) <= _MAX_ATTRIBUTE:
        group.attrs[key] = encoded
        return
    array = np.asarray(encoded)
    count = -(-array.nbytes // _MAX_ATTRIBUTE)
    for number, chunk in enumerate(np.array_split(array, count)):
        group.attrs[f"{key}{number}"] = chunk


def _names(group: Any, key: str) -> list[str]:
    """Returns a list of names that an attribute, or several parts of one, contain."""
    names = texts(group, key)
    if names is not None:
        return names
    chunks: list[list[str]] = []
    while (chunk := texts(group, f"{key}{len(chunks)}")) is not None:
        chunks.append(chunk)
    return [name for chunk in chunks for name in chunk]


# -- models -----------------------------------------------------------------------------------------------------------


def write_model(file: Any, model: TrainableModel, include_optimizer: bool) -> None:
    """Writes the description of a model, its weights and, on request, the state of its optimizer."""
    description = {"class_name": type(model).__name__, "config": model.get_config()}
    file.attrs["keras_version"] = VERSION.encode()
    file.attrs["backend"] = b"tensorflow"
    file.attrs["model_config"] = json.dumps(description, default=_plain).encode()
    write_weights(file.create_group("model_weights"), model.layers)
    training = training_config(model) if include_optimizer else None
    if training is not None:
        file.attrs["training_config"] = json.dumps(training, default=_plain).encode()
        if model.optimizer.weights:
            _write_datasets(file.create_group("optimizer_weights"), model.optimizer.weights)


def read_descriptions(file: Any) -> tuple[Any, Any]:
    """Returns the description of a model, and what it was compiled with, None if the file does not say."""
    model, training = (_read_json(file, key) for key in ("model_config", "training_config"))
    if model is None:
        with within(None, "model_config"):
            raise ValueError("No model found in config file.")
    return model, training


def _read_json(file: Any, key: str) -> Any:
    content = text(file, key)
    with within(None, key):
        return None if content is None else read_json(content)


def has_optimizer_weights(file: Any) -> bool:
    """Returns whether a file has the state of an optimizer."""
    is_there = link_to(file, "optimizer_weights") is not None
    return is_there and bool(_names(member(file, "optimizer_weights"), "weight_names"))


def read_optimizer_weights(file: Any, weights: list[Any], strict: bool = True) -> list[Any]:
    """Returns the state of an optimizer that has these weights."""
    datasets = _datasets(member(file, "optimizer_weights"))
    if len(datasets) != len(weights):
        raise ValueError(f"the optimizer has {len(weights)} weights, the file has {len(datasets)} for it")
    return [_value(stored, weight, strict) for stored, weight in zip(datasets, weights)]
