"""VGG: convolutions of 3 by 3 in blocks, each of which ends with a pooling (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.applications.network import Arguments, tf_kernels
from thalweg._src.keras.layers.convolutional import Conv2D
from thalweg._src.keras.layers.core import Dense, Flatten
from thalweg._src.keras.layers.pooling import MaxPooling2D

_FILTERS = (64, 128, 256, 512, 512)
_FILES = {
    "vgg16": ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"),
    "vgg19": ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"),
}


def _network(name: str, convolutions: Sequence[int], arguments: Arguments) -> Any:
    """Returns a network with the given number of convolutions in each block."""
    x = image = arguments.image(224, 32)
    for block, (filters, count) in enumerate(zip(_FILTERS, convolutions), 1):
        for number in range(1, count + 1):
            x = Conv2D(filters, 3, activation="relu", padding="same", name=f"block{block}_conv{number}")(x)
        x = MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if arguments.include_top:
        x = Flatten(name="flatten")(x)
        for layer in ("fc1", "fc2"):
            x = Dense(4096, activation="relu", name=layer)(x)
        x = Dense(arguments.classes, activation="softmax", name="predictions")(x)
    else:
        x = arguments.pooled(x)
    return arguments.model(image, x, name, tf_kernels(name, *_FILES[name]))


@export("keras.applications.VGG16", "keras.applications.vgg16.VGG16")
def VGG16(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network VGG of 16 layers with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("vgg16", (2, 2, 3, 3, 3), arguments)


@export("keras.applications.VGG19", "keras.applications.vgg19.VGG19")
def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Returns the network VGG of 19 layers with weights."""
    arguments = Arguments(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network("vgg19", (2, 2, 4, 4, 4), arguments)
