"""Inception-ResNet v2: modules of Inception whose outputs are added to their inputs (Szegedy et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, channel_axis, conv_bn, tf_kernels
from thalweg._src.keras.layers.convolutional import Conv2D
from thalweg._src.keras.layers.core import Activation
from thalweg._src.keras.layers.merge import Concatenate
from thalweg._src.keras.layers.pooling import AveragePooling2D, MaxPooling2D
from thalweg._src.keras.layers.scaled_sum import CustomScaleLayer

_FILES = tf_kernels("inception_resnet_v2", "e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4")


def _concatenated(branches: Sequence[Any], name: str) -> Any:
    return Concatenate(axis=channel_axis(), name=name)(list(branches))


def _stem(x: Tensor) -> Any:
    x = conv_bn(conv_bn(x, 32, 3, strides=2, padding="valid"), 32, 3, padding="valid")
    x = MaxPooling2D(3, strides=2)(conv_bn(x, 64, 3))
    x = conv_bn(conv_bn(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    x = MaxPooling2D(3, strides=2)(x)
    first = conv_bn(x, 96, 1)
    second = conv_bn(conv_bn(x, 48, 1), 64, 5)
    third = conv_bn(conv_bn(conv_bn(x, 64, 1), 96, 3), 96, 3)
    fourth = conv_bn(AveragePooling2D(3, strides=1, padding="same")(x), 64, 1)
    return _concatenated([first, second, third, fourth], "mixed_5b")


def _branches(x: Tensor, kind: str) -> list[Any]:
    if kind == "block35":
        first = conv_bn(x, 32, 1)
        second = conv_bn(conv_bn(x, 32, 1), 32, 3)
        return [first, second, conv_bn(conv_bn(conv_bn(x, 32, 1), 48, 3), 64, 3)]
    first = conv_bn(x, 192, 1)
    if kind == "block17":
        return [first, conv_bn(conv_bn(conv_bn(x, 128, 1), 160, (1, 7)), 192, (7, 1))]
    return [first, conv_bn(conv_bn(conv_bn(x, 192, 1), 224, (1, 3)), 256, (3, 1))]


def _block(x: Tensor, kind: str, number: int, scale: float, is_rectified: bool = True) -> Any:
    """Adds a block of one of three kinds."""
    name = f"{kind}_{number}"
    mixed = _concatenated(_branches(x, kind), f"{name}_mixed")
    inner = Conv2D(x.shape.as_list()[channel_axis()], 1, padding="same", name=f"{name}_conv")(mixed)
    x = CustomScaleLayer(scale)([x, inner])
    return Activation("relu", name=f"{name}_ac")(x) if is_rectified else x


def _reduced_to_17(x: Tensor) -> Any:
    first = conv_bn(x, 384, 3, strides=2, padding="valid")
    second = conv_bn(conv_bn(conv_bn(x, 256, 1), 256, 3), 384, 3, strides=2, padding="valid")
    return _concatenated([first, second, MaxPooling2D(3, strides=2)(x)], "mixed_6a")


def _reduced_to_8(x: Tensor) -> Any:
    first = conv_bn(conv_bn(x, 256, 1), 384, 3, strides=2, padding="valid")
    second = conv_bn(conv_bn(x, 256, 1), 288, 3, strides=2, padding="valid")
    third = conv_bn(conv_bn(conv_bn(x, 256, 1), 288, 3), 320, 3, strides=2, padding="valid")
    return _concatenated([first, second, third, MaxPooling2D(3, strides=2)(x)], "mixed_7a")


@export("keras.applications.InceptionResNetV2", "keras.applications.inception_resnet_v2.InceptionResNetV2")
def InceptionResNetV2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network Inception-ResNet v2 with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    image = arguments.image(299, 75)
    x = _stem(image)
    for number in range(1, 11):
        x = _block(x, "block35", number, 0.17)
    x = _reduced_to_17(x)
    for number in range(1, 21):
        x = _block(x, "block17", number, 0.1)
    x = _reduced_to_8(x)
    for number in range(1, 10):
        x = _block(x, "block8", number, 0.2)
    x = conv_bn(_block(x, "block8", 10, 1.0, is_rectified=False), 1536, 1, name="conv_7b")
    x = arguments.top(x) if include_top else arguments.pooled(x)
    return arguments.model(image, x, "inception_resnet_v2", _FILES)
