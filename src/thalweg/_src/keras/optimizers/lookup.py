"""Optimizers by name and configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base.errors import wrong_kind
from thalweg._src.base.export import export
from thalweg._src.keras.backend import state
from thalweg._src.keras.optimizers.moments import Adam, Adamax, Nadam
from thalweg._src.keras.optimizers.optimizer import Optimizer
from thalweg._src.keras.optimizers.optimizers import SGD, Adadelta, Adagrad, Ftrl, RMSprop
from thalweg._src.keras.optimizers.wrapping import TFOptimizer
from thalweg._src.keras.serialization import deserialize_keras_object, serialize_keras_object
from thalweg._src.training.optimizers import optimizer as plain

_OPTIMIZERS: dict[str, Any] = {
    optimizer.__name__.lower(): optimizer for optimizer in (Adadelta, Adagrad, Adam, Adamax, Ftrl, Nadam, RMSprop, SGD)
}


@export("keras.optimizers.serialize")
def serialize(optimizer: Any) -> Any:
    """Returns the class and configuration of an optimizer."""
    return serialize_keras_object(optimizer)


@export("keras.optimizers.deserialize")
def deserialize(config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the optimizer that a configuration stands for."""
    if not isinstance(config, Mapping) or not isinstance(config.get("class_name"), str):
        raise wrong_kind("config", "a dict with a class_name and a config", config)
    name = config["class_name"].lower()
    lowercase = {**config, "class_name": name} if name in _OPTIMIZERS else config
    return deserialize_keras_object(lowercase, _OPTIMIZERS, custom_objects, "optimizer")


@export("keras.optimizers.get")
def get(identifier: object) -> Any:
    """Returns the optimizer of a name or a configuration; one of tf.train is wrapped for Keras."""
    if isinstance(identifier, Optimizer | TFOptimizer):
        return identifier
    if isinstance(identifier, plain.Optimizer):
        wrapped = TFOptimizer(identifier)
        state.track_optimizer(wrapped)
        return wrapped
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}")
