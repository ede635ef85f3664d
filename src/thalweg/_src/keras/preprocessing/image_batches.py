"""Batches of images in memory, each changed by a generator."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.preprocessing.image_files import Array, array_to_img, required_format
from thalweg._src.keras.utils.data_utils import Sequence as BatchSequence


@export("keras.preprocessing.image.Iterator")
class Iterator(BatchSequence):
    """Batches without end of examples with numbers, by their order or shuffled in each epoch.

    A subclass defines `_get_batches_of_transformed_samples`, which returns the batch of an array of numbers. The random
    numbers are those of NumPy; with a seed, they start anew for each batch.

    Args:
        n: Number of examples.
    """

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n = n
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.batch_index = 0
        self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Array | None = None
        self.index_generator = self._flow_index()

    def __len__(self) -> int:
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise ValueError(f"index: expected a number below {len(self)}, that of batches, received {index}")
        self._seed_batch()
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        assert self.index_array is not None
        rows = self.index_array[self.batch_size * index : self.batch_size * (index + 1)]
        return self._get_batches_of_transformed_samples(rows)

    def _seed_batch(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def on_epoch_end(self) -> None:
        """Chooses the order of the next epoch."""
        self._set_index_array()

    def reset(self) -> None:
        """Makes `next` begin a new epoch."""
        self.batch_index = 0

    def _flow_index(self) -> PythonIterator[Array]:
        while True:
            self._seed_batch()
            if self.batch_index == 0:
                self._set_index_array()
            assert self.index_array is not None
            start = self.batch_index * self.batch_size
            self.batch_index = self.batch_index + 1 if start + self.batch_size < self.n else 0
            self.total_batches_seen += 1
            yield self.index_array[start : start + self.batch_size]

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """Returns the next batch."""
        with self.lock:
            rows = next(self.index_generator)
        return self._get_batches_of_transformed_samples(rows)

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Any:
        raise TypeError(f"{type(self).__name__} must define _get_batches_of_transformed_samples")

    def __getstate__(self) -> dict[str, Any]:
        """Returns what another process gets: neither a lock nor a generator can be sent."""
        return {name: value for name, value in vars(self).items() if name not in ("lock", "index_generator")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=threading.Lock())
        self.index_generator = self._flow_index()


def save_images(images: Array, rows: Array, data_format: str, folder: str, prefix: str, kind: str, most: int) -> None:
    """Saves the images of a batch, under names with a random part below `most`."""
    for image, row in zip(images, rows):
        name = f"{prefix}_{row}_{np.random.randint(most)}.{kind}"
        array_to_img(image, data_format, scale=True).save(os.path.join(folder, name))


@export("keras.preprocessing.image.NumpyArrayIterator")
class NumpyArrayIterator(Iterator):
    """Batches of an array of images, with targets and weights."""

    def __init__(
        self,
        x: np.ndarray[Any, Any],
        y: np.ndarray[Any, Any],
        image_data_generator: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: np.ndarray[Any, Any] | None = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        self.dtype = dtype or floatx()
        self.data_format = required_format(data_format)
        if isinstance(x, tuple | list) and len(x) < 2:
            raise ValueError(f"x: expected images, or images and further arrays, received {len(x)} values")
        further: Any
        images, further = (x[0], x[1]) if isinstance(x, tuple | list) else (x, [])
        further = [np.asarray(values) for values in (further if isinstance(further, list) else [further])]
        columns = [*further, *(None if column is None else np.asarray(column) for column in (y, sample_weight))]
        for column in columns:
            if column is not None and len(column) != len(images):
                raise ValueError(
                    f"expected as many values as images, {len(images)}, received an array of {column.shape}"
                )
        if subset is not None:
            chosen = _subset(subset, len(images), image_data_generator, columns[-2])
            images = images[chosen]
            columns = [None if column is None else column[chosen] for column in columns]
        self.x: Array = np.asarray(images, dtype=self.dtype)
        *self.x_misc, self.y, self.sample_weight = columns
        if self.x.ndim != 4:
            raise ValueError(f"x: expected images, of rank 4, received shape {self.x.shape}")
        channels = self.x.shape[3 if self.data_format == "channels_last" else 1]
        if channels not in (1, 3, 4):
            logging.warning("images of shape %s have %s channels, expected 1, 3 or 4", self.x.shape, channels)
        self.image_data_generator = image_data_generator
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Any:
        generator = self.image_data_generator
        images = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for place, row in enumerate(index_array):
            changes = generator.get_random_transform(self.x.shape[1:])
            images[place] = generator.standardize(generator.apply_transform(self.x[row].copy(), changes))
        if self.save_to_dir:
            save_images(
                images, index_array, self.data_format, self.save_to_dir, self.save_prefix, self.save_format, 10_000
            )
        inputs = [images, *(column[index_array] for column in self.x_misc)] if self.x_misc else images
        if self.y is None:
            return inputs
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (inputs, self.y[index_array], *weights)


def _subset(subset: str, count: int, generator: Any, targets: np.ndarray[Any, Any]) -> slice:
    """Returns which images are for training, or for validation."""
    if subset not in ("training", "validation"):
        raise ValueError(f'subset: expected "training" or "validation", received {subset!r}')
    at = int(count * generator._validation_split)
    if targets is not None and not np.array_equal(np.unique(targets[:at]), np.unique(targets[at:])):
        raise ValueError(
            "Training and validation subsets have different number of classes after the split: shuffle the arrays first"
        )
    return slice(at) if subset == "validation" else slice(at, None)
