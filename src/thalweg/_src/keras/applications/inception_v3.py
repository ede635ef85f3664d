"""Inception v3: modules whose branches see images through windows of several sizes (Szegedy et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, channel_axis, conv_bn, tf_kernels
from thalweg._src.keras.layers.merge import Concatenate
from thalweg._src.keras.layers.pooling import AveragePooling2D, MaxPooling2D

_FILES = tf_kernels("inception_v3", "9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63")


def _concatenated(branches: Sequence[Any], name: str | None = None) -> Any:
    return Concatenate(axis=channel_axis(), name=name)(list(branches))


def _pooled(x: Tensor, filters: int) -> Any:
    return conv_bn(AveragePooling2D(3, strides=1, padding="same")(x), filters, 1)


def _stem(x: Tensor) -> Any:
    x = conv_bn(conv_bn(x, 32, 3, strides=2, padding="valid"), 32, 3, padding="valid")
    x = MaxPooling2D(3, strides=2)(conv_bn(x, 64, 3))
    x = conv_bn(conv_bn(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    return MaxPooling2D(3, strides=2)(x)


def _module_35(x: Tensor, pooled: int, name: str) -> Any:
    """Adds a module for images of 35 by 35."""
    first = conv_bn(x, 64, 1)
    second = conv_bn(conv_bn(x, 48, 1), 64, 5)
    third = conv_bn(conv_bn(conv_bn(x, 64, 1), 96, 3), 96, 3)
    return _concatenated([first, second, third, _pooled(x, pooled)], name)


def _module_17(x: Tensor, filters: int, name: str) -> Any:
    """Adds a module for images of 17 by 17, with convolutions of 7 by 7 as pairs of 1 by 7 and 7 by 1."""
    first = conv_bn(x, 192, 1)
    second = conv_bn(conv_bn(conv_bn(x, filters, 1), filters, (1, 7)), 192, (7, 1))
    third = conv_bn(x, filters, 1)
    for kernel in ((7, 1), (1, 7), (7, 1)):
        third = conv_bn(third, filters, kernel)
    third = conv_bn(third, 192, (1, 7))
    return _concatenated([first, second, third, _pooled(x, 192)], name)


def _module_8(x: Tensor, name: str, inner: str) -> Any:
    """Adds a module for images of 8 by 8."""
    first = conv_bn(x, 320, 1)
    second = conv_bn(x, 384, 1)
    second = _concatenated([conv_bn(second, 384, (1, 3)), conv_bn(second, 384, (3, 1))], inner)
    third = conv_bn(conv_bn(x, 448, 1), 384, 3)
    third = _concatenated([conv_bn(third, 384, (1, 3)), conv_bn(third, 384, (3, 1))])
    return _concatenated([first, second, third, _pooled(x, 192)], name)


def _reduced_to_17(x: Tensor, name: str) -> Any:
    first = conv_bn(x, 384, 3, strides=2, padding="valid")
    second = conv_bn(conv_bn(conv_bn(x, 64, 1), 96, 3), 96, 3, strides=2, padding="valid")
    return _concatenated([first, second, MaxPooling2D(3, strides=2)(x)], name)


def _reduced_to_8(x: Tensor, name: str) -> Any:
    first = conv_bn(conv_bn(x, 192, 1), 320, 3, strides=2, padding="valid")
    second = conv_bn(conv_bn(conv_bn(x, 192, 1), 192, (1, 7)), 192, (7, 1))
    second = conv_bn(second, 192, 3, strides=2, padding="valid")
    return _concatenated([first, second, MaxPooling2D(3, strides=2)(x)], name)


@export("keras.applications.InceptionV3", "keras.applications.inception_v3.InceptionV3")
def InceptionV3(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network Inception v3 with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    image = arguments.image(299, 75)
    x = _stem(image)
    for number, pooled in enumerate((32, 64, 64)):
        x = _module_35(x, pooled, f"mixed{number}")
    x = _reduced_to_17(x, "mixed3")
    for number, filters in enumerate((128, 160, 160, 192), 4):
        x = _module_17(x, filters, f"mixed{number}")
    x = _reduced_to_8(x, "mixed8")
    for number in range(2):
        x = _module_8(x, f"mixed{9 + number}", f"mixed9_{number}")
    x = arguments.top(x) if include_top else arguments.pooled(x)
    return arguments.model(image, x, "inception_v3", _FILES)
