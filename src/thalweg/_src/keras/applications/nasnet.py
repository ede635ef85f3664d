"""NASNet: cells that a search has found, of which normal ones keep and others reduce the size (Zoph et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, WeightFile, channel_axis, sizes_of, strided_padding
from thalweg._src.keras.layers.convolutional import Conv2D, SeparableConv2D
from thalweg._src.keras.layers.core import Activation
from thalweg._src.keras.layers.merge import Add, Concatenate
from thalweg._src.keras.layers.normalization import BatchNormalization
from thalweg._src.keras.layers.padding import Cropping2D, ZeroPadding2D
from thalweg._src.keras.layers.pooling import AveragePooling2D, MaxPooling2D

_FILES = {
    "mobile": ("020fb642bf7360b370c678b08e0adf61", "1ed92395b5b598bdda52abe5c0dbfd63"),
    "large": ("11577c9a518f0070763c2b964a382f17", "d81d89dc07e6e56530c4e77faddd61b5"),
}


def _normalized(x: Tensor, name: str) -> Any:
    return BatchNormalization(axis=channel_axis(), momentum=0.9997, epsilon=1e-3, name=name)(x)


def _projected(x: Tensor, filters: int, name: str) -> Any:
    return Conv2D(filters, 1, padding="same", use_bias=False, name=name)(x)


def _separable(x: Tensor, filters: int, kernel: int, name: str, strides: int = 1) -> Any:
    """Adds two separable convolutions, each after a rectifier and before normalization."""
    x, padding = Activation("relu")(x), "same"
    if strides == 2:
        x, padding = ZeroPadding2D(strided_padding(x, kernel), name=f"separable_conv_1_pad_{name}")(x), "valid"
    x = SeparableConv2D(
        filters, kernel, strides=strides, padding=padding, use_bias=False, name=f"separable_conv_1_{name}"
    )(x)
    x = Activation("relu")(_normalized(x, f"separable_conv_1_bn_{name}"))
    x = SeparableConv2D(filters, kernel, padding="same", use_bias=False, name=f"separable_conv_2_{name}")(x)
    return _normalized(x, f"separable_conv_2_bn_{name}")


def _adjusted(previous: Tensor | None, x: Tensor, filters: int, name: str) -> Any:
    """Returns the input of the cell before in the size of the input of this one, and with its number of channels."""
    if previous is None:
        return x
    if sizes_of(previous) != sizes_of(x):
        rectified = Activation("relu", name=f"adjust_relu_1_{name}")(previous)
        shifted = Cropping2D(((1, 0), (1, 0)))(ZeroPadding2D(((0, 1), (0, 1)))(rectified))
        halves = []
        for number, half in enumerate((rectified, shifted), 1):
            pooled = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{number}_{name}")(half)
            halves.append(_projected(pooled, filters // 2, f"adjust_conv_{number}_{name}"))
        return _normalized(Concatenate(axis=channel_axis())(halves), f"adjust_bn_{name}")
    if previous.shape.as_list()[channel_axis()] != filters:
        rectified = Activation("relu")(previous)
        return _normalized(_projected(rectified, filters, f"adjust_conv_projection_{name}"), f"adjust_bn_{name}")
    return previous


def _normal(x: Tensor, previous: Tensor | None, filters: int, name: str) -> Any:
    """Adds a cell that keeps the size of images."""
    p = _adjusted(previous, x, filters, name)
    h = _projected(Activation("relu")(x), filters, f"normal_conv_1_{name}")
    h = _normalized(h, f"normal_bn_1_{name}")

    def pooled(x: Tensor, side: str) -> Any:
        return AveragePooling2D(3, strides=1, padding="same", name=f"normal_{side}_{name}")(x)

    def separable(x: Tensor, kernel: int, side: str) -> Any:
        return _separable(x, filters, kernel, f"normal_{side}_{name}")

    pairs = [
        [separable(h, 5, "left1"), separable(p, 3, "right1")],
        [separable(p, 5, "left2"), separable(p, 3, "right2")],
        [pooled(h, "left3"), p],
        [pooled(p, "left4"), pooled(p, "right4")],
        [separable(h, 3, "left5"), h],
    ]
    sums = [Add(name=f"normal_add_{number}_{name}")(pair) for number, pair in enumerate(pairs, 1)]
    return Concatenate(axis=channel_axis(), name=f"normal_concat_{name}")([p, *sums])


def _reduction(x: Tensor, previous: Tensor | None, filters: int, name: str) -> Any:
    """Adds a cell that halves the size of images."""
    p = _adjusted(previous, x, filters, name)
    h = _projected(Activation("relu")(x), filters, f"reduction_conv_1_{name}")
    h = _normalized(h, f"reduction_bn_1_{name}")
    padded = ZeroPadding2D(strided_padding(h, 3), name=f"reduction_pad_1_{name}")(h)

    def separable(x: Tensor, kernel: int, side: str, strides: int = 2) -> Any:
        return _separable(x, filters, kernel, f"reduction_{side}_{name}", strides)

    def pooled(kind: Any, side: str) -> Any:
        return kind(3, strides=2, name=f"reduction_{side}_{name}")(padded)

    first = Add(name=f"reduction_add_1_{name}")([separable(h, 5, "left1"), separable(p, 7, "right1")])
    second = Add(name=f"reduction_add_2_{name}")([pooled(MaxPooling2D, "left2"), separable(p, 7, "right2")])
    third = Add(name=f"reduction_add3_{name}")([pooled(AveragePooling2D, "left3"), separable(p, 5, "right3")])
    fourth = AveragePooling2D(3, strides=1, padding="same", name=f"reduction_left4_{name}")(first)
    fourth = Add()([second, fourth])
    fifth = [separable(first, 3, "left4", strides=1), pooled(MaxPooling2D, "right5")]
    last = Add(name=f"reduction_add4_{name}")(fifth)
    return Concatenate(axis=channel_axis(), name=f"reduction_concat_{name}")([second, third, fourth, last])


def _network(kind: str, stem: int, filters: int, blocks: int, size: int, arguments: Arguments) -> Any:
    """Returns a network.

    filters: those of the first normal cells, which each reduction doubles
    blocks: the number of normal cells before, between and after both reductions
    """
    is_large = kind == "large"
    image = arguments.image(size, 32)
    x = _normalized(Conv2D(stem, 3, strides=2, use_bias=False, name="stem_conv1")(image), "stem_bn1")
    previous = None
    for number, divisor in ((1, 4), (2, 2)):
        x, previous = _reduction(x, previous, filters // divisor, f"stem_{number}"), x
    for stage in range(3):
        start = stage * blocks
        if stage:
            reduced = _reduction(x, previous, filters * 2**stage, f"reduce_{start}")
            x, previous = reduced, previous if is_large else x  # the large network skips the input of a reduction
        for number in range(blocks):
            index = start + number + (1 if stage else 0)
            x, previous = _normal(x, previous, filters * 2**stage, str(index)), x
    x = arguments.top(Activation("relu")(x), named=False)
    files = [
        WeightFile(f"nasnet_{kind}{end}.h5", f"nasnet/NASNet-{kind}{end.replace('_', '-')}.h5", file_hash)
        for end, file_hash in zip(("", "_no_top"), _FILES[kind])
    ]
    return arguments.model(image, x, "NASNet", files)


@export("keras.applications.NASNetMobile", "keras.applications.nasnet.NASNetMobile")
def NASNetMobile(
    input_shape: Sequence[int | None] | None = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the small network NASNet with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("mobile", 32, 44, 4, 224, arguments)


@export("keras.applications.NASNetLarge", "keras.applications.nasnet.NASNetLarge")
def NASNetLarge(
    input_shape: Sequence[int | None] | None = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the large network NASNet with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("large", 96, 168, 6, 331, arguments)
