"""Initializers of Keras: those of variables, with Keras's defaults, found by name or configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.serialization import Identifier, deserialize_keras_object, serialize_keras_object
from thalweg._src.training.variables import initializers as plain
from thalweg._src.training.variables.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    VarianceScaling,
    Zeros,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)


@export("keras.initializers.RandomNormal", "keras.initializers.random_normal", "keras.initializers.normal")
class RandomNormal(plain.RandomNormal):
    """Initializes with normally distributed values, near zero by default.

    Args:
        dtype: Default type of the values.
    """

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


@export("keras.initializers.TruncatedNormal", "keras.initializers.truncated_normal")
class TruncatedNormal(plain.TruncatedNormal):
    """Initializes with normally distributed values, near zero by default, resampled beyond two standard deviations.

    Args:
        dtype: Default type of the values.
    """

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


@export("keras.initializers.RandomUniform", "keras.initializers.random_uniform", "keras.initializers.uniform")
class RandomUniform(plain.RandomUniform):
    """Initializes with uniformly distributed values in [minval, maxval), near zero by default.

    Args:
        dtype: Default type of the values.
    """

    def __init__(
        self,
        minval: TensorLike = -0.05,
        maxval: TensorLike | None = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


_CLASSES: dict[str, type[Initializer]] = {
    **dict.fromkeys(("Zeros", "zeros", "zero"), Zeros),
    **dict.fromkeys(("Ones", "ones", "one"), Ones),
    **dict.fromkeys(("Constant", "constant"), Constant),
    **dict.fromkeys(("RandomNormal", "random_normal", "normal"), RandomNormal),
    **dict.fromkeys(("RandomUniform", "random_uniform", "uniform"), RandomUniform),
    **dict.fromkeys(("TruncatedNormal", "truncated_normal"), TruncatedNormal),
    **dict.fromkeys(("VarianceScaling",), VarianceScaling),
    **dict.fromkeys(("Orthogonal", "orthogonal"), Orthogonal),
    **dict.fromkeys(("Identity", "identity"), Identity),
    **dict.fromkeys(("GlorotUniform", "glorot_uniform"), GlorotUniform),
    **dict.fromkeys(("GlorotNormal", "glorot_normal"), GlorotNormal),
}
_FUNCTIONS: dict[str, Callable[..., VarianceScaling]] = {
    "he_normal": he_normal,
    "he_uniform": he_uniform,
    "lecun_normal": lecun_normal,
    "lecun_uniform": lecun_uniform,
}


@export("keras.initializers.serialize")
def serialize(initializer: Any) -> Any:
    """Returns the class and configuration of an initializer.

    Args:
        initializer: The initializer.
    """
    return serialize_keras_object(initializer)


# Classes that later releases of Keras write for what these functions return.
_LATER = {
    "HeNormal": he_normal,
    "HeUniform": he_uniform,
    "LecunNormal": lecun_normal,
    "LecunUniform": lecun_uniform,
}


@export("keras.initializers.deserialize")
def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the initializer of a configuration or name.

    Args:
        config: A configuration or a name.
    """
    return deserialize_keras_object(config, {**_CLASSES, **_FUNCTIONS, **_LATER}, custom_objects, "initializer")


@export("keras.initializers.get")
def get(identifier: Identifier) -> Any:
    """Returns the initializer that a name, a configuration, a class or a callable stands for, None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        initializer = deserialize(identifier)
        return (
            initializer() if initializer in _FUNCTIONS.values() else initializer
        )  # these return initializers, and are none
    if callable(identifier):
        return identifier() if isinstance(identifier, type) else identifier
    raise ValueError(
        f"Could not interpret initializer identifier: {identifier!r}; expected a name, a configuration or a callable"
    )
