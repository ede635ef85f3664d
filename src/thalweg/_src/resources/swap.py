"""Swap: where loops put what their gradients need when it shall not stay in memory.

Values of an accelerator go to host memory; when those kept there pass a limit, the oldest go to a file, since they are
needed last. The file has no name, so nothing is left of it when the process ends, however it ends.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import deque
from typing import IO, Any

import torch

from thalweg._src import errors


class Swap:
    """The values kept for gradients on this host, in memory up to a limit in bytes and on disk beyond it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_memory = 0
        self.on_disk = 0
        self._lock = threading.RLock()  # a value may be let go while another one is put away
        self._oldest: deque[weakref.ref[Kept]] = deque()
        self._file: IO[bytes] | None = None

    def keep(self, tensor: torch.Tensor) -> Kept:
        """Takes a value into care."""
        kept = Kept(self, tensor)
        with self._lock:
            self.in_memory += kept.size
            self._oldest.append(weakref.ref(kept))
            while self.in_memory > self.limit and self._oldest:
                oldest = self._oldest.popleft()()
                if oldest is not None:
                    self._put_away(oldest)
        return kept

    def _put_away(self, kept: Kept) -> None:
        assert kept.held is not None
        if kept.device.type != "cpu":
            torch.cuda.synchronize(kept.device)  # the copy to the host may still be under way
        try:
            if self._file is None:
                self._file = _nameless_file()
            kept.offset = self._file.seek(0, os.SEEK_END)
            self._file.write(kept.held.contiguous().reshape(-1).view(torch.uint8).numpy().data)
            self._file.flush()
        except OSError as error:
            raise errors.ResourceExhaustedError(
                None, None, f"{kept.size} bytes that a gradient needs fit neither in memory nor on disk: {error}"
            ) from None
        kept.held = None
        self.in_memory -= kept.size
        self.on_disk += kept.size

    def read(self, kept: Kept) -> torch.Tensor:
        with self._lock:
            if kept.held is not None:
                return kept.held
            assert self._file is not None
            value = torch.empty(kept.shape, dtype=kept.dtype)
            self._file.seek(kept.offset)
            self._file.readinto(value.reshape(-1).view(torch.uint8).numpy().data)  # type: ignore[attr-defined]
            return value

    def let_go(self, kept: Kept) -> None:
        with self._lock:
            if kept.held is not None:
                self.in_memory -= kept.size
            else:
                self.on_disk -= kept.size
                if self.on_disk == 0 and self._file is not None:
                    self._file.close()  # and with it the space that it took
                    self._file = None


class Kept:
    """A value in the care of a swap, for as long as somebody holds this."""

    __slots__ = ("__weakref__", "_swap", "device", "dtype", "held", "offset", "shape", "size")

    def __init__(self, swap: Swap, tensor: torch.Tensor) -> None:
        self._swap = swap
        self.device = tensor.device
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.size = tensor.numel() * tensor.element_size()
        self.offset = 0
        self.held: torch.Tensor | None = tensor if tensor.device.type == "cpu" else _to_host(tensor)

    def value(self) -> torch.Tensor:
        """Returns the value where it was before."""
        value = self._swap.read(self)
        return value if self.device.type == "cpu" else value.to(self.device, non_blocking=True)

    def __del__(self) -> None:
        self._swap.let_go(self)


def _nameless_file() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _to_host(tensor: torch.Tensor) -> torch.Tensor:
    """Starts a copy to memory that the device can write to by itself."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor, non_blocking=True)


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


HOST = Swap(_memory() // 2)


def keep(value: Any) -> Any:
    """Takes a tensor into care; what is no tensor (a list, a handle) is kept as it is."""
    return HOST.keep(value) if isinstance(value, torch.Tensor) else value
