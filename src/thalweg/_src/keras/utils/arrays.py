"""NumPy arrays as Keras models take them: classes as rows of zeros and a one, rows of norm 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export


@export("keras.utils.to_categorical")
def to_categorical(y: np.ndarray[Any, Any], num_classes: int | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
    """Returns an array with a new last dimension that has a one at the class of each element, and zeros elsewhere.

    Args:
        y: Array of the numbers of classes, from 0.
        num_classes: Number of classes; by default one more than the largest number.
    """
    classes = np.asarray(y, dtype="int")
    shape = classes.shape
    if len(shape) > 1 and shape[-1] == 1:  # a column of classes
        shape = shape[:-1]
    classes = classes.ravel()
    if not num_classes:
        num_classes = int(np.max(classes)) + 1
    result = np.zeros((classes.size, num_classes), dtypes.as_dtype(dtype).as_numpy_dtype)
    result[np.arange(classes.size), classes] = 1
    return result.reshape(*shape, num_classes)


@export("keras.utils.normalize")
def normalize(x: np.ndarray[Any, Any], axis: int = -1, order: int = 2) -> np.ndarray:
    """Returns an array divided by its norms along an axis; what has norm 0 stays.

    Args:
        x: A NumPy array.
        axis: The dimension that a norm is taken over.
        order: Order of the norm; 2 is the Euclidean one.
    """
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return np.asarray(x / np.expand_dims(norms, axis))
