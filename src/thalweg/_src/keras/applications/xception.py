"""Xception: separable convolutions with shortcuts (Chollet 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, channel_axis, tf_kernels
from thalweg._src.keras.layers.convolutional import Conv2D, SeparableConv2D
from thalweg._src.keras.layers.core import Activation
from thalweg._src.keras.layers.merge import Add
from thalweg._src.keras.layers.normalization import BatchNormalization
from thalweg._src.keras.layers.pooling import MaxPooling2D

_FILES = tf_kernels("xception", "0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97")


def _normalized(x: Tensor, name: str | None = None) -> Any:
    return BatchNormalization(axis=channel_axis(), name=name)(x)


def _rectified(x: Tensor, name: str) -> Any:
    return Activation("relu", name=f"{name}_act")(x)


def _separable(x: Tensor, filters: int, name: str) -> Any:
    return _normalized(SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x), f"{name}_bn")


def _entry(x: Tensor, block: int, filters: Sequence[int], is_rectified: bool = True) -> Any:
    """Adds a block of two convolutions that halves images."""
    shortcut = Conv2D(filters[-1], 1, strides=2, padding="same", use_bias=False)(x)
    shortcut = _normalized(shortcut)
    for number, width in enumerate(filters, 1):
        name = f"block{block}_sepconv{number}"
        x = _separable(_rectified(x, name) if is_rectified or number > 1 else x, width, name)
    x = MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
    return Add()([x, shortcut])


def _middle(x: Tensor, block: int) -> Any:
    """Adds a block of three convolutions that keeps the size of images."""
    shortcut = x
    for number in range(1, 4):
        name = f"block{block}_sepconv{number}"
        x = _separable(_rectified(x, name), 728, name)
    return Add()([x, shortcut])


@export("keras.applications.Xception", "keras.applications.xception.Xception")
def Xception(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network Xception with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    x = image = arguments.image(299, 71)
    for name, filters, strides in (("block1_conv1", 32, 2), ("block1_conv2", 64, 1)):
        x = _normalized(Conv2D(filters, 3, strides=strides, use_bias=False, name=name)(x), f"{name}_bn")
        x = _rectified(x, name)
    x = _entry(x, 2, (128, 128), is_rectified=False)
    x = _entry(_entry(x, 3, (256, 256)), 4, (728, 728))
    for block in range(5, 13):
        x = _middle(x, block)
    x = _entry(x, 13, (728, 1024))
    for name, filters in (("block14_sepconv1", 1536), ("block14_sepconv2", 2048)):
        x = _rectified(_separable(x, filters, name), name)
    x = arguments.top(x) if include_top else arguments.pooled(x)
    return arguments.model(image, x, "xception", _FILES)
