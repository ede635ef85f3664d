"""ResNet: blocks whose outputs are added to their inputs (He et al. 2015), and its second version with
normalization before convolutions (He et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, channel_axis, tf_kernels
from thalweg._src.keras.layers.convolutional import Conv2D
from thalweg._src.keras.layers.core import Activation
from thalweg._src.keras.layers.merge import Add
from thalweg._src.keras.layers.normalization import BatchNormalization
from thalweg._src.keras.layers.padding import ZeroPadding2D
from thalweg._src.keras.layers.pooling import MaxPooling2D

_FILTERS = (64, 128, 256, 512)
_FILES = {
    "resnet50": ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    "resnet101": ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    "resnet152": ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
    "resnet50v2": ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    "resnet101v2": ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    "resnet152v2": ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
}


def _normalized(x: Tensor, name: str, is_rectified: bool = True) -> Any:
    """Adds batch normalization and a rectifier, which are named after what they follow."""
    x = BatchNormalization(axis=channel_axis(), epsilon=1.001e-5, name=f"{name}_bn")(x)
    return Activation("relu", name=f"{name}_relu")(x) if is_rectified else x


def _block(x: Tensor, filters: int, strides: int, is_projected: bool, name: str) -> Any:
    """Adds a block of the first version, whose stride is that of its first convolution."""
    shortcut = x
    if is_projected:
        shortcut = Conv2D(4 * filters, 1, strides=strides, name=f"{name}_0_conv")(x)
        shortcut = _normalized(shortcut, f"{name}_0", is_rectified=False)
    x = _normalized(Conv2D(filters, 1, strides=strides, name=f"{name}_1_conv")(x), f"{name}_1")
    x = _normalized(Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x), f"{name}_2")
    x = _normalized(Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x), f"{name}_3", is_rectified=False)
    return Activation("relu", name=f"{name}_out")(Add(name=f"{name}_add")([shortcut, x]))


def _block_v2(x: Tensor, filters: int, strides: int, is_projected: bool, name: str) -> Any:
    """Adds a block of the second version, whose stride is that of its second convolution."""
    inner = _normalized(x, f"{name}_preact")
    if is_projected:
        shortcut = Conv2D(4 * filters, 1, strides=strides, name=f"{name}_0_conv")(inner)
    else:
        shortcut = MaxPooling2D(1, strides=strides)(x) if strides > 1 else x
    x = _normalized(Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(inner), f"{name}_1")
    x = ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = _normalized(Conv2D(filters, 3, strides=strides, use_bias=False, name=f"{name}_2_conv")(x), f"{name}_2")
    x = Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return Add(name=f"{name}_out")([shortcut, x])


def _network(name: str, blocks: Sequence[int], arguments: Arguments) -> Any:
    """Returns a network with the given number of blocks in each of its four stacks."""
    is_v2 = name.endswith("v2")
    image = arguments.image(224, 32)
    x = Conv2D(64, 7, strides=2, name="conv1_conv")(ZeroPadding2D(3, name="conv1_pad")(image))
    if not is_v2:
        x = _normalized(x, "conv1")
    x = MaxPooling2D(3, strides=2, name="pool1_pool")(ZeroPadding2D(1, name="pool1_pad")(x))
    for stack, (filters, count) in enumerate(zip(_FILTERS, blocks), 2):
        for number in range(1, count + 1):
            label = f"conv{stack}_block{number}"
            if is_v2:  # a stack halves images in its last block, but the last stack does not
                x = _block_v2(x, filters, 2 if number == count and stack < 5 else 1, number == 1, label)
            else:  # and here in the first one, but the first stack does not
                x = _block(x, filters, 2 if number == 1 and stack > 2 else 1, number == 1, label)
    if is_v2:
        x = _normalized(x, "post")
    return arguments.model(image, arguments.top(x), name, tf_kernels(name, *_FILES[name], folder="resnet"))


@export("keras.applications.ResNet50", "keras.applications.resnet.ResNet50", "keras.applications.resnet50.ResNet50")
def ResNet50(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network ResNet of 50 layers, with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("resnet50", (3, 4, 6, 3), arguments)


@export("keras.applications.ResNet101", "keras.applications.resnet.ResNet101")
def ResNet101(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network ResNet of 101 layers, with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("resnet101", (3, 4, 23, 3), arguments)


@export("keras.applications.ResNet152", "keras.applications.resnet.ResNet152")
def ResNet152(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network ResNet of 152 layers, with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("resnet152", (3, 8, 36, 3), arguments)


@export("keras.applications.ResNet50V2", "keras.applications.resnet_v2.ResNet50V2")
def ResNet50V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network ResNet of 50 layers in its second version, with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("resnet50v2", (3, 4, 6, 3), arguments)


@export("keras.applications.ResNet101V2", "keras.applications.resnet_v2.ResNet101V2")
def ResNet101V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network ResNet of 101 layers in its second version, with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("resnet101v2", (3, 4, 23, 3), arguments)


@export("keras.applications.ResNet152V2", "keras.applications.resnet_v2.ResNet152V2")
def ResNet152V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network ResNet of 152 layers in its second version, with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("resnet152v2", (3, 8, 36, 3), arguments)
