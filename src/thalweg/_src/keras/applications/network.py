"""What the networks have in common: input, classifier, convolutions with normalization, and files of weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from thalweg._src.base import logging
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.keras.engine.input_layer import Input
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.engine.node import has_history
from thalweg._src.keras.engine.source_inputs import get_source_inputs
from thalweg._src.keras.layers.convolutional import Conv2D
from thalweg._src.keras.layers.core import Activation, Dense
from thalweg._src.keras.layers.normalization import BatchNormalization
from thalweg._src.keras.layers.pooling import GlobalAveragePooling2D, GlobalMaxPooling2D
from thalweg._src.keras.utils.cached_files import get_file

URL = "https://storage.googleapis.com/tensorflow/keras-applications/"
Size = int | tuple[int, int]


class WeightFile(NamedTuple):
    """The file of weights of a network: its name in the cache, its place below `URL`, and its hash."""

    name: str
    place: str
    hash: str | None = None


class Arguments(NamedTuple):
    """What all networks can be asked for, under the names of their parameters."""

    include_top: bool
    weights: str | None
    input_tensor: Any
    input_shape: Sequence[int | None] | None
    pooling: str | None
    classes: int

    def image(self, default_size: int, min_size: int, fixed_size: bool | None = None) -> Any:
        """Returns the symbolic image that a network begins with.

        fixed_size: whether the classifier needs images of a known size; by default, whether there is one
        """
        weights, classes = self.weights, self.classes
        if weights is not None and weights != "imagenet" and not os.path.exists(weights):
            raise ValueError(
                f'weights: expected None for random ones, "imagenet", or the path of a file, received {weights!r}, '
                "which does not exist"
            )
        if weights == "imagenet" and self.include_top and classes != 1000:
            raise ValueError(
                f'classes: with weights="imagenet" and include_top=True there are 1000, received {classes}; pass '
                "include_top=False and add a classifier"
            )
        if self.pooling not in (None, "avg", "max"):
            raise ValueError(f'pooling: expected None, "avg" or "max", received {self.pooling!r}')
        shape = self._shape(default_size, min_size, self.include_top if fixed_size is None else fixed_size)
        if self.input_tensor is None:
            return Input(shape)
        return self.input_tensor if has_history(self.input_tensor) else Input(shape, tensor=self.input_tensor)

    def _shape(self, default_size: int, min_size: int, fixed_size: bool) -> tuple[int | None, ...]:
        shape = None if self.input_shape is None else tuple(self.input_shape)
        if shape is None:
            size = default_size if fixed_size else None
            return (3, size, size) if channels_first() else (size, size, 3)
        if len(shape) != 3:
            raise ValueError(f"input_shape: expected two sizes and the number of channels, received {shape}")
        channels, sizes = (shape[0], shape[1:]) if channels_first() else (shape[-1], shape[:-1])
        if self.weights == "imagenet":
            if channels != 3:
                raise ValueError(f'input_shape: weights="imagenet" are for 3 channels, received {shape}')
            if fixed_size and sizes != (default_size, default_size):
                raise ValueError(
                    f'input_shape: with weights="imagenet" and include_top=True the sizes are {default_size}, '
                    f"received {shape}"
                )
        elif channels not in (1, 3):
            logging.warning("input_shape %s has %s channels, images usually have 1 or 3", shape, channels)
        if any(size is not None and size < min_size for size in sizes):
            raise ValueError(f"input_shape: expected sizes of at least {min_size}, received {shape}")
        if fixed_size and None in sizes:
            raise ValueError(f"input_shape: expected known sizes with include_top=True, received {shape}")
        return shape

    def top(self, x: Tensor, named: bool = True) -> Any:
        """Adds the classifier or, without it, the pooling that was asked for.

        named: whether that pooling is called as the one of the classifier, not by its class
        """
        if self.include_top:
            return Dense(self.classes, activation="softmax", name="predictions")(
                GlobalAveragePooling2D(name="avg_pool" if named else None)(x)
            )
        return self.pooled(x, named)

    def pooled(self, x: Tensor, named: bool = False) -> Any:
        """Adds the pooling that was asked for in the place of a classifier."""
        if self.pooling is None:
            return x
        kind = GlobalAveragePooling2D if self.pooling == "avg" else GlobalMaxPooling2D
        return kind(name=f"{self.pooling}_pool" if named else None)(x)

    def model(self, image: Tensor, outputs: Tensor, name: str, files: Sequence[WeightFile]) -> Model:
        """Returns the model, with its weights.

        files: the weights of ImageNet with the classifier, and without it
        """
        inputs = image if self.input_tensor is None else get_source_inputs(self.input_tensor)
        model = Model(inputs, outputs, name=name)
        if self.weights == "imagenet":
            file = files[0 if self.include_top else 1]
            model.load_weights(get_file(file.name, URL + file.place, cache_subdir="models", file_hash=file.hash))
        elif self.weights is not None:
            model.load_weights(self.weights)
        return model


def tf_kernels(network: str, with_top: str, without_top: str, folder: str | None = None) -> list[WeightFile]:
    """Returns the files of a network whose files have the usual names, given their hashes."""
    names = [f"{network}_weights_tf_dim_ordering_tf_kernels{end}.h5" for end in ("", "_notop")]
    hashes = (with_top, without_top)
    return [WeightFile(name, f"{folder or network}/{name}", file_hash) for name, file_hash in zip(names, hashes)]


def channels_first() -> bool:
    """Returns whether images have their channels first."""
    return image_data_format() == "channels_first"


def channel_axis() -> int:
    """Returns the axis of the channels."""
    return 1 if channels_first() else 3


def sizes_of(x: Tensor) -> tuple[int | None, int | None]:
    """Returns height and width of images."""
    height, width = x.shape.as_list()[2:] if channels_first() else x.shape.as_list()[1:-1]
    return height, width


def strided_padding(x: Tensor, kernel: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns what a convolution with stride 2 pads so that windows lie as in networks trained elsewhere."""
    half = kernel // 2
    height, width = ((half - (1 if size is None or size % 2 == 0 else 0), half) for size in sizes_of(x))
    return height, width


def conv_bn(
    x: Tensor, filters: int, kernel: Size, strides: Size = 1, padding: str = "same", name: str | None = None
) -> Any:
    """Adds a convolution without bias, batch normalization without scale, and a rectifier."""
    x = Conv2D(filters, kernel, strides=strides, padding=padding, use_bias=False, name=name)(x)
    x = BatchNormalization(axis=channel_axis(), scale=False, name=name and f"{name}_bn")(x)
    return Activation("relu", name=name and f"{name}_ac")(x)
