"""Kernels of convolutions that were trained with Theano, which reads them backwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.keras.backend.values import batch_get_value, batch_set_value
from thalweg._src.keras.engine.network import Network
from thalweg._src.keras.layers.convolutional import Conv1D, Conv2D, Conv3D, SeparableConv1D, SeparableConv2D
from thalweg._src.keras.layers.transposed_convolutional import Conv2DTranspose

_CONVOLUTIONS = (Conv1D, Conv2D, Conv3D, Conv2DTranspose, SeparableConv1D, SeparableConv2D)


@export("keras.utils.convert_all_kernels_in_model")
def convert_all_kernels_in_model(model: Network) -> None:
    """Turns the kernels of all convolutions of a model around, from Theano's form to TensorFlow's or back.

    Args:
        model: The model, whose weights are changed.
    """
    require_members("model", model, "a model", "layers")
    kernels = [_kernel(layer) for layer in model.layers if isinstance(layer, _CONVOLUTIONS)]
    batch_set_value([(kernel, _turned(value)) for kernel, value in zip(kernels, batch_get_value(kernels))])


def _kernel(layer: Any) -> Any:
    return layer.depthwise_kernel if hasattr(layer, "depthwise_kernel") else layer.kernel


def _turned(kernel: np.ndarray[Any, Any]) -> Any:
    """Returns a kernel with its spatial axes, all but the last two, turned around."""
    return np.flip(kernel, axis=tuple(range(kernel.ndim - 2)))
