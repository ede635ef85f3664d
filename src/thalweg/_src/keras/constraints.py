"""Constraints of Keras: functions that training applies to a variable after each update of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater_equal
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import add, divide, maximum, minimum, multiply, sqrt, square
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import epsilon
from thalweg._src.keras.serialization import Identifier, deserialize_keras_object, serialize_keras_object


@export("keras.constraints.Constraint")
class Constraint:
    """Base class: `constraint(w)` returns the value that replaces w; that of the base class is w itself."""

    def __call__(self, w: TensorLike) -> Any:
        """Returns the value that replaces w."""
        return w

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal constraint."""
        return {}


@export("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """Scales weights down whose norm along the axes is larger than `max_value`.

    Args:
        max_value: Largest norm.
    """

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Returns the value that replaces w."""
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        return multiply(w, divide(minimum(norms, self.max_value), add(norms, epsilon())))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal constraint."""
        return {"max_value": self.max_value, "axis": self.axis}


@export("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """Replaces negative weights by zeros."""

    def __call__(self, w: TensorLike) -> Tensor:
        """Returns the value that replaces w."""
        w = convert_to_tensor(w)
        return multiply(w, cast(greater_equal(w, 0.0), w.dtype.base_dtype))


@export("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """Scales weights to norm 1 along the axes."""

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Returns the value that replaces w."""
        w = convert_to_tensor(w)
        return divide(w, add(_norms(w, self.axis), epsilon()))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal constraint."""
        return {"axis": self.axis}


@export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Scales weights to a norm between `min_value` and `max_value` along the axes, or a part of the way to it.

    Args:
        max_value: Largest norm.
        rate: Part of the way to an allowed norm that each call goes; 1 reaches it.
    """

    def __init__(
        self,
        min_value: float = 0.0,
        max_value: float = 1.0,
        rate: float = 1.0,
        axis: int | Sequence[int] = 0,
    ) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Returns the value that replaces w."""
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        nearest = maximum(minimum(norms, self.max_value), self.min_value)
        desired = add(multiply(nearest, self.rate), multiply(norms, 1 - self.rate))
        return multiply(w, divide(desired, add(norms, epsilon())))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal constraint."""
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


def _norms(w: Tensor, axis: int | Sequence[int]) -> Tensor:
    return sqrt(reduce_sum(square(w), axis, keepdims=True))


@export("keras.constraints.RadialConstraint", "keras.constraints.radial_constraint")
class RadialConstraint(Constraint):
    """Makes the window of a convolution's kernel constant along each square ring around its centre.

    The value of each ring is one of the diagonal, from the middle downwards for the rings from the centre outwards.
    """

    def __call__(self, w: TensorLike) -> Tensor:
        """Returns the value that replaces w."""
        w = convert_to_tensor(w)
        sizes = w.shape.as_list() if w.shape.ndims is not None else []
        if len(sizes) != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape {w.shape}")
        height, width, channels, kernels = sizes
        if height is None or height != width:
            raise ValueError(f"A radial constraint needs a square window, but the weight tensor is of shape {w.shape}")
        return gather(reshape(w, [height * width, channels, kernels]), _ring_values(height))


def _ring_values(size: int) -> np.ndarray:
    """Returns for each place of a square window which place, counted by rows, gives the value of its ring."""
    distances = np.abs(np.arange(size) - (size - 1) / 2).astype(np.int32)
    rings = np.maximum(distances[:, None], distances[None, :])
    # A window of even size has four places in its centre; Keras leaves out the next value of the diagonal then.
    skipped = (rings > 0) & (size % 2 == 0)
    on_diagonal: np.ndarray = np.maximum(size // 2 - 1 + rings + skipped, 0)
    return on_diagonal * (size + 1)


_CLASSES: dict[str, type[Constraint]] = {
    **dict.fromkeys(("Constraint",), Constraint),
    **dict.fromkeys(("MaxNorm", "max_norm"), MaxNorm),
    **dict.fromkeys(("NonNeg", "non_neg"), NonNeg),
    **dict.fromkeys(("UnitNorm", "unit_norm"), UnitNorm),
    **dict.fromkeys(("MinMaxNorm", "min_max_norm"), MinMaxNorm),
    **dict.fromkeys(("RadialConstraint", "radial_constraint"), RadialConstraint),
}


@export("keras.constraints.serialize")
def serialize(constraint: Any) -> Any:
    """Returns the class and configuration of a constraint, the name of a function.

    Args:
        constraint: The constraint.
    """
    return serialize_keras_object(constraint)


@export("keras.constraints.deserialize")
def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the constraint of a configuration or name.

    Args:
        config: A configuration or a name.
    """
    return deserialize_keras_object(config, _CLASSES, custom_objects, "constraint")


@export("keras.constraints.get")
def get(identifier: Identifier) -> Any:
    """Returns the constraint that a name, a configuration or a callable stands for, None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(
        f"Could not interpret constraint identifier: {identifier!r}; expected a name, a configuration or a callable"
    )
