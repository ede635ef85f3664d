"""The values that valid calls are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.sandbox import Variable
from thalweg._src.base import dtypes

Call = tuple[tuple[Any, ...], dict[str, Any]]


def floats(*shape: int) -> np.ndarray:
    """Numbers between 0 and 1, all different."""
    count = int(np.prod(shape))
    return ((np.arange(count, dtype=np.float32) + 1) / (count + 1)).reshape(shape)


def ints(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int32)


def longs(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def texts(*values: str) -> np.ndarray:
    return np.array([v.encode() for v in values], dtype=object)


def held(array: np.ndarray) -> Variable:
    return Variable(dtypes.as_dtype(array.dtype).name, array.shape, array)


X, V, M = floats(2, 3), floats(3), floats(3, 2)
S = np.array(0.5, np.float32)
IMAGE, VOLUME = floats(1, 4, 5, 2), floats(1, 4, 5, 3, 2)
POOLED, POOLED_VOLUME = floats(1, 2, 3, 2), floats(1, 2, 3, 2, 2)
LARGEST, LARGEST_VOLUME = IMAGE[:, 1::2, [1, 3, 4]], VOLUME[:, 1::2, [1, 3, 4]][:, :, :, [1, 2]]
FILTER, FILTER_3D = floats(3, 3, 2, 4), floats(3, 3, 3, 2, 4)
FUSED = {"num_args": 1, "fused_ops": ["BiasAdd", "Relu"]}
NORM, NORM_GRAD = (IMAGE, floats(2), floats(2), floats(0), floats(0)), (IMAGE, IMAGE, floats(2), floats(2), floats(2))
