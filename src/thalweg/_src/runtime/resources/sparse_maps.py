"""Maps of sparse tensors: store them under integer handles until they are taken."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import InvalidArgumentError


class StoredSparse(NamedTuple):
    """A stored sparse tensor; its values are a NumPy array if they are strings."""

    indices: torch.Tensor
    values: Any
    shape: list[int]
    dtype: DType


class SparseTensorsMap:
    """Sparse tensors by handle; each can be taken once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._tensors: dict[int, StoredSparse] = {}
        self._next = 0
        self._lock = threading.Lock()

    def add(self, tensors: Sequence[StoredSparse]) -> list[int]:
        """Stores tensors and returns their handles."""
        with self._lock:
            handles = list(range(self._next, self._next + len(tensors)))
            self._next += len(tensors)
            self._tensors.update(zip(handles, tensors))
            return handles

    def take(self, handles: Sequence[int]) -> list[StoredSparse]:
        """Removes and returns tensors; removes none if a handle is missing."""
        with self._lock:
            missing = [handle for handle in handles if handle not in self._tensors]
            if missing or len(set(handles)) < len(handles):
                what = f"Unable to find SparseTensor: {missing[0]}" if missing else f"{list(handles)} names one twice"
                raise InvalidArgumentError(None, None, f"{what} in map: {self.name}")
            return [self._tensors.pop(handle) for handle in handles]

    def destroy(self) -> None:
        with self._lock:
            self._tensors = {}
