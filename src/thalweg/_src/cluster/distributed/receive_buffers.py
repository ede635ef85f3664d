"""Buffers for large tensors that arrive through a socket.

New memory of this size comes from the system page by page, which takes longer than receiving the bytes, and the threads
that read sockets have memory pools of their own, which return large blocks at once. So buffers are used again.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

LARGE = 8 << 20  # bytes of the smallest tensor that gets such a buffer
_KEPT = 512 << 20  # bytes that are kept for the next tensors

Array = np.ndarray[Any, Any]


class ReceiveBuffers:
    """Memory for received tensors, taken by any thread, and given back when the last reference to it dies."""

    def __init__(self, limit: int = _KEPT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._free: list[Array] = []
        self._returned: deque[Array] = deque()  # by the garbage collector, which must not wait for the lock
        self._used: dict[int, tuple[weakref.ref[Array], Array]] = {}

    def take(self, nbytes: int) -> Array:
        """Returns bytes to write to; whatever is made from the array without a copy keeps them in use."""
        with self._lock:
            buffer = self._find(nbytes)
        if buffer is None:
            buffer = np.empty(nbytes, np.uint8)
        view = buffer[:nbytes]
        reference = weakref.ref(view, self._give_back)
        # The table holds the weak reference itself, which would not call anything after its own death.
        self._used[id(reference)] = (reference, buffer)
        return view

    def _give_back(self, reference: weakref.ref[Array]) -> None:
        self._returned.append(self._used.pop(id(reference))[1])

    def _find(self, nbytes: int) -> Array | None:
        """Returns a free buffer that is large enough and not much larger; drops what is too much to keep."""
        while self._returned:
            self._free.append(self._returned.popleft())
        fitting = [buffer for buffer in self._free if nbytes <= len(buffer) <= 2 * nbytes]
        best = min(fitting, key=len, default=None)
        if best is not None:
            self._free = [buffer for buffer in self._free if buffer is not best]
        while sum(map(len, self._free)) > self._limit:
            self._free.pop(0)
        return best


BUFFERS = ReceiveBuffers()
