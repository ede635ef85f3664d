"""ImageDataGenerator: images that are normalized, and changed at random, while a model trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.preprocessing.image_batches import NumpyArrayIterator
from thalweg._src.keras.preprocessing.image_files import Array, required_format
from thalweg._src.keras.preprocessing.image_folders import DataFrameIterator, DirectoryIterator
from thalweg._src.keras.preprocessing.image_transforms import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    random_factors,
    require_pair,
)

_EPSILON = 1e-6  # is added to standard deviations


@export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Makes batches of images, each of which is changed at random and then normalized."""

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: float | Sequence[float] = 0.0,
        height_shift_range: float | Sequence[float] = 0.0,
        brightness_range: Sequence[float] | None = None,
        shear_range: float = 0.0,
        zoom_range: float | Sequence[float] = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1, received {validation_split}")
        # Whitening and division by deviations are of values about zero.
        self.featurewise_center = featurewise_center or featurewise_std_normalization or zca_whitening
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening = zca_whitening
        self.zca_epsilon = zca_epsilon
        self.rotation_range = rotation_range
        self.width_shift_range = width_shift_range
        self.height_shift_range = height_shift_range
        if brightness_range is not None:
            require_pair(brightness_range, "brightness_range")
        self.brightness_range = brightness_range
        self.shear_range = shear_range
        self.zoom_range: Sequence[float] = (
            [1 - zoom_range, 1 + zoom_range]
            if isinstance(zoom_range, float | int)
            else require_pair(zoom_range, "zoom_range")
        )
        self.channel_shift_range = channel_shift_range
        self.fill_mode = fill_mode
        self.cval = cval
        self.horizontal_flip = horizontal_flip
        self.vertical_flip = vertical_flip
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.data_format = required_format(data_format)
        self.dtype = dtype or floatx()
        self._validation_split = validation_split
        self.channel_axis, self.row_axis, self.col_axis = (
            (1, 2, 3) if self.data_format == "channels_first" else (3, 1, 2)
        )
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None

    # -- batches ------------------------------------------------------------------------------------------------------

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Returns batches of images in memory."""
        return NumpyArrayIterator(
            *(x, y, self, batch_size, shuffle, sample_weight, seed, self.data_format),
            *(save_to_dir, save_prefix, save_format, subset, self.dtype),
        )

    def flow_from_directory(
        self,
        directory: str,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
    ) -> DirectoryIterator:
        """Returns batches of the images of a folder, whose folders are the classes."""
        return DirectoryIterator(
            *(directory, self, target_size, color_mode, classes, class_mode, batch_size, shuffle, seed),
            *(self.data_format, save_to_dir, save_prefix, save_format, follow_links, subset, interpolation),
            self.dtype,
        )

    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: str | None = None,
        x_col: str = "filename",
        y_col: str | Sequence[str] = "class",
        weight_col: str | None = None,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
        **kwargs: Any,
    ) -> DataFrameIterator:
        """Returns batches of the images that a table names, with targets of its other columns."""
        for name in kwargs:
            if name not in ("has_ext", "sort", "drop_duplicates"):
                raise TypeError(f"flow_from_dataframe has no parameter {name!r}")
            logging.warning("flow_from_dataframe: %s is deprecated and has no effect", name)
        return DataFrameIterator(
            dataframe,
            directory,
            self,
            x_col=x_col,
            y_col=y_col,
            weight_col=weight_col,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode="raw" if class_mode == "other" else class_mode,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            interpolation=interpolation,
            dtype=self.dtype,
            validate_filenames=validate_filenames,
        )

    # -- one image ----------------------------------------------------------------------------------------------------

    def standardize(self, x: Array) -> Array:
        """Returns an image as a model gets it: preprocessed, rescaled and normalized; the array is changed."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + _EPSILON
        if self.featurewise_center and self._is_known(self.mean, "featurewise_center"):
            x -= self.mean
        if self.featurewise_std_normalization and self._is_known(self.std, "featurewise_std_normalization"):
            x /= self.std + _EPSILON
        if self.zca_whitening and self._is_known(self.principal_components, "zca_whitening"):
            x = (x.reshape(-1, np.prod(x.shape[-3:])) @ self.principal_components).reshape(x.shape)
        return x

    def _is_known(self, value: Any, name: str) -> bool:
        if value is None:
            logging.warning(
                "This ImageDataGenerator specifies `%s`, but it hasn't been fit on any training data: call `fit` first",
                name,
            )
        return value is not None

    def get_random_transform(self, img_shape: Sequence[int], seed: int | None = None) -> dict[str, Any]:
        """Returns random changes of an image; equal random numbers give those of Keras."""
        if seed is not None:
            np.random.seed(seed)
        theta = _symmetric(self.rotation_range)
        tx = _shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = _symmetric(self.shear_range)
        zx, zy = random_factors(self.zoom_range)
        flips = [
            bool(np.random.random() < 0.5 and is_enabled) for is_enabled in (self.horizontal_flip, self.vertical_flip)
        ]
        intensity = _symmetric(self.channel_shift_range) if self.channel_shift_range else None
        low, high = self.brightness_range or (0, 0)
        brightness = None if self.brightness_range is None else np.random.uniform(low, high)
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": flips[0],
            "flip_vertical": flips[1],
            "channel_shift_intensity": intensity,
            "brightness": brightness,
        }

    def apply_transform(self, x: Array, transform_parameters: dict[str, Any]) -> Array:
        """Returns an image with the changes of `get_random_transform`."""
        row, column, channel = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        parameter = transform_parameters.get
        x = apply_affine_transform(
            *(
                x,
                parameter("theta", 0),
                parameter("tx", 0),
                parameter("ty", 0),
                parameter("shear", 0),
                parameter("zx", 1),
                parameter("zy", 1),
            ),
            *(row, column, channel, self.fill_mode, self.cval),
        )
        if (intensity := parameter("channel_shift_intensity")) is not None:
            x = apply_channel_shift(x, intensity, channel)
        if parameter("flip_horizontal"):
            x = np.flip(x, column)
        if parameter("flip_vertical"):
            x = np.flip(x, row)
        if (brightness := parameter("brightness")) is not None:
            x = apply_brightness_shift(x, brightness, scale=False)
        return x

    def random_transform(self, x: Array, seed: int | None = None) -> Array:
        """Returns an image with random changes."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    # -- statistics ---------------------------------------------------------------------------------------------------

    def fit(self, x: np.ndarray[Any, Any], augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Computes what normalization by features needs: mean, deviation and principal components of examples."""
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"x: expected images, of rank 4, received shape {x.shape}")
        if x.shape[self.channel_axis] not in (1, 3, 4):
            logging.warning("images of shape %s: expected 1, 3 or 4 channels", x.shape)
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x]).astype(self.dtype)
        places = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(x, axis=places, keepdims=True)[0]
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=places, keepdims=True)[0]
            x /= self.std + _EPSILON
        if self.zca_whitening:
            flat = x.reshape(len(x), -1)
            vectors, values, _ = np.linalg.svd(flat.T @ flat / len(flat))
            self.principal_components = (vectors / np.sqrt(values + self.zca_epsilon)) @ vectors.T


def _symmetric(limit: float) -> float:
    """Returns a random number between -limit and limit; a limit of 0 needs none."""
    return np.random.uniform(-limit, limit) if limit else 0


def _shift(limit: Any, size: int) -> float:
    """Returns a random shift: of a list with either sign, or up to a limit; numbers below 1 are fractions of a size."""
    if not np.any(limit):
        return 0
    if np.ndim(limit) or (isinstance(limit, int | np.integer) and limit > 0):  # an integer stands for all below it
        shift = np.random.choice(limit) * np.random.choice([-1, 1])
    else:
        shift = np.random.uniform(-limit, limit)
    return float(shift * size if np.max(limit) < 1 else shift)
