"""Slab: the memory that a task shares with the other tasks of its host.

A task copies a tensor into a block of its slab and sends the block's offset. The receiver has mapped the slab and reads
the tensor there; the task frees the block when the receiver has reported that nothing refers to it any more.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import threading
import weakref
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.runtime.kernels.types import from_numpy

Array = np.ndarray[Any, Any]

_ALIGNMENT = 64
_PAGE_ALIGNED = 1 << 16  # blocks of at least this size start at a page
# Threads of a parallel copy wait for each other: up to 20 ms if other tasks of the host use the cores.
_PARALLEL_COPY = 32 << 20
_FAULT_AROUND = 1 << 16  # bytes that Linux maps at once when a page of a file in memory is read
_KEPT = 256 << 20
_MADV_REMOVE = 9


class Block(NamedTuple):
    """Where in a slab the bytes of a `put` are."""

    offset: int
    nbytes: int


def available() -> bool:
    """Returns whether this system has sealed files in memory, which slabs consist of."""
    try:
        os.close(os.memfd_create("thalweg", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    except (AttributeError, OSError):
        return False
    return True


class Slab:
    """Shared memory of this task, in which any thread can allocate blocks.

    The memory of freed blocks stays resident for the next ones, since new pages take several times as long as copying.
    `trim`, which the owner calls every few seconds, gives back what was not needed lately.
    """

    def __init__(self, limit_bytes: int) -> None:
        """limit_bytes: the size; memory is used only for blocks."""
        self.nbytes = _round_up(limit_bytes, mmap.PAGESIZE)
        self._memory: _Memory | None = _Memory(self.nbytes)
        self._lock = threading.Lock()
        self._free = FreeSpace(self.nbytes)
        self._blocks: dict[int, int] = {}  # sizes by offset
        self._freed: deque[tuple[int, int]] = deque()  # freed blocks that are not in the free space yet
        self._in_use = self._peak = self._last_peak = 0
        self._untouched = 0  # from this offset on, the file has no pages yet

    @property
    def fd(self) -> int:
        """The file descriptor for `MappedSlab`, valid until `close`."""
        if self._memory is None:
            raise ValueError("the slab is closed")
        return self._memory.fd

    @property
    def bytes_in_use(self) -> int:
        """The bytes of all blocks, their alignment included."""
        with self._lock:
            self._merge_freed()
            return self._in_use

    def put(self, buffers: Iterable[torch.Tensor | memoryview]) -> Block | None:
        """Copies bytes into a new block, one buffer after the other; returns None if there is no room.

        buffers: one-dimensional tensors of uint8 on the host, or memoryviews
        """
        arrays = [_bytes(buffer) for buffer in buffers]
        nbytes = sum(map(len, arrays))
        alignment = mmap.PAGESIZE if nbytes >= _PAGE_ALIGNED else _ALIGNMENT
        size = _round_up(max(nbytes, 1), alignment)
        # The block is reserved under the lock and filled without it: several threads copy at once, and no reader can
        # know the block before its offset is sent. The local reference to the memory keeps the mapping if the slab is
        # closed meanwhile.
        with self._lock:
            self._merge_freed()
            memory, untouched = self._memory, self._untouched
            offset = None if memory is None else self._free.take(size, alignment)
            if memory is None or offset is None:
                return None
            self._blocks[offset] = size
            self._in_use += size
            self._peak = max(self._peak, self._in_use)
            self._untouched = max(untouched, offset + size)
        try:
            position = offset
            for array in arrays:
                memory.write(position, array, untouched)
                position += len(array)
        except BaseException as error:
            with self._lock:
                self._untouched = min(self._untouched, untouched)  # a page fault in memory that is refused is fatal
            self.free(offset)
            if isinstance(error, OSError):  # the system has no memory for new pages
                return None
            raise
        return Block(offset, nbytes)

    def free(self, offset: int) -> None:
        """Frees the block at an offset.

        Never waits, and may be called while this thread is in another method: garbage collection can run anywhere.
        """
        # This thread may have the lock already, if the garbage collector has interrupted its allocation: so the lock is
        # only tried, and the two tables that are changed without it need one operation of the interpreter each. A block
        # that is not merged now is merged by whichever call has the lock next; until then it only counts as in use.
        size = self._blocks.pop(offset, None)
        if size is None:
            raise ValueError(f"no block of the slab starts at offset {offset}")
        self._freed.append((offset, size))
        if self._lock.acquire(blocking=False):
            try:
                self._merge_freed()
            finally:
                self._lock.release()

    def _merge_freed(self) -> None:
        """Adds freed blocks to the free space; the caller holds the lock."""
        while self._freed:
            offset, size = self._freed.popleft()
            self._in_use -= size
            self._free.add(offset, offset + size)

    def trim(self) -> None:
        """Gives free memory back to the system, except for 256 MiB or what was in use since the last call but one.

        Takes 0.2 s per GiB that is given back, during which other threads can use the slab.
        """
        with self._lock:
            self._merge_freed()
            memory = self._memory
            spare = max(_KEPT, max(self._peak, self._last_peak) - self._in_use)
            self._last_peak, self._peak = self._peak, self._in_use
            if memory is None or memory.resident_bytes - self._in_use <= spare:
                return
            ranges = self._free.take_beyond(spare)
        for start, end in ranges:  # taken, so that no other thread writes there
            memory.give_back(start, end)
        with self._lock:
            for start, end in ranges:
                self._free.add(start, end)
                if end == self.nbytes:
                    self._untouched = min(self._untouched, start)

    def close(self) -> None:
        """Closes the slab: blocks of peers that have mapped it stay readable, and there is no room for others."""
        with self._lock:
            self._memory = None


class _Memory:
    """A sealed file in memory and its mapping, closed with the last reference: a thread may still be copying."""

    def __init__(self, nbytes: int) -> None:
        import fcntl

        self.fd = os.memfd_create("thalweg", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        _call_after(self, os.close, self.fd)
        os.ftruncate(self.fd, nbytes)
        # Peers access the mapping without a check, which is safe only if the file keeps its size.
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._array: Array = np.frombuffer(mmap.mmap(self.fd, nbytes), np.uint8)

    @property
    def resident_bytes(self) -> int:
        return os.fstat(self.fd).st_blocks * 512

    def write(self, offset: int, source: Array, untouched: int) -> None:
        """Copies an array to an offset; from `untouched` on there are no pages yet."""
        middle = offset + min(max(untouched - offset, 0), len(source))
        end = offset + len(source)
        target, source, rest = self._array[offset:middle], source[: middle - offset], source[middle - offset :]
        if len(source) >= _PARALLEL_COPY:
            torch.from_numpy(target).copy_(from_numpy(source, dtypes.uint8))
        else:
            target[:] = source
        if middle == end:
            return
        # The kernel need not clear a page before it copies to it, so this takes half the time of page faults.
        while len(rest):
            rest = rest[os.pwrite(self.fd, rest, end - len(rest)) :]  # type: ignore[arg-type]
        self._array[middle:end:_FAULT_AROUND].max()  # maps the pages, so that the next copy finds them

    def give_back(self, start: int, end: int) -> None:
        """Gives the pages of a range back to the system; it reads as zeros afterwards."""
        start = _round_up(start, mmap.PAGESIZE)
        if start < end:
            _madvise()(self._array.ctypes.data + start, (end - start) & -mmap.PAGESIZE, _MADV_REMOVE)


class FreeSpace:
    """The free ranges of a slab: the smallest that suffices is used first, and neighbours are merged."""

    # No two free ranges touch, since each that is added is merged with both neighbours: whatever is free side by side
    # can be taken as one, and freed memory does not fall into ranges that are too small for every request. The three
    # tables hold the same ranges: by size for the best fit, by start and by end to find neighbours without a search.
    def __init__(self, nbytes: int) -> None:
        self._by_size: list[tuple[int, int]] = []  # sizes and starts, sorted
        self._ends: dict[int, int] = {}  # by start
        self._starts: dict[int, int] = {}  # by end
        self.add(0, nbytes)

    def take(self, size: int, alignment: int) -> int | None:
        """Takes aligned space out of a free range and returns its offset; None if there is no such range.

        size: a multiple of 64
        """
        # If the start of the smallest range is not aligned, the space is taken from one that suffices at any start.
        for least in (size, size + alignment - _ALIGNMENT):
            index = bisect_left(self._by_size, (least, 0))
            if index == len(self._by_size):
                return None
            start = self._by_size[index][1]
            end, offset = self._ends[start], _round_up(start, alignment)
            if offset + size <= end:
                self._remove(start, end)
                self.add(start, offset)
                self.add(offset + size, end)
                return offset
        return None

    def take_beyond(self, spare: int) -> list[tuple[int, int]]:
        """Takes all free space out except for the lowest `kept` bytes, and returns its ranges."""
        taken = []
        # The lowest space stays: of ranges that fit equally well, `take` uses the lowest, so it is what is used next.
        for start, end in sorted(self._ends.items()):
            middle = min(end, start + spare)
            spare -= middle - start
            if middle < end:
                self._remove(start, end)
                self.add(start, middle)
                taken.append((middle, end))
        return taken

    def add(self, start: int, end: int) -> None:
        """Adds a range, which may be empty."""
        if start == end:
            return
        before, after = self._starts.get(start), self._ends.get(end)
        if before is not None:
            self._remove(before, start)
            start = before
        if after is not None:
            self._remove(end, after)
            end = after
        self._ends[start], self._starts[end] = end, start
        insort(self._by_size, (end - start, start))

    def _remove(self, start: int, end: int) -> None:
        del self._ends[start], self._starts[end]
        del self._by_size[bisect_left(self._by_size, (end - start, start))]


class MappedSlab:
    """The slab of another task, mapped by this one for reading."""

    def __init__(self, fd: int, nbytes: int) -> None:
        """fd: the file descriptor of the slab, which the caller may close afterwards; nbytes: the size of the slab."""
        import fcntl

        if not 0 < nbytes <= os.fstat(fd).st_size:
            raise ValueError(f"a slab of {nbytes} bytes in a file of {os.fstat(fd).st_size} bytes")
        try:
            seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
        except OSError as error:
            raise ValueError("a slab must be a sealed file in memory") from error
        # Reading what is not in the file any more, or from huge pages when there are no more of them, ends the process.
        if not seals & fcntl.F_SEAL_SHRINK or os.fstatvfs(fd).f_bsize != mmap.PAGESIZE:
            raise ValueError("a slab must be sealed against shrinking, and consist of ordinary pages")
        self._memory: Array | None = np.frombuffer(mmap.mmap(fd, nbytes, prot=mmap.PROT_READ), np.uint8)

    def view(self, offset: int, nbytes: int, released: Callable[[int], None]) -> Array:
        """Returns bytes of the slab as a read-only array.

        offset: the first byte
        nbytes: the number of bytes
        released: called once with the offset when nothing refers to the array or its memory any more, by any thread
            and in the middle of anything, so it must not wait for a lock; not called when the process ends before
        """
        memory = self._memory
        if memory is None:
            raise ValueError("the slab is closed")
        if offset < 0 or nbytes < 0 or offset + nbytes > len(memory):
            raise ValueError(f"{nbytes} bytes at offset {offset} are not in a slab of {len(memory)} bytes")
        lease = _Lease(memory[offset : offset + nbytes])
        _call_after(lease, released, offset)
        return np.asarray(lease)

    def close(self) -> None:
        """Closes the slab; it is unmapped when nothing refers to its views any more."""
        self._memory = None


class _Lease:
    """The owner of a view's memory: NumPy keeps it for all arrays made from the view, unlike the view itself."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


def _bytes(buffer: torch.Tensor | memoryview) -> Array:
    return buffer.numpy() if isinstance(buffer, torch.Tensor) else np.frombuffer(buffer, np.uint8)


def _call_after(owner: object, call: Callable[[int], None], argument: int) -> None:
    """Calls a function when an object has died, but not because the process ends."""
    weakref.finalize(owner, call, argument).atexit = False  # type: ignore[misc]


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


@functools.cache
def _madvise() -> Callable[[int, int, int], int]:
    """Returns madvise(), which in this form releases the GIL, unlike that of Python's mmap."""
    call = ctypes.CDLL(None).madvise
    call.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return cast("Callable[[int, int, int], int]", call)
