"""The files of data sets: where they are, and arrays of them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from thalweg._src.base.formats.numpy_files import load
from thalweg._src.keras.datasets.pickled_arrays import read_pickled
from thalweg._src.keras.utils.cached_files import get_file

URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
Array = np.ndarray[Any, Any]
Split = tuple[tuple[Array, Array], tuple[Array, Array]]


def located(path: str, name: str, hash: str) -> str:
    """Returns the path of a file: an absolute one of the caller's own, or that in the cache, with the known hash."""
    if os.path.isabs(path) and os.path.exists(path):
        return path
    return get_file(path, URL + name, file_hash=hash)


def arrays(path: str, *names: str) -> list[Array]:
    """Returns arrays of an NPZ file, also those of lists, which are pickled."""
    content = load(path, read_pickled)
    missing = [name for name in names if isinstance(content, np.ndarray) or name not in content]
    if missing:
        raise ValueError(f"{path}: expected the arrays {', '.join(names)}, {', '.join(missing)} is missing")
    return [content[name] for name in names]


def shuffled(generator: np.random.RandomState, *values: Array) -> list[Array]:
    """Returns arrays in one random order."""
    order = np.arange(len(values[0]))
    generator.shuffle(order)
    return [value[order] for value in values]
