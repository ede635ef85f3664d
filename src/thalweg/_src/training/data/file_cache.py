"""File cache: elements as records, written by a first iteration and read by later ones."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from typing import IO, Any

from thalweg._src.base.formats.gfile import _typed_errors
from thalweg._src.base.formats.record_files import records_of
from thalweg._src.base.formats.records import framed
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position, Unary
from thalweg._src.training.data.serial import decode, encode


class CachedInFile(Unary):
    """Caches elements in a file during the first iteration; later ones, and later programs, read them from there."""

    __slots__ = ("_file", "_partial", "_path", "_records", "at", "writing")

    def __init__(self, dataset: BoundDataset) -> None:
        Iteration.__init__(self, dataset)
        self._path = f"{dataset.values[0].item().decode('utf-8', 'surrogateescape')}.elements"
        self._partial = f"{self._path}.{uuid.uuid4().hex}.partial"
        self._file: IO[bytes] | None = None
        self._records: Iterator[Any] | None = None
        self.at = 0
        self.writing = not os.path.exists(self._path)
        if self.writing:
            self.input = dataset.parents[0].elements()
            with _typed_errors(self._path):
                self._file = open(self._partial, "wb")  # noqa: SIM115

    def __next__(self) -> Element:
        if not self.writing:
            return self._read()
        for element in self.input:
            with _typed_errors(self._path):
                self._opened().write(framed(encode(list(element))))
            self.at += 1
            return element
        if self._file is not None:
            with _typed_errors(self._path):
                self._file.close()
                os.replace(self._partial, self._path)
            self._file = None
        raise StopIteration

    def _opened(self) -> IO[bytes]:
        assert self._file is not None
        return self._file

    def _read(self) -> Element:
        if self._records is None:
            self._records = iter(records_of(self._path))
            for _ in range(self.at):
                next(self._records, None)
        _, record = next(self._records)
        self.at += 1
        return tuple(decode(record))

    def state(self) -> Any:
        state = {"at": self.at, "writing": self.writing}
        return {**state, "input": self.input.state()} if self.writing else state

    def restore(self, state: Position) -> None:
        """Restores a position; elements of an incomplete cache are produced and written again."""
        if not self.writing:
            self.at = state["at"]
            return
        for _ in range(state["at"]):
            next(self, None)

    def close(self) -> None:
        Iteration.close(self)
        self._records = None
        if self._file is not None:
            self._file.close()
            self._file = None
            with contextlib.suppress(OSError):
                os.remove(self._partial)
        if self.writing:
            self.input.close()
