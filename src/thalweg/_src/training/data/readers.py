"""Passes over files: TFRecords, text lines and fixed-length records, read in large blocks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.gfile import _typed_errors
from thalweg._src.base.formats.record_blocks import BLOCK, records_in
from thalweg._src.base.formats.record_files import Source, is_pipe, open_source
from thalweg._src.runtime.kernels.elements import text
from thalweg._src.runtime.resources.workers import workers
from thalweg._src.training.data.element_refs import ElementRefs, RecordRefs
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position

Chunk = list[bytes] | np.ndarray[Any, Any]  # records, or rows of an array
_MANY = 32  # records in a chunk; below that, reading the next one is fast


class _Ahead:
    """Chunks of records, read ahead by a worker: checking CRCs releases the interpreter lock."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._chunks = chunks
        self._done: threading.Lock | None = None  # released when the worker is done
        self._outcome: Chunk | BaseException = []

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> Chunk:
        if self._done is None:
            chunk = next(self._chunks)
        else:
            self._done.acquire()
            outcome, self._done = self._outcome, None
            if isinstance(outcome, BaseException):
                raise outcome
            chunk = outcome
        if len(chunk) >= _MANY:
            self._done = threading.Lock()
            self._done.acquire()
            workers.start(self._work)
        return chunk

    def _work(self) -> None:
        done = self._done
        try:
            self._outcome = next(self._chunks)
        except BaseException as error:
            self._outcome = error
        assert done is not None
        done.release()


class FromFiles(Iteration):
    """An iteration over a list of files; its position is a file and the number of records taken from it."""

    __slots__ = ("_chunk", "_chunks", "_compression", "_is_prompt", "_names", "_place", "_texts", "file", "taken")
    saved_attributes: ClassVar = ("file", "taken")

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset)
        self._texts = refs if isinstance(refs, RecordRefs) else None
        names, compression = dataset.values[:2]
        if names.ndim > 1:
            raise invalid(f"`filenames` has shape {list(names.shape)}, expected a scalar or a vector")
        if compression.ndim:
            raise invalid(f"`compression_type` has shape {list(compression.shape)}, expected a scalar")
        self._names: list[bytes] = names.ravel().tolist()
        self._compression: str = compression.item().decode()
        if self._compression not in ("", "ZLIB", "GZIP"):
            raise invalid(f"Unsupported compression_type {self._compression!r}, expected '', 'ZLIB' or 'GZIP'")
        self._is_prompt = False  # no data of this file and the next one are still to be written to a pipe
        self.file = 0
        self.taken = 0
        self._chunks: Iterator[Chunk] | None = None
        self._chunk: Chunk = []
        self._place = 0

    def __next__(self) -> Element:
        while self._place >= len(self._chunk):
            self._read()
        if self._texts is not None:
            refs: list[Any] = []
            self.take(1, refs)
            return refs[0]  # type: ignore[no-any-return]
        record = self._chunk[self._place]
        self._place += 1
        self.taken += 1
        return (text(record),)

    def take(self, count: int, out: list[Any]) -> None:
        while count:
            records = self._chunk[self._place : self._place + count]
            if not len(records):
                try:
                    self._read()
                except StopIteration:
                    return
                continue
            self._place += len(records)
            self.taken += len(records)
            count -= len(records)
            out.extend(zip(map(text, records)) if self._texts is None else self._texts.put(records))

    def reads_ahead(self) -> bool:
        return self._is_prompt

    def prompt(self) -> bool:
        return self._is_prompt

    @classmethod
    def element_refs(cls, dataset: BoundDataset, dtype: DType | None) -> ElementRefs | None:
        return RecordRefs(dtype)

    def _read(self) -> None:
        """Reads the next chunk of the file, or opens the next file."""
        if self.file >= len(self._names) or self.closed:
            raise self.end()
        try:
            if self._chunks is None:
                chunks = self.chunks(self._names[self.file])
                self._chunks = _Ahead(chunks) if self._compression else chunks
                self._skip(self.taken)
                return
            self._chunk, self._place = next(self._chunks, []), 0
        except BaseException:
            self._go_to(self.file + 1)  # a consumer that ignores the error continues with the next file
            raise
        if not len(self._chunk):
            self._go_to(self.file + 1)

    def _skip(self, count: int) -> None:
        """Skips the records of a file that were taken before."""
        assert self._chunks is not None
        while count:
            chunk = next(self._chunks, [])
            self._chunk, self._place = chunk, min(count, len(chunk))
            count -= self._place
            if not len(chunk):
                return

    def _go_to(self, file: int) -> None:
        self.file, self.taken, self._chunks, self._chunk, self._place = file, 0, None, [], 0

    def chunks(self, name: bytes) -> Iterator[Chunk]:
        """Yields the records of a file in non-empty chunks."""
        source, file = open_source(name, self._compression, as_available=True)
        with file, _typed_errors(name):
            self._is_prompt = not any(map(is_pipe, self._names[self.file : self.file + 2]))
            yield from filter(len, self.parse(source, name))

    @property
    def as_rows(self) -> bool:
        """Returns whether records of one length are needed as rows of an array."""
        return self._texts is not None and self._texts.dtype is not None

    def parse(self, source: Source, name: bytes) -> Iterator[Chunk]:
        """Yields the records in a block of bytes, in chunks."""
        yield from ()

    def restore(self, state: Position) -> None:
        super().restore(state)
        self._chunks, self._chunk, self._place = None, [], 0

    def close(self) -> None:
        super().close()
        self._chunks = None  # the file is closed with its last reader


class Records(FromFiles):
    """The records of TFRecord files."""

    __slots__ = ()

    def parse(self, source: Source, name: bytes) -> Iterator[Chunk]:
        return records_in(source, name, self.as_rows)


def _at_least(source: Source, data: bytes, size: int) -> bytes:
    """Returns at least `size` bytes of data if available; reads in pieces, so that a corrupt length costs no memory."""
    blocks, have = [data], len(data)
    while have < size:
        block = source.read(BLOCK)
        if not block:
            break
        blocks.append(block)
        have += len(block)
    return b"".join(blocks)


class Lines(FromFiles):
    """The lines of text files, without line endings."""

    __slots__ = ()

    def parse(self, source: Source, name: bytes) -> Iterator[Chunk]:
        rest = b""
        while block := source.read(BLOCK):
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            yield [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if rest:
            yield [rest.removesuffix(b"\r")]


class Pieces(FromFiles):
    """Records of fixed length, between a header and a footer that are skipped."""

    __slots__ = ("_footer", "_header", "_size")

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self._size = dataset.integer(2, "record_bytes", 1)
        self._header, self._footer = dataset.integer(3, "header_bytes", 0), dataset.integer(4, "footer_bytes", 0)

    def chunks(self, name: bytes) -> Iterator[Chunk]:
        if not self._compression and not is_pipe(name):
            with _typed_errors(name):
                self._require_whole(name, os.stat(name).st_size)
        return super().chunks(name)

    def _require_whole(self, name: bytes, size: int) -> None:
        body = size - self._header - self._footer
        if body < 0 or body % self._size:
            raise invalid(
                f"{name!r} has {size} bytes: between a header of {self._header} and a footer of {self._footer} "
                f"that is not a whole number of records of {self._size}"
            )

    def parse(self, source: Source, name: bytes) -> Iterator[Chunk]:
        data = _at_least(source, b"", self._header)
        block, size, done = data[self._header :], self._size, len(data[: self._header])
        while True:
            more = source.read(BLOCK)
            block += more
            usable = len(block) - self._footer
            whole = max(usable - usable % size, 0)
            if self.as_rows:
                yield np.frombuffer(block, np.uint8, whole).reshape(-1, size)
            else:
                yield [block[at : at + size] for at in range(0, whole, size)]
            block, done = block[whole:], done + whole
            if not more:
                break
        self._require_whole(name, done + len(block))
