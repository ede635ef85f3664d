"""Layers by the name of their class, for configurations of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.keras.engine import input_layer
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers import (
    advanced_activations,
    attention,
    convolutional,
    core,
    dense_features,
    embeddings,
    local,
    merge,
    noise,
    normalization,
    padding,
    pooling,
    scaled_sum,
    spatial_dropout,
    transposed_convolutional,
)
from thalweg._src.keras.serialization import Identifier, class_and_config, deserialize_keras_object

LAYERS: dict[str, type] = {}
# Other names under which Keras has written classes.
_ALIASES = {
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Custom>CustomScaleLayer": "CustomScaleLayer",
}


def register_layers(namespace: Mapping[str, Any]) -> None:
    """Makes the layers that a module defines known, given its global names; those that start with _ are left out."""
    module = namespace.get("__name__")
    for name, value in namespace.items():
        is_layer = isinstance(value, type) and issubclass(value, Layer) and not name.startswith("_")
        if is_layer and module in (None, value.__module__):
            LAYERS[name] = value


for _module in (
    *(advanced_activations, attention, convolutional, core, dense_features, embeddings, input_layer, local, merge),
    *(noise, normalization, padding, pooling, scaled_sum, spatial_dropout, transposed_convolutional),
):
    register_layers(vars(_module))
for _alias, _name in _ALIASES.items():
    LAYERS[_alias] = LAYERS[_name]


@export("keras.layers.serialize")
def serialize(layer: Layer) -> dict[str, Any]:
    """Returns the class and the configuration of a layer.

    Args:
        layer: The layer.
    """
    require_members("layer", layer, "a layer", "get_config")
    return class_and_config(type(layer).__name__, layer.get_config())


@export("keras.layers.deserialize")
def deserialize(config: Identifier, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the layer of a class and a configuration.

    Args:
        config: A dictionary with the class and the configuration of a layer.
    """
    return deserialize_keras_object(config, LAYERS, custom_objects, "layer")
