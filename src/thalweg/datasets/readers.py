"""Passes over files: records, lines and pieces of fixed length, read in large blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

from thalweg.datasets.plan import Element, Elements, Plan, invalid
from thalweg.formats.gfile import _typed_errors
from thalweg.formats.record_blocks import BLOCK, records_in
from thalweg.formats.record_files import Source, open_source
from thalweg.kernels.elements import text


class FromFiles(Elements):
    """A pass over the files of a list, one after another; its position is a file and what was taken of it."""

    __slots__ = ("_compression", "_names", "_records", "file", "taken")
    kept: ClassVar = ("file", "taken")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        names, compression = plan.values[:2]
        if names.ndim > 1:
            raise invalid(f"`filenames` has shape {list(names.shape)}, expected a scalar or a vector")
        if compression.ndim:
            raise invalid(f"`compression_type` has shape {list(compression.shape)}, expected a scalar")
        self._names: list[bytes] = names.ravel().tolist()
        self._compression: str = compression.item().decode()
        if self._compression not in ("", "ZLIB", "GZIP"):
            raise invalid(f"Unsupported compression_type {self._compression!r}, expected '', 'ZLIB' or 'GZIP'")
        self.file = 0
        self.taken = 0
        self._records: Iterator[Any] | None = None

    def __next__(self) -> Element:
        while self.file < len(self._names) and not self.closed:
            try:
                records = self._records
                if records is None:
                    records = self._records = self._open()
                for record in records:
                    self.taken += 1
                    return (record,)
            except BaseException:
                self._go_to(self.file + 1)  # whoever passes over the error goes on with the next file
                raise
            self._go_to(self.file + 1)
        raise self.end()

    def _go_to(self, file: int) -> None:
        self.file, self.taken, self._records = file, 0, None

    def _open(self) -> Iterator[Any]:
        records = self.records(self._names[self.file])
        for _ in range(self.taken):
            next(records, None)
        return records

    def records(self, name: bytes) -> Iterator[Any]:
        """Yields the records of a file as values."""
        source, file = open_source(name, self._compression)
        with file, _typed_errors(name):
            yield from self.parse(source, name)

    def parse(self, source: Source, name: bytes) -> Iterator[Any]:
        """Yields the records in some bytes as values."""
        yield from ()

    def restore(self, state: Any) -> None:
        super().restore(state)
        self._records = None

    def close(self) -> None:
        super().close()
        self._records = None  # the file goes with whoever still reads it


class Records(FromFiles):
    """The records of TFRecord files."""

    __slots__ = ()

    def parse(self, source: Source, name: bytes) -> Iterator[Any]:
        for records in records_in(source, name):
            yield from map(text, records)


def _at_least(source: Source, data: bytes, size: int) -> bytes:
    """Returns data with what follows, so many bytes if there are as many; a length that is a lie costs no memory."""
    parts, have = [data], len(data)
    while have < size:
        part = source.read(BLOCK)
        if not part:
            break
        parts.append(part)
        have += len(part)
    return b"".join(parts)


class Lines(FromFiles):
    """The lines of text files, without their ends."""

    __slots__ = ()

    def parse(self, source: Source, name: bytes) -> Iterator[Any]:
        rest = b""
        while True:
            block = source.read(BLOCK)
            if not block:
                break
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            for line in lines:
                yield text(line[:-1] if line.endswith(b"\r") else line)
        if rest:
            yield text(rest[:-1] if rest.endswith(b"\r") else rest)


class Pieces(FromFiles):
    """Pieces of one length, between a header and a footer that are left out."""

    __slots__ = ("_footer", "_header", "_size")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._size = plan.integer(2, "record_bytes", 1)
        self._header, self._footer = plan.integer(3, "header_bytes", 0), plan.integer(4, "footer_bytes", 0)

    def records(self, name: bytes) -> Iterator[Any]:
        if not self._compression:
            with _typed_errors(name):
                self._require_whole(name, os.stat(name).st_size)
        return super().records(name)

    def _require_whole(self, name: bytes, size: int) -> None:
        body = size - self._header - self._footer
        if body < 0 or body % self._size:
            raise invalid(
                f"{name!r} has {size} bytes: between a header of {self._header} and a footer of {self._footer} "
                f"that is no whole number of records of {self._size}"
            )

    def parse(self, source: Source, name: bytes) -> Iterator[Any]:
        data = _at_least(source, b"", self._header)
        block, size, done = data[self._header :], self._size, len(data[: self._header])
        while True:
            more = source.read(BLOCK)
            block += more
            usable = len(block) - self._footer
            whole = max(usable - usable % size, 0)
            for at in range(0, whole, size):
                yield text(block[at : at + size])
            block, done = block[whole:], done + whole
            if not more:
                break
        self._require_whole(name, done + len(block))
