"""Activations with parameters, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.nn import relu
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations
from thalweg._src.keras.backend.math import cast_to_floatx
from thalweg._src.keras.layers.arguments import objects_of
from thalweg._src.keras.layers.core import weight_config
from thalweg._src.keras.layers.elementwise import Elementwise
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.layers.input_spec import InputSpec


def _number(value: float) -> float:
    """Returns a number as the default type has it, which a configuration shows."""
    return float(cast_to_floatx(value))


@export("keras.layers.LeakyReLU")
class LeakyReLU(Elementwise):
    """Returns x where it is positive, and alpha * x elsewhere.

    Args:
        alpha: Slope below 0.
    """

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = _number(alpha)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns x where it is positive, and alpha * x elsewhere."""
        return activations.relu(inputs, alpha=self.alpha)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "alpha": self.alpha}


@export("keras.layers.PReLU")
class PReLU(Elementwise):
    """Returns x where it is positive, and alpha * x elsewhere, where alpha is trained.

    Args:
        alpha_initializer: Initializer of the slopes below 0.
        alpha_regularizer: Function from the slopes to a penalty.
        alpha_constraint: Function that maps the updated slopes to allowed ones.
        shared_axes: Axes along which the slope is the same; the axis after the batch has number 1.
    """

    def __init__(
        self,
        alpha_initializer: Identifier = "zeros",
        alpha_regularizer: Identifier = None,
        alpha_constraint: Identifier = None,
        shared_axes: int | Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        objects = objects_of(
            {"initializer": alpha_initializer, "regularizer": alpha_regularizer, "constraint": alpha_constraint}
        )
        self.alpha_initializer = objects["initializer"]
        self.alpha_regularizer = objects["regularizer"]
        self.alpha_constraint = objects["constraint"]
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes and list(shared_axes)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates alpha, of the shape of an example with size 1 along the shared axes."""
        sizes = as_shape(input_shape) or ()
        shared = self.shared_axes or []
        shape = [1 if axis in shared else size for axis, size in enumerate(sizes) if axis > 0]
        if None in shape:
            raise ValueError(f"PReLU: the sizes of axes that are not shared must be known, received {input_shape}")
        self.alpha = self.add_weight(
            "alpha",
            shape=shape,
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        axes = {axis: size for axis, size in enumerate(sizes) if axis > 0 and axis not in shared}
        self.input_spec = InputSpec(ndim=len(sizes), axes=axes)
        self.built = True

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns x where it is positive, and the trained alpha * x elsewhere."""
        x = convert_to_tensor(inputs)
        return relu(x) - self.alpha * relu(-x)  # type: ignore[no-any-return]

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **weight_config(self, "alpha"), "shared_axes": self.shared_axes}


@export("keras.layers.ELU")
class ELU(Elementwise):
    """Returns x where it is positive, and alpha * (exp(x) - 1) elsewhere.

    Args:
        alpha: Minus the limit of the result for large negative inputs.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = _number(alpha)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns x where it is positive, and alpha * (exp(x) - 1) elsewhere."""
        return activations.elu(inputs, self.alpha)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "alpha": self.alpha}


@export("keras.layers.ThresholdedReLU")
class ThresholdedReLU(Elementwise):
    """Returns x where it is greater than theta, and 0 elsewhere.

    Args:
        theta: Inputs up to this number become 0.
    """

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = _number(theta)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns x where it is larger than theta, and 0 elsewhere."""
        x = convert_to_tensor(inputs)
        return x * cast(greater(x, self.theta), x.dtype)  # type: ignore[no-any-return]

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "theta": self.theta}


@export("keras.layers.Softmax")
class Softmax(Elementwise):
    """Returns exp(x), divided by its sum along an axis or several.

    Args:
        axis: The axis, or a list of axes, whose elements sum to 1.
    """

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns numbers in proportion to exp(x) whose sum along the axis is 1."""
        return activations.softmax(inputs, axis=self.axis)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "axis": self.axis}


@export("keras.layers.ReLU")
class ReLU(Elementwise):
    """Returns x between the threshold and `max_value`, and negative_slope * (x - threshold) below.

    Args:
        max_value: Upper bound of the result; None sets none.
        negative_slope: Slope below the threshold.
        threshold: Inputs below it count as negative.
    """

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0:
            raise ValueError(f"max_value of Relu layer cannot be negative value: {max_value}")
        if negative_slope < 0:
            raise ValueError(f"negative_slope of Relu layer cannot be negative value: {negative_slope}")
        self.max_value = None if max_value is None else _number(max_value)
        self.negative_slope = _number(negative_slope)
        self.threshold = _number(threshold)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns x limited to the range from 0 to max_value, with the slope below the threshold."""
        return activations.relu(inputs, alpha=self.negative_slope, max_value=self.max_value, threshold=self.threshold)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        names = ("max_value", "negative_slope", "threshold")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
