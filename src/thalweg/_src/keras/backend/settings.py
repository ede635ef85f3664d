"""Numeric settings of Keras: the default type, the smallest divisor, and the place of channels."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg._src.base.export import export

_FLOATS = ("float16", "float32", "float64")
_FORMATS = ("channels_last", "channels_first")


@dataclass(slots=True)
class _Settings:
    floatx: str = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"


_settings = _Settings()


@export("keras.backend.floatx")
def floatx() -> str:
    """Returns the name of the type of weights and inputs that are given none."""
    return _settings.floatx


@export("keras.backend.set_floatx")
def set_floatx(value: str) -> None:
    """Sets the type of weights and inputs that are given none.

    Args:
        value: "float16", "float32" or "float64".
    """
    if value not in _FLOATS:
        raise ValueError(f"Unknown floatx type: {value}; expected one of {', '.join(_FLOATS)}")
    _settings.floatx = str(value)


@export("keras.backend.epsilon")
def epsilon() -> float:
    """Returns the small number that keeps quotients and logarithms finite."""
    return _settings.epsilon


@export("keras.backend.set_epsilon")
def set_epsilon(value: float) -> None:
    """Sets the small number that keeps quotients and logarithms finite.

    Args:
        value: The small number.
    """
    _settings.epsilon = value


@export("keras.backend.image_data_format")
def image_data_format() -> str:
    """Returns where images have their channels: "channels_last" or "channels_first"."""
    return _settings.image_data_format


@export("keras.backend.set_image_data_format")
def set_image_data_format(data_format: str) -> None:
    """Sets where images have their channels."""
    if data_format not in _FORMATS:
        raise ValueError(f"Unknown data_format: {data_format}; expected one of {', '.join(_FORMATS)}")
    _settings.image_data_format = str(data_format)
