"""Cancellation: one flag per step, and callbacks for the operations that wait in it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """A flag that is set once, with the error that explains why; waiting operations register a callback."""

    __slots__ = ("_callbacks", "_lock", "_registered", "error")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[BaseException], None]] = {}
        self._registered = 0
        self.error: BaseException | None = None

    def cancel(self, error: BaseException) -> None:
        """Cancels; only the first error counts, since the later ones follow from it."""
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback(error)

    def register(self, callback: Callable[[BaseException], None]) -> int | None:
        """Registers a callback; returns a token to deregister it, or None if cancellation has already happened."""
        with self._lock:
            if self.error is None:
                self._registered += 1
                self._callbacks[self._registered] = callback
                return self._registered
        callback(self.error)
        return None

    def deregister(self, token: int | None) -> None:
        with self._lock:
            if token is not None:
                self._callbacks.pop(token, None)
