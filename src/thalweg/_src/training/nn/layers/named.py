"""Activations and initializers by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from thalweg._src.graph.ops import math, nn
from thalweg._src.training.variables import initializers

ZEROS = initializers.Zeros()
ONES = initializers.Ones()


def _hard_sigmoid(x: Any) -> Any:
    return math.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


_ACTIVATIONS: dict[str, Any] = {
    "linear": None,
    "relu": nn.relu,
    "tanh": math.tanh,
    "sigmoid": math.sigmoid,
    "hard_sigmoid": _hard_sigmoid,
    "softmax": nn.softmax,
    "softplus": nn.softplus,
    "softsign": nn.softsign,
    "elu": nn.elu,
    "selu": nn.selu,
    "exponential": math.exp,
}
_INITIALIZERS: dict[str, Any] = {
    "zeros": initializers.Zeros,
    "ones": initializers.Ones,
    "constant": initializers.Constant,
    "identity": initializers.Identity,
    "uniform": lambda: initializers.RandomUniform(-0.05, 0.05),
    "random_uniform": lambda: initializers.RandomUniform(-0.05, 0.05),
    "normal": lambda: initializers.RandomNormal(0.0, 0.05),
    "random_normal": lambda: initializers.RandomNormal(0.0, 0.05),
    "truncated_normal": lambda: initializers.TruncatedNormal(0.0, 0.05),
    "variance_scaling": initializers.VarianceScaling,
    "glorot_normal": initializers.GlorotNormal,
    "glorot_uniform": initializers.GlorotUniform,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
}


def activation_of(activation: str | Callable[..., Any] | None) -> Any:
    """Returns an activation function, given as a function or by name; None for none."""
    if activation is None or callable(activation):
        return activation
    if activation not in _ACTIVATIONS:
        raise ValueError(f"Unknown activation function: {activation!r}; known are {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[activation]


def initializer_of(initializer: str | Callable[..., Any] | None) -> Any:
    """Returns an initializer, given as an object, a class or a name; None for that of the scope."""
    if isinstance(initializer, str):
        if initializer.lower() not in _INITIALIZERS:
            raise ValueError(f"Unknown initializer: {initializer!r}; known are {', '.join(_INITIALIZERS)}")
        return _INITIALIZERS[initializer.lower()]()
    return initializer() if inspect.isclass(initializer) else initializer
