"""Sparse tensors for tests, and what they are as dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.runtime.session.session import Session

PLACES = np.array([[0, 1], [0, 3], [2, 0], [2, 2]])
SHAPE = np.array([3, 4])
NOWHERE = np.zeros((0, 2), np.int64)


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def dense(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    """Returns a sparse tensor as a dense one, by torch."""
    if values.dtype is torch.uint16:
        return dense(indices, values.to(torch.int32), shape).to(torch.uint16)
    return torch.zeros(shape.tolist(), dtype=values.dtype).index_put(tuple(indices.t()), values, accumulate=True)


def run(fetch: Any, feed_dict: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feed_dict)


def sparse(indices: Any, values: Any, shape: Any) -> SparseTensor:
    return SparseTensor(np.array(indices, np.int64).reshape(-1, len(shape)), values, shape)


def same(value: Any, indices: Any, values: Any, shape: Any) -> None:
    """Checks the value of a sparse tensor."""
    assert value.indices.tolist() == [list(row) for row in indices]
    assert value.values.tolist() == list(values)
    assert value.dense_shape.tolist() == list(shape)
