"""tf.contrib.learn.datasets: data sets in CSV files, and those that are known by name."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.compat.contrib.mnist import Datasets, load_mnist

Array = np.ndarray[Any, Any]


@export("contrib.learn.datasets.base.Dataset")
class Dataset(NamedTuple):
    """Features with their targets.

    Args:
        data: Array of features, one row for each example.
        target: Array of targets.
    """

    data: Any
    target: Any


def _split(rows: list[list[str]], target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    targets = [row.pop(target_column) for row in rows]
    data = np.array([np.asarray(row, dtype=features_dtype) for row in rows])
    return Dataset(data, np.array(targets, dtype=target_dtype))


@export("contrib.learn.datasets.base.load_csv_with_header")
def load_csv_with_header(
    filename: PathLike, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Reads a CSV file whose first line holds the numbers of examples and of features.

    Args:
        filename: The path of the file.
        target_dtype: NumPy type of the targets.
        features_dtype: NumPy type of the features.
        target_column: The column of the target.
    """
    with open(filename, encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        examples, features = (int(field) for field in next(reader)[:2])
        data, target = _split(list(reader), target_dtype, features_dtype, target_column)
    if data.shape != (examples, features):
        raise ValueError(f"{filename}: the first line says {examples} rows of {features}, received {list(data.shape)}")
    return Dataset(data, target)


@export("contrib.learn.datasets.base.load_csv_without_header")
def load_csv_without_header(
    filename: PathLike, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Reads a CSV file of examples.

    Args:
        filename: The path of the file.
        target_dtype: NumPy type of the targets.
        features_dtype: NumPy type of the features.
        target_column: The column of the target.
    """
    with open(filename, encoding="utf-8", newline="") as file:
        return _split(list(csv.reader(file)), target_dtype, features_dtype, target_column)


@export("contrib.learn.datasets.load_dataset")
def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Datasets:
    """Reads a data set by its name from the current folder.

    Args:
        name: "mnist", whose files are in the folder `MNIST-data`.
        size: Accepted for compatibility; it has no effect.
        test_with_fake_data: Accepted for compatibility; it has no effect.
    """
    if name != "mnist":
        raise ValueError(f"Name of dataset is not found: {name}; expected 'mnist', since others would be downloaded")
    return load_mnist()
