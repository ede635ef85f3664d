"""MobileNet: depthwise and pointwise convolutions in turn (Howard et al. 2017), and its second version with
shortcuts between narrow layers (Sandler et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import (
    Arguments,
    WeightFile,
    channel_axis,
    channels_first,
    sizes_of,
    strided_padding,
)
from thalweg._src.keras.layers.advanced_activations import ReLU
from thalweg._src.keras.layers.convolutional import Conv2D, DepthwiseConv2D
from thalweg._src.keras.layers.core import Activation, Dropout, Reshape
from thalweg._src.keras.layers.merge import Add
from thalweg._src.keras.layers.normalization import BatchNormalization
from thalweg._src.keras.layers.padding import ZeroPadding2D
from thalweg._src.keras.layers.pooling import GlobalAveragePooling2D

_BLOCKS = (  # the filters and the stride of each pair of convolutions
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1)),
    *((1024, 2), (1024, 1)),
)
_BLOCKS_V2 = (  # the filters, the stride of the first block, and the number of blocks
    *((24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1)),
)
_ALPHAS = {0.25: "2_5", 0.5: "5_0", 0.75: "7_5", 1.0: "1_0"}  # as names of files have them
_ALPHAS_V2 = (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)


def _weight_size(arguments: Arguments, image: Tensor, sizes: Sequence[int], default: int | None) -> int | None:
    """Returns the size of images that weights of ImageNet were trained for; without such weights that of the image."""
    height, width = sizes_of(image)
    if arguments.weights != "imagenet" or (height == width and height in sizes):
        return height
    logging.warning("there are weights for images of sizes %s, those for 224 are loaded", sizes)
    return default


def _default_size(shape: Sequence[int | None] | None, sizes: Sequence[int]) -> int:
    """Returns the size of images that a network is made for: that of the shape, if there are weights for it."""
    height, width = (None, None) if shape is None else tuple(shape)[1:] if channels_first() else tuple(shape)[:2]
    return height if height is not None and height == width and height in sizes else 224


def _rectified(x: Tensor, name: str, normalization: str, momentum: float = 0.99) -> Any:
    x = BatchNormalization(axis=channel_axis(), momentum=momentum, name=normalization)(x)
    return ReLU(6.0, name=f"{name}_relu")(x)


@export("keras.applications.MobileNet", "keras.applications.mobilenet.MobileNet")
def MobileNet(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network MobileNet with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    if weights == "imagenet" and (depth_multiplier != 1 or alpha not in _ALPHAS):
        raise ValueError(
            f'weights="imagenet" are for depth_multiplier=1 and alpha of {", ".join(map(str, _ALPHAS))}, received '
            f"depth_multiplier={depth_multiplier} and alpha={alpha}"
        )
    sizes = (128, 160, 192, 224)
    image = arguments.image(_default_size(input_shape, sizes), 32)
    rows = _weight_size(arguments, image, sizes, 224)
    x = Conv2D(int(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="conv1")(image)
    x = _rectified(x, "conv1", "conv1_bn")
    for number, (filters, strides) in enumerate(_BLOCKS, 1):
        name, padding = f"conv_dw_{number}", "same"
        if strides == 2:
            x, padding = ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x), "valid"
        x = DepthwiseConv2D(
            3, strides=strides, padding=padding, depth_multiplier=depth_multiplier, use_bias=False, name=name
        )(x)
        x = _rectified(x, name, f"{name}_bn")
        name = f"conv_pw_{number}"
        x = Conv2D(int(filters * alpha), 1, padding="same", use_bias=False, name=name)(x)
        x = _rectified(x, name, f"{name}_bn")
    if include_top:
        x = GlobalAveragePooling2D()(x)
        channels = x.shape.as_list()[1]
        x = Reshape((channels, 1, 1) if channels_first() else (1, 1, channels), name="reshape_1")(x)
        x = Conv2D(classes, 1, padding="same", name="conv_preds")(Dropout(dropout, name="dropout")(x))
        x = Activation("softmax", name="predictions")(Reshape((classes,), name="reshape_2")(x))
    else:
        x = arguments.pooled(x)
    files = [f"mobilenet_{_ALPHAS.get(alpha)}_{rows}_tf{end}.h5" for end in ("", "_no_top")]
    weight_files = [WeightFile(file, f"mobilenet/{file}") for file in files]
    return arguments.model(image, x, f"mobilenet_{alpha:.2f}_{rows}", weight_files)


def _divisible(channels: float) -> int:
    """Returns the multiple of 8 next to a number of channels that is not below 9 tenths of it."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near if near >= 0.9 * channels else near + 8


def _block_v2(x: Any, filters: int, strides: int, name: str) -> Any:
    """Adds a block of the second version: expand, convolve each channel, project; the first block does not expand."""
    channels = x.shape.as_list()[channel_axis()]
    inner = x
    if name != "expanded_conv":
        inner = Conv2D(6 * channels, 1, padding="same", use_bias=False, name=f"{name}_expand")(x)
        inner = _rectified(inner, f"{name}_expand", f"{name}_expand_BN", 0.999)
    padding = "same"
    if strides == 2:
        inner, padding = ZeroPadding2D(strided_padding(inner, 3), name=f"{name}_pad")(inner), "valid"
    inner = DepthwiseConv2D(3, strides=strides, padding=padding, use_bias=False, name=f"{name}_depthwise")(inner)
    inner = _rectified(inner, f"{name}_depthwise", f"{name}_depthwise_BN", 0.999)
    inner = Conv2D(filters, 1, padding="same", use_bias=False, name=f"{name}_project")(inner)
    inner = BatchNormalization(axis=channel_axis(), momentum=0.999, name=f"{name}_project_BN")(inner)
    return Add(name=f"{name}_add")([x, inner]) if channels == filters and strides == 1 else inner


@export("keras.applications.MobileNetV2", "keras.applications.mobilenet_v2.MobileNetV2")
def MobileNetV2(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network MobileNet in its second version with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    if weights == "imagenet" and alpha not in _ALPHAS_V2:
        raise ValueError(f'weights="imagenet" are for alpha of {", ".join(map(str, _ALPHAS_V2))}, received {alpha}')
    sizes = (96, 128, 160, 192, 224)
    image = arguments.image(_default_size(input_shape, sizes), 32)
    rows = _weight_size(arguments, image, sizes, 224)
    x = Conv2D(_divisible(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1")(image)
    x = _rectified(x, "Conv1", "bn_Conv1", 0.999)
    x = _block_v2(x, _divisible(16 * alpha), 1, "expanded_conv")
    number = 0
    for filters, strides, count in _BLOCKS_V2:
        for index in range(count):
            number += 1
            x = _block_v2(x, _divisible(filters * alpha), strides if index == 0 else 1, f"block_{number}")
    x = Conv2D(_divisible(1280 * max(alpha, 1.0)), 1, use_bias=False, name="Conv_1")(x)
    x = _rectified(x, "out", "Conv_1_bn", 0.999)
    files = [
        f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{rows}{end}.h5" for end in ("", "_no_top")
    ]
    weight_files = [WeightFile(file, f"mobilenet_v2/{file}") for file in files]
    return arguments.model(image, arguments.top(x, named=False), f"mobilenetv2_{alpha:.2f}_{rows}", weight_files)
