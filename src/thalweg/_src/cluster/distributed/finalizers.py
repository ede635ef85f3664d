"""Finalizers that call other tasks, on a thread of their own.

The garbage collector runs finalizers in the middle of anything, so they must not wait for a lock, as every call to
another task and every thread pool does.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import weakref
from collections.abc import Callable

_EXIT_SECONDS = 10.0  # that the interpreter waits at exit for calls that are under way

_pending: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()  # its put() may interrupt itself
_lock = threading.Lock()
_thread: threading.Thread | None = None
_is_exiting = False


class Finalizer:
    """Calls a function once an object has died, on the thread of finalizers, or when it is called itself."""

    def __init__(self, owner: object, call: Callable[[], object], at_exit: bool = True) -> None:
        """at_exit: whether the end of the program counts as the death of the object"""
        self._call = call
        # Whichever is first, the death of the object or the call below, takes the finalizer away; the other one does
        # nothing.
        self._finalize = weakref.finalize(owner, _later, call)
        self._finalize.atexit = at_exit  # type: ignore[misc]
        _start()

    def __call__(self) -> None:
        """Calls the function now, unless it was called before."""
        if self._finalize.detach() is not None:
            self._call()


def _start() -> None:
    """Makes sure that the thread runs; a copy of the process has none."""
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_work, name="thalweg_finalizers", daemon=True)
            _thread.start()


def _later(call: Callable[[], object]) -> None:
    if _is_exiting:
        _try(call)
    else:
        _pending.put(call)


def _work() -> None:
    while (call := _pending.get()) is not None:
        _try(call)


def _try(call: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        call()


@atexit.register
def _exit() -> None:
    """Makes the calls that are left, and from now on each at once."""
    global _is_exiting
    # This runs before or after the finalizers of objects that live until exit, whichever were registered later. Those
    # that ran before have queued their calls, which the thread makes before it reads the end of the queue; those that
    # run after it make their calls themselves, since the thread reads no further.
    _is_exiting = True
    if _thread is not None:
        _pending.put(None)
        _thread.join(_EXIT_SECONDS)
