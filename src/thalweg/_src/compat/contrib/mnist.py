"""The MNIST data set of TensorFlow's tutorials, read from local files; nothing is downloaded."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base.dtypes import DTypeLike, as_dtype, float32, uint8
from thalweg._src.base.errors import DataLossError, NotFoundError, describe, invalid
from thalweg._src.base.export import export
from thalweg._src.base.formats.proportion import read_gzip
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.seeds import get_seed

_FILES = (
    *("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    *("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
_SPACES = ("examples.tutorials.mnist.input_data.", "contrib.learn.datasets.mnist.")


@export(*(f"{space}DataSet" for space in _SPACES))
class DataSet:
    """Images with their labels, in batches; images of float32 are scaled to [0, 1].

    Args:
        images: Array of uint8 [examples, height, width, 1].
        labels: Array of class numbers or one-hot rows, one for each image.
        fake_data: Whether to ignore images and labels and return constant ones, 10,000 in all.
        one_hot: Whether the labels of fake data are one-hot rows.
        dtype: tf.float32, or tf.uint8 for images as they are.
        reshape: Whether each image becomes a row.
        seed: Seed of the order of examples.
    """

    images = ReadOnly[Any]("The images: [examples, pixels], or [examples, height, width, 1].")
    labels = ReadOnly[Any]("The labels: class numbers, or one-hot rows.")
    num_examples = ReadOnly[int]("Number of examples.")
    epochs_completed = ReadOnly[int]("How often all examples have been returned.")

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        dtype = as_dtype(dtype).base_dtype
        if dtype not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        graph_seed, op_seed = get_seed(seed)
        chosen = graph_seed if seed is None else op_seed
        if chosen is not None:
            np.random.seed(chosen)
        if fake_data:
            images = np.full((10000, 28, 28, 1), 255, np.uint8)
            labels = np.zeros(10000, np.uint8)
            labels = _one_hot(labels, 10) if one_hot else labels
        if len(images) != len(labels):
            raise invalid(f"{len(images)} images have {len(labels)} labels")
        if reshape:
            images = images.reshape(len(images), math.prod(images.shape[1:]))
        if dtype == float32:
            images = images.astype(np.float32) * np.float32(1 / 255)
        self._images, self._labels = images, labels
        self._num_examples = len(images)
        self._epochs_completed = 0
        self._order = np.arange(0)
        self._next = 0

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """Returns the next images and labels; a batch at the end of an epoch continues with the next one."""
        if fake_data:
            return DataSet([], [], fake_data=True).next_batch(batch_size)
        chosen = np.arange(0)
        while len(chosen) < batch_size and self._num_examples:
            if self._next == len(self._order):
                self._epochs_completed += len(self._order) > 0
                self._order = np.arange(self._num_examples)
                self._next = 0
                if shuffle:
                    np.random.shuffle(self._order)
            end = min(self._next + batch_size - len(chosen), self._num_examples)
            chosen = np.concatenate([chosen, self._order[self._next : end]])
            self._next = end
        return self._images[chosen], self._labels[chosen]


@export("contrib.learn.datasets.base.Datasets")
class Datasets(NamedTuple):
    """The examples for training, validation and test.

    Args:
        train: The examples for training.
        validation: The examples for validation.
        test: The examples for tests.
    """

    train: DataSet
    validation: DataSet
    test: DataSet


@export(*(f"{space}read_data_sets" for space in _SPACES))
def read_data_sets(
    train_dir: PathLike,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """Reads MNIST, or a data set in the same format, from a folder.

    Args:
        train_dir: Folder with the four files `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`,
            `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, as they are or with the ending `.gz`.
        fake_data: Whether to return constant images and labels, without any file.
        one_hot: Whether labels are one-hot rows.
        dtype: tf.float32 for images in [0, 1], or tf.uint8.
        reshape: Whether each image is a row.
        validation_size: How many of the training examples are set aside for validation.
        seed: Seed of the order of examples.
        source_url: Accepted for compatibility; nothing is downloaded.
    """
    if fake_data:
        fake = DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
        return Datasets(fake, fake, fake)
    train_images, train_labels, test_images, test_labels = map(_read, _paths(os.fspath(train_dir)))
    if not 0 <= validation_size <= len(train_images):
        raise ValueError(f"Validation size should be between 0 and {len(train_images)}. Received: {validation_size}.")
    if one_hot:
        train_labels, test_labels = _one_hot(train_labels, 10), _one_hot(test_labels, 10)

    def examples(images: Any, labels: Any) -> DataSet:
        return DataSet(images, labels, dtype=dtype, reshape=reshape, seed=seed)

    return Datasets(
        examples(train_images[validation_size:], train_labels[validation_size:]),
        examples(train_images[:validation_size], train_labels[:validation_size]),
        examples(test_images, test_labels),
    )


@export("contrib.learn.datasets.mnist.load_mnist")
def load_mnist(train_dir: PathLike = "MNIST-data") -> Datasets:
    """Reads MNIST from a folder.

    Args:
        train_dir: Folder with the four files.
    """
    return read_data_sets(train_dir)


def _paths(folder: Any) -> list[str]:
    """Returns the paths of the four files."""
    paths = [
        next((path for path in (f"{plain}.gz", plain) if os.path.exists(path)), None)
        for plain in (os.path.join(folder, name) for name in _FILES)
    ]
    missing = [f"{name}.gz" for name, path in zip(_FILES, paths) if path is None]
    if missing:
        message = describe(
            f"The folder {os.path.abspath(folder)!r} lacks {len(missing)} of the 4 files of the data set.",
            expected=f"{', '.join(missing)} (or the same without .gz)",
            hint="Thalweg downloads nothing: put the files there, as MNIST or Fashion-MNIST is distributed",
        )
        raise NotFoundError(None, None, message)
    return [path for path in paths if path is not None]


def _read(path: str) -> Any:
    """Returns the array in a file of bytes in IDX format, images with one channel."""
    try:
        data = read_gzip(path) if path.endswith(".gz") else Path(path).read_bytes()
    except ValueError as error:
        raise DataLossError(None, None, str(error)) from None
    rank = data[3] if data[:3] == b"\0\0\x08" and len(data) > 3 else 0
    start = 4 + 4 * rank
    shape = [int.from_bytes(data[at : at + 4]) for at in range(4, start, 4)]
    if rank not in (1, 3) or len(data) - start != math.prod(shape):
        raise DataLossError(None, None, f"{path!r} is not an IDX file of bytes with 1 or 3 dimensions")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape + [1] * (rank == 3))


def _one_hot(labels: Any, classes: int) -> Any:
    return np.eye(classes)[labels]
