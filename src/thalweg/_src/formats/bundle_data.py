"""The data files of bundles as bytes, written and read by several threads and, if they are large, past the page cache.

The page cache takes memory, page by page, for a gigabyte that nobody may look at again, and the system writes it out
when it likes. The disk takes aligned blocks from our memory, and gives them, without any of that.
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

from thalweg._src.formats import durable
from thalweg._src.formats.crc32c import crc32c

BLOCK = 1 << 22  # bytes; small enough to be in the processor's cache for the checksum that follows the copy
_BLOCKS = 3  # one is filled, one is written, one waits
_ALIGNMENT = 4096
_LARGE_FILE = 1 << 26  # from this size on it matters how a file is read
_LARGE_READ = 1 << 20
Array = np.ndarray[Any, Any]


def aligned(size: int) -> Array:
    """Returns memory that the disk can work with."""
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size]


class DataWriter:
    """Writes a file from its beginning to its end and computes checksums on the way.

    A thread beside writes a block while the next is filled. With `rest`, which is called after each block, all happens
    on the calling thread.
    """

    def __init__(self, path: str, rest: Callable[[], None] | None = None) -> None:
        self.size = 0
        self._file = durable.create(path)
        self._rest = rest
        self._block, self._used = aligned(BLOCK), 0
        self._writes: deque[Future[Array]] = deque()
        self._beside: ThreadPoolExecutor | None = None
        self._begun = 0  # where the next write is

    def append(self, data: Any, crc: int = 0) -> int:
        """Takes bytes and returns their checksum, that of what came before being `crc`."""
        rest = memoryview(data).cast("B")
        self.size += len(rest)
        while rest:
            room = self._block[self._used : self._used + len(rest)]
            room[:] = np.frombuffer(rest, np.uint8, len(room))
            crc = crc32c(room, crc)
            rest = rest[len(room) :]
            self._used += len(room)
            if self._used == BLOCK:
                self._pass_on()
        return crc

    def _pass_on(self) -> None:
        """Lets the full block be written and goes on with another."""
        if self._rest is not None:
            self._write(self._block)
            self._rest()
        else:
            if self._beside is None:
                self._beside = ThreadPoolExecutor(1, "checkpoint")
            self._writes.append(self._beside.submit(self._write, self._block))
            self._block = self._writes.popleft().result() if len(self._writes) == _BLOCKS else aligned(BLOCK)
        self._used = 0

    def _write(self, block: Array) -> Array:
        """Writes a full block and returns it; if it is in the page cache now, the disk is told to begin."""
        if not self._begun:
            durable.pass_cache(self._file)
        durable.write_all(self._file, block)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file, self._begun, BLOCK, os.POSIX_FADV_DONTNEED)
        self._begun += BLOCK
        return block

    def finish(self) -> None:
        """Writes what is left and returns when the disk has everything."""
        for write in self._writes:
            write.result()
        durable.use_cache(self._file)  # for a piece of any length
        durable.write_all(self._file, self._block[: self._used])
        os.fsync(self._file)
        self.close()

    def close(self) -> None:
        """Ends writing, finished or not."""
        if self._beside is not None:
            self._beside.shutdown(cancel_futures=True)
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


class DataFile:
    """A file to read from, by several threads at once."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self.size = os.fstat(self._file).st_size
        self._direct = -1
        self._pages: Array | None = None
        self._local = threading.local()
        if self.size >= _LARGE_FILE and hasattr(os, "O_DIRECT"):
            try:
                self._direct = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
                # Nothing is read from this; it gives pages addresses, by which the system can be asked about them.
                self._pages = np.frombuffer(mmap.mmap(self._file, self.size, prot=mmap.PROT_READ), np.uint8)
            except (OSError, ValueError):
                pass

    def close(self) -> None:
        files, self._file, self._direct, self._pages = (self._file, self._direct), -1, -1, None
        for file in files:
            if file >= 0:
                os.close(file)

    def read(self, out: Array, offset: int) -> int:
        """Fills an array with what begins at an offset and returns how many bytes there were."""
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
        """Returns whether a part of the file is in the page cache, or, where nobody knows, that it may be."""
        if self._pages is None:
            return True
        start = offset & -mmap.PAGESIZE
        pages = np.empty(-(-(offset + length - start) // mmap.PAGESIZE), np.uint8)
        failed = _mincore()(self._pages.ctypes.data + start, offset + length - start, pages.ctypes.data)
        return bool(failed or (pages & 1).all())

    def _read_directly(self, out: Array, offset: int) -> int:
        """Reads from the disk into aligned memory and copies from there; stops where that does not work."""
        block: Array | None = getattr(self._local, "block", None)
        if block is None:
            block = self._local.block = aligned(BLOCK + _ALIGNMENT)
        done = 0
        while done < len(out):
            before = (offset + done) % _ALIGNMENT
            wanted = min(before + len(out) - done, len(block))
            whole = memoryview(block[: -(-wanted // _ALIGNMENT) * _ALIGNMENT])  # type: ignore[arg-type]
            try:
                count = os.preadv(self._direct, [whole], offset + done - before)
            except OSError:
                break
            piece = block[before : min(count, wanted)]
            if not len(piece):
                break
            out[done : done + len(piece)] = piece
            done += len(piece)
        return done


@functools.cache
def _mincore() -> Callable[[int, int, int], int]:
    """Returns the system's call that tells which pages are in memory; any result but 0 says that it does not tell."""
    try:
        call = ctypes.CDLL(None).mincore
    except (OSError, AttributeError):
        return lambda address, length, pages: -1
    call.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    return cast("Callable[[int, int, int], int]", call)
