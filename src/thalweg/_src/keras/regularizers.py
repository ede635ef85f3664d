"""Regularizers of Keras: penalties on large weights or outputs, added to the loss of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import abs, add, multiply, square
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.serialization import Identifier, deserialize_keras_object, serialize_keras_object


@export("keras.regularizers.Regularizer")
class Regularizer:
    """Base class: `regularizer(x)` returns a penalty; a subclass with `get_config` can be part of a configuration."""

    def __call__(self, x: TensorLike) -> Any:
        """Returns the penalty of a tensor; that of the base class is 0."""
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns the regularizer of a configuration."""
        return cls(**config)


@export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """The regularizer l1 * sum(|x|) + l2 * sum(x ** 2)."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = _rounded(l1)
        self.l2 = _rounded(l2)

    def __call__(self, x: TensorLike) -> Tensor:
        """Returns the penalty of a tensor, a scalar."""
        if not self.l1 and not self.l2:
            return constant(0.0, floatx())
        x = convert_to_tensor(x)
        if not self.l1:
            return multiply(reduce_sum(square(x)), self.l2)
        absolute = multiply(reduce_sum(abs(x)), self.l1)
        return add(absolute, multiply(reduce_sum(square(x)), self.l2)) if self.l2 else absolute

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal regularizer."""
        return {"l1": self.l1, "l2": self.l2}


_CLASSES = {"L1L2": L1L2, "L1": L1L2, "L2": L1L2}  # later releases of Keras write the names of single penalties


def _rounded(factor: float | None) -> float:
    """Returns a factor as the default type has it, which a configuration shows."""
    return float(np.asarray(factor or 0.0, floatx()))


@export("keras.regularizers.l1")
def l1(l: float = 0.01) -> L1L2:
    """Returns the regularizer l * sum(|x|)."""
    return L1L2(l1=l)


@export("keras.regularizers.l2")
def l2(l: float = 0.01) -> L1L2:
    """Returns the regularizer l * sum(x ** 2)."""
    return L1L2(l2=l)


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Returns the regularizer l1 * sum(|x|) + l2 * sum(x ** 2)."""
    return L1L2(l1, l2)


_FUNCTIONS: dict[str, Callable[..., L1L2]] = {"l1": l1, "l2": l2, "l1_l2": l1_l2}


@export("keras.regularizers.serialize")
def serialize(regularizer: Any) -> Any:
    """Returns the class and configuration of a regularizer, the name of a function.

    Args:
        regularizer: The regularizer.
    """
    return serialize_keras_object(regularizer)


@export("keras.regularizers.deserialize")
def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the regularizer of a configuration or name.

    Args:
        config: A configuration or a name.
    """
    return deserialize_keras_object(config, {**_CLASSES, **_FUNCTIONS}, custom_objects, "regularizer")


@export("keras.regularizers.get")
def get(identifier: Identifier) -> Any:
    """Returns the regularizer that a name, a configuration or a callable stands for, None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        regularizer = deserialize(identifier)
        return (
            regularizer() if regularizer in _FUNCTIONS.values() else regularizer
        )  # these return regularizers, and are none
    if callable(identifier):
        return identifier
    raise ValueError(
        f"Could not interpret regularizer identifier: {identifier!r}; expected a name, a configuration or a callable"
    )
