"""I/O of bundle data files: multithreaded, and with direct I/O (O_DIRECT) for large files.

Through the page cache, gigabytes that may never be read again would occupy memory and be written back at a time that
the kernel chooses. Direct I/O transfers aligned blocks between our memory and the disk without that.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import numpy as np

from thalweg._src.base.formats import durable
from thalweg._src.base.formats.crc32c import crc32c
from thalweg._src.base.formats.regular import open_regular

BLOCK = 1 << 22  # bytes; small enough to be in the CPU cache for the checksum that follows the copy
_BLOCKS = 3  # one being filled, one being written, one queued
_ALIGNMENT = 4096
_LARGE_FILE = 1 << 26  # from this size on, direct I/O is considered
_LARGE_READ = 1 << 20
Array = np.ndarray[Any, Any]


def aligned(size: int) -> Array:
    """Returns an array that is aligned for direct I/O."""
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size]


class DataWriter:
    """Writes a file sequentially and computes checksums of the data.

    A background thread writes a block while the next is filled. With `rest`, which is called after each block,
    everything happens on the calling thread.
    """

    def __init__(self, path: str, rest: Callable[[], None] | None = None) -> None:
        self.size = 0
        self._file = durable.create(path)
        self._rest = rest
        self._block, self._used = aligned(BLOCK), 0
        self._writes: deque[Future[Array]] = deque()
        self._executor: ThreadPoolExecutor | None = None
        self._offset = 0  # offset of the next write

    def append(self, data: Any, crc: int = 0) -> int:
        """Appends bytes and returns the checksum that extends `crc` by them."""
        rest = memoryview(data).cast("B")
        self.size += len(rest)
        while rest:
            room = self._block[self._used : self._used + len(rest)]
            room[:] = np.frombuffer(rest, np.uint8, len(room))
            crc = crc32c(room, crc)
            rest = rest[len(room) :]
            self._used += len(room)
            if self._used == BLOCK:
                self._submit()
        return crc

    def _submit(self) -> None:
        """Submits the full block for writing and continues with another."""
        if self._rest is not None:
            self._write(self._block)
            self._rest()
        else:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, "checkpoint")
            self._writes.append(self._executor.submit(self._write, self._block))
            self._block = self._writes.popleft().result() if len(self._writes) == _BLOCKS else aligned(BLOCK)
        self._used = 0

    def _write(self, block: Array) -> Array:
        """Writes a full block and returns it; if it went to the page cache, asks the kernel to write it back now."""
        if not self._offset:
            durable.enable_direct_io(self._file)
        durable.write_all(self._file, block)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file, self._offset, BLOCK, os.POSIX_FADV_DONTNEED)
        self._offset += BLOCK
        return block

    def finish(self) -> None:
        """Writes the remainder and returns when all data is on disk."""
        for write in self._writes:
            write.result()
        durable.disable_direct_io(self._file)  # the remainder is not aligned
        durable.write_all(self._file, self._block[: self._used])
        os.fsync(self._file)
        self.close()

    def close(self) -> None:
        """Closes the file, finished or not."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


class DataFile:
    """A file that several threads can read at once."""

    def __init__(self, path: str) -> None:
        self._file = open_regular(path)
        self.size = os.fstat(self._file).st_size
        self._direct = -1
        self._pages: Array | None = None
        self._mapping: Array | None = None
        self._local = threading.local()
        if self.size >= _LARGE_FILE and hasattr(os, "O_DIRECT"):
            try:
                self._direct = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
                # Never read from; the mapping provides addresses, by which mincore() reports which pages are cached.
                self._pages = np.frombuffer(mmap.mmap(self._file, self.size, prot=mmap.PROT_READ), np.uint8)
            except (OSError, ValueError):
                pass

    def close(self) -> None:
        files, self._file, self._direct, self._pages = (self._file, self._direct), -1, -1, None
        for file in files:
            if file >= 0:
                os.close(file)

    def map(self) -> Array:
        """Returns the bytes of the file as a private mapping, which outlives this object."""
        if self._mapping is None:
            self._mapping = np.frombuffer(mmap.mmap(self._file, self.size, access=mmap.ACCESS_COPY), np.uint8)
        return self._mapping

    def read(self, out: Array, offset: int) -> int:
        """Fills an array from an offset and returns the number of bytes read."""
        done = 0
        if len(out) >= _LARGE_READ and self._direct >= 0 and not self._is_cached(offset, len(out)):
            done = self._read_directly(out, offset)
        view = memoryview(out)  # type: ignore[arg-type]
        while done < len(out):
            count = os.preadv(self._file, [view[done : done + BLOCK]], offset + done)
            if not count:
                break
            done += count
        return done

    def _is_cached(self, offset: int, length: int) -> bool:
        """Returns whether a part of the file is in the page cache, or may be, where that cannot be determined."""
        if self._pages is None:
            return True
        start = offset & -mmap.PAGESIZE
        pages = np.empty(-(-(offset + length - start) // mmap.PAGESIZE), np.uint8)
        failed = _mincore()(self._pages.ctypes.data + start, offset + length - start, pages.ctypes.data)
        return bool(failed or (pages & 1).all())

    def _read_directly(self, out: Array, offset: int) -> int:
        """Reads with direct I/O into aligned memory and copies from there; stops where the file system refuses it."""
        block: Array | None = getattr(self._local, "block", None)
        if block is None:
            block = self._local.block = aligned(BLOCK + _ALIGNMENT)
        done = 0
        while done < len(out):
            before = (offset + done) % _ALIGNMENT
            end = min(before + len(out) - done, len(block))
            whole = memoryview(block[: -(-end // _ALIGNMENT) * _ALIGNMENT])  # type: ignore[arg-type]
            try:
                count = os.preadv(self._direct, [whole], offset + done - before)
            except OSError:
                break
            piece = block[before : min(count, end)]
            if not len(piece):
                break
            out[done : done + len(piece)] = piece
            done += len(piece)
        return done


@functools.cache
def _mincore() -> Callable[[int, int, int], int]:
    """Returns mincore(), which reports the pages that are in memory; a result other than 0 means that it is unknown."""
    try:
        call = ctypes.CDLL(None).mincore
    except (OSError, AttributeError):
        return lambda address, length, pages: -1
    call.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    return cast("Callable[[int, int, int], int]", call)
