"""DenseNet: each layer of a block gets the outputs of all layers before it (Huang et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, channel_axis, tf_kernels
from thalweg._src.keras.layers.convolutional import Conv2D
from thalweg._src.keras.layers.core import Activation
from thalweg._src.keras.layers.merge import Concatenate
from thalweg._src.keras.layers.normalization import BatchNormalization
from thalweg._src.keras.layers.padding import ZeroPadding2D
from thalweg._src.keras.layers.pooling import AveragePooling2D, MaxPooling2D

_GROWTH = 32  # channels that each layer of a block adds
_FILES = {
    "densenet121": ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
    "densenet169": ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
    "densenet201": ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
}


def _normalized(x: Tensor, normalization: str, rectifier: str) -> Any:
    x = BatchNormalization(axis=channel_axis(), epsilon=1.001e-5, name=normalization)(x)
    return Activation("relu", name=rectifier)(x)


def _convolution(x: Tensor, filters: int, kernel: int, name: str) -> Any:
    return Conv2D(filters, kernel, padding="same" if kernel > 1 else "valid", use_bias=False, name=name)(x)


def _layer(x: Tensor, name: str) -> Any:
    """Adds a layer of a block: its inputs and what it computes of them."""
    inner = _convolution(_normalized(x, f"{name}_0_bn", f"{name}_0_relu"), 4 * _GROWTH, 1, f"{name}_1_conv")
    inner = _convolution(_normalized(inner, f"{name}_1_bn", f"{name}_1_relu"), _GROWTH, 3, f"{name}_2_conv")
    return Concatenate(axis=channel_axis(), name=f"{name}_concat")([x, inner])


def _transition(x: Any, name: str) -> Any:
    """Halves the number of channels and the size of images."""
    channels = x.shape.as_list()[channel_axis()]
    x = _convolution(_normalized(x, f"{name}_bn", f"{name}_relu"), channels // 2, 1, f"{name}_conv")
    return AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _network(name: str, layers: Sequence[int], arguments: Arguments) -> Any:
    """Returns a network with the given number of layers in each of its four blocks."""
    image = arguments.image(224, 32)
    x = Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(ZeroPadding2D(3)(image))
    x = ZeroPadding2D(1)(_normalized(x, "conv1/bn", "conv1/relu"))
    x = MaxPooling2D(3, strides=2, name="pool1")(x)
    for block, count in enumerate(layers, 2):
        for number in range(1, count + 1):
            x = _layer(x, f"conv{block}_block{number}")
        if block < 5:
            x = _transition(x, f"pool{block}")
    x = arguments.top(_normalized(x, "bn", "relu"))
    return arguments.model(image, x, name, tf_kernels(name, *_FILES[name], folder="densenet"))


@export("keras.applications.DenseNet121", "keras.applications.densenet.DenseNet121")
def DenseNet121(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network DenseNet of 121 layers with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("densenet121", (6, 12, 24, 16), arguments)


@export("keras.applications.DenseNet169", "keras.applications.densenet.DenseNet169")
def DenseNet169(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network DenseNet of 169 layers with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("densenet169", (6, 12, 32, 32), arguments)


@export("keras.applications.DenseNet201", "keras.applications.densenet.DenseNet201")
def DenseNet201(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network DenseNet of 201 layers with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("densenet201", (6, 12, 48, 32), arguments)
