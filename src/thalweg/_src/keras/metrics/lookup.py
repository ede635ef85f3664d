"""Metrics by name, and the configurations that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.keras.losses.losses import FUNCTIONS
from thalweg._src.keras.metrics import accuracy, base, confusion, curves, means
from thalweg._src.keras.serialization import Identifier, deserialize_keras_object, serialize_keras_object

_FUNCTIONS = (
    *(accuracy.accuracy, accuracy.binary_accuracy, accuracy.categorical_accuracy),
    *(accuracy.sparse_categorical_accuracy, accuracy.top_k_categorical_accuracy),
    accuracy.sparse_top_k_categorical_accuracy,
)
_OBJECTS: dict[str, Any] = {
    **FUNCTIONS,
    **{function.__name__: function for function in _FUNCTIONS},
    "acc": accuracy.accuracy,
    "ACC": accuracy.accuracy,
    # Named so, the metric is the cosine; the function of that name in the namespace is the loss, minus the cosine.
    **dict.fromkeys(("cosine_proximity", "cosine_similarity"), means.cosine_proximity),
    **{
        name: value
        for module in (base, accuracy, confusion, curves, means)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base.Metric) and not name.startswith("_")
    },
}


@export("keras.metrics.serialize")
def serialize(metric: Any) -> Any:
    """Returns the name of a function, or the class and configuration of a metric."""
    return serialize_keras_object(metric)


@export("keras.metrics.deserialize")
def deserialize(config: Identifier, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the function or the metric of a name or a configuration."""
    return deserialize_keras_object(config, _OBJECTS, custom_objects, "metric function")


@export("keras.metrics.get")
def get(identifier: Identifier) -> Any:
    """Returns the metric that a name or a configuration stands for; a function or a metric stands for itself."""
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier!r}")
