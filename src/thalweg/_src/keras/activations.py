"""Activations of Keras: functions of a tensor that layers apply to their outputs, found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import math, nn
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.reduction import reduce_max, reduce_sum
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.serialization import Identifier, deserialize_keras_object, serialize_keras_object


@export("keras.activations.linear")
def linear(x: TensorLike) -> Any:
    """Returns x itself."""
    return x


@export("keras.activations.relu")
def relu(x: TensorLike, alpha: TensorLike = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """Returns x where it is at least the threshold, at most `max_value`, and alpha * (x - threshold) elsewhere.

    Args:
        alpha: Slope below the threshold.
        max_value: Upper bound of the result; None sets none.
        threshold: Inputs below it count as negative.
    """
    x = convert_to_tensor(x)
    leaks = isinstance(alpha, Tensor) or alpha != 0.0
    if leaks and max_value is None and threshold == 0:
        return nn.leaky_relu(x, alpha)
    if threshold != 0:
        result = math.multiply(x, cast(greater(x, threshold), x.dtype.base_dtype))
    elif max_value == 6:
        result, max_value = nn.relu6(x), None
    else:
        result = nn.relu(x)
    if max_value is not None:
        result = _between(result, 0.0, max_value)
    if not leaks:
        return result
    return math.subtract(result, math.multiply(nn.relu(math.subtract(threshold, x)), alpha))


def _between(x: Tensor, low: float, high: float) -> Tensor:
    return math.maximum(math.minimum(x, high), low)


@export("keras.activations.sigmoid")
def sigmoid(x: TensorLike) -> Tensor:
    """Returns 1 / (1 + exp(-x))."""
    return math.sigmoid(x)


@export("keras.activations.hard_sigmoid")
def hard_sigmoid(x: TensorLike) -> Tensor:
    """Returns 0.2 * x + 0.5, not below 0 and not above 1."""
    return _between(math.add(math.multiply(x, 0.2), 0.5), 0.0, 1.0)


@export("keras.activations.tanh")
def tanh(x: TensorLike) -> Tensor:
    """Returns the hyperbolic tangent of x."""
    return math.tanh(x)


@export("keras.activations.softmax")
def softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """Returns exp(x), divided by its sum along an axis or several.

    Args:
        axis: The dimension or dimensions whose elements sum to 1.
    """
    x = convert_to_tensor(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"Cannot apply softmax to a tensor of shape {x.shape}: expected a rank of 2 or more")
    if isinstance(axis, int):
        return nn.softmax(x, axis)
    powers = math.exp(math.subtract(x, reduce_max(x, axis, keepdims=True)))
    return math.divide(powers, reduce_sum(powers, axis, keepdims=True))


@export("keras.activations.elu")
def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """Returns x where it is positive, and alpha * (exp(x) - 1) elsewhere.

    Args:
        alpha: Minus the limit of the result for large negative inputs.
    """
    x = convert_to_tensor(x)
    result = nn.elu(x)
    return result if alpha == 1 else where(greater(x, 0), result, math.multiply(result, alpha))


@export("keras.activations.selu")
def selu(x: TensorLike) -> Tensor:
    """Returns the scaled exponential linear unit, which keeps mean 0 and variance 1."""
    return nn.selu(x)


@export("keras.activations.softplus")
def softplus(x: TensorLike) -> Tensor:
    """Returns log(exp(x) + 1)."""
    return nn.softplus(x)


@export("keras.activations.softsign")
def softsign(x: TensorLike) -> Tensor:
    """Returns x / (|x| + 1)."""
    return nn.softsign(x)


@export("keras.activations.exponential")
def exponential(x: TensorLike) -> Tensor:
    """Returns exp(x)."""
    return math.exp(x)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linear": linear,
    "relu": relu,
    "sigmoid": sigmoid,
    "hard_sigmoid": hard_sigmoid,
    "tanh": tanh,
    "softmax": softmax,
    "elu": elu,
    "selu": selu,
    "softplus": softplus,
    "softsign": softsign,
    "exponential": exponential,
}


@export("keras.activations.serialize")
def serialize(activation: Any) -> Any:
    """Returns the name of a function, the class and configuration of another activation.

    Args:
        activation: The activation.
    """
    return serialize_keras_object(activation)


@export("keras.activations.deserialize")
def deserialize(name: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the activation of a name or configuration.

    Args:
        name: A name or a configuration.
    """
    return deserialize_keras_object(name, _FUNCTIONS, custom_objects, "activation function")


@export("keras.activations.get")
def get(identifier: Identifier) -> Any:
    """Returns the activation that a name, a configuration or a callable stands for, `linear` for None."""
    if identifier is None:
        return linear
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(
        f"Could not interpret activation function identifier: {identifier!r}; expected a name, a configuration or a "
        "callable"
    )
