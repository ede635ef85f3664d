"""Sequence: a source of batches that can be read in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from thalweg._src.base.export import export


@export("keras.utils.Sequence")
class Sequence(ABC):
    """The base class of sources of batches; a subclass defines `__getitem__` and `__len__`."""

    @abstractmethod
    def __getitem__(self, index: int) -> Any:
        """Returns the batch at an index."""

    @abstractmethod
    def __len__(self) -> int:
        """Returns the number of batches."""

    def on_epoch_end(self) -> None:  # noqa: B027 - a subclass need not do anything then
        """Is called after each epoch."""

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))
