"""Swapping: offloads tensors that gradients of loops need from device memory to the host, and from there to disk.

Tensors of an accelerator go to host memory; when those exceed a limit, the oldest are spilled to a file, since
backpropagation needs them last. The file is anonymous, so the system removes it however the process ends.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import deque
from typing import IO, Any

import torch

from thalweg._src.base import errors
from thalweg._src.runtime.resources.accelerators import accelerator_of


class Swap:
    """The tensors swapped out on this host, in memory up to a limit in bytes and on disk beyond it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_memory = 0
        self.on_disk = 0
        self._lock = threading.RLock()  # reentrant: garbage collection may release one tensor while another is spilled
        self._oldest: deque[weakref.ref[SwappedTensor]] = deque()
        self._file: IO[bytes] | None = None

    def swap_out(self, tensor: torch.Tensor) -> SwappedTensor:
        """Swaps a tensor out."""
        swapped = SwappedTensor(self, tensor)
        with self._lock:
            self.in_memory += swapped.size
            self._oldest.append(weakref.ref(swapped))
            # The list holds weak references: a tensor that backpropagation has used is gone, and is not written.
            while self.in_memory > self.limit and self._oldest:
                oldest = self._oldest.popleft()()
                if oldest is not None:
                    self._spill(oldest)
        return swapped

    def _spill(self, swapped: SwappedTensor) -> None:
        assert swapped.held is not None
        if swapped.stream is not None:  # the copy to the host may still be running
            swapped.stream.synchronize()
        try:
            if self._file is None:
                self._file = _anonymous_file()
            swapped.offset = self._file.seek(0, os.SEEK_END)
            self._file.write(swapped.held.contiguous().reshape(-1).view(torch.uint8).numpy().data)
            self._file.flush()
        except OSError as error:
            raise errors.ResourceExhaustedError(
                None, None, f"{swapped.size} bytes that a gradient needs fit neither in memory nor on disk: {error}"
            ) from None
        swapped.held = None
        self.in_memory -= swapped.size
        self.on_disk += swapped.size

    def read(self, swapped: SwappedTensor) -> torch.Tensor:
        with self._lock:
            if swapped.held is not None:
                return swapped.held
            assert self._file is not None
            value = torch.empty(swapped.shape, dtype=swapped.dtype)
            self._file.seek(swapped.offset)
            self._file.readinto(value.reshape(-1).view(torch.uint8).numpy().data)  # type: ignore[attr-defined]
            return value

    def release(self, swapped: SwappedTensor) -> None:
        with self._lock:
            if swapped.held is not None:
                self.in_memory -= swapped.size
            else:
                self.on_disk -= swapped.size
                if self.on_disk == 0 and self._file is not None:
                    self._file.close()  # frees the disk space
                    self._file = None


class SwappedTensor:
    """A tensor that is swapped out for as long as this object is referenced."""

    __slots__ = ("__weakref__", "_swap", "device", "dtype", "held", "offset", "shape", "size", "stream")

    def __init__(self, swap: Swap, tensor: torch.Tensor) -> None:
        self.device = tensor.device
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.size = tensor.numel() * tensor.element_size()
        self.offset = 0
        self.held: torch.Tensor | None = tensor
        self.stream: Any = None  # of a copy that may still be running
        if tensor.device.type != "cpu":
            accelerator = accelerator_of(tensor.device)
            is_pinned = accelerator.has_pinned_memory()
            self.held = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=is_pinned)
            self.held.copy_(tensor, non_blocking=is_pinned)
            self.stream = accelerator.module.current_stream(tensor.device) if is_pinned else None
        self._swap = swap

    def value(self) -> torch.Tensor:
        """Returns the tensor on its original device."""
        value = self._swap.read(self)
        return value if self.device.type == "cpu" else value.to(self.device, non_blocking=True)

    def __del__(self) -> None:
        if hasattr(self, "_swap"):  # else there was no memory for it
            self._swap.release(self)


def _anonymous_file() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


HOST = Swap(_memory() // 2)


def swap_out(value: object) -> Any:
    """Swaps a tensor out; any other value (a list, a handle) is returned unchanged."""
    return HOST.swap_out(value) if isinstance(value, torch.Tensor) else value
