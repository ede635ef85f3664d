"""The layer of Inception-ResNet that adds what a block computes, times a factor, to the input of the block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.keras.engine.base_layer import Layer


class CustomScaleLayer(Layer):
    """Adds its second input, times a factor, to its first one."""

    def __init__(self, scale: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, inputs: Sequence[Any]) -> Any:
        """Returns the sum."""
        return inputs[0] + inputs[1] * self.scale

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the first input."""
        return input_shape[0]

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "scale": self.scale}
