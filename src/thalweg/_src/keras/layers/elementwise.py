"""Elementwise: the base class of layers whose outputs have the shape and the mask of their inputs."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.keras.engine.base_layer import Layer


class Elementwise(Layer):
    """The base class of layers that keep shape and mask."""

    supports_masking = True

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Returns the shape of the inputs."""
        return TensorShape(input_shape)
