"""Arguments of layers: objects for the names that stand for them, and the place of channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from thalweg._src.keras import activations, constraints, initializers, regularizers
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.training.nn.layers.windows import data_format_of

Window: TypeAlias = "int | Sequence[int]"  # a size or step for each spatial axis, or one for all
Margins: TypeAlias = "int | Sequence[int | Sequence[int]]"  # what is before and after each spatial axis, or for both

_KINDS: dict[str, Callable[[Any], Any]] = {
    "activation": activations.get,
    "initializer": initializers.get,
    "regularizer": regularizers.get,
    "constraint": constraints.get,
}


def objects_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments by name, with objects for those that may be the name or the configuration of one."""
    getters = {name: _KINDS.get(name.rpartition("_")[2], lambda value: value) for name in arguments}
    return {name: getters[name](value) for name, value in arguments.items()}


def channels_of(data_format: str | None) -> str:
    """Returns where images have their channels; None stands for the setting of Keras."""
    return data_format_of(data_format or image_data_format())
