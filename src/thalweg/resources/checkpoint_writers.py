"""Checkpoints written in the background: who asked for that, and the thread that does it, in the order of the calls."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable

from thalweg import errors

_PART = re.compile(r"(.*)_temp_[0-9a-f]+/part-\d{5}-of-\d{5}$", re.DOTALL)
_waiting: dict[str, BackgroundWriter] = {}  # the writers that are to take over a save, by the prefix saved to
_lock = threading.Lock()


class BackgroundWriter:
    """Does what is given to it on a thread of its own; what went wrong is raised to whoever comes next."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Callable[[], None], bool]] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def put(self, work: Callable[[], None], ends: bool = False) -> None:
        """Takes work, which starts when all before it is done, unless some of it failed; `ends` marks a save's last."""
        with _lock:
            self._queue.put((work, ends))
            if self._thread is None:
                # No daemon: a program that ends waits for its last checkpoint.
                self._thread = threading.Thread(target=self._run, name="checkpoints")
                self._thread.start()

    def _run(self) -> None:
        failed = False
        while True:
            work, ends = self._queue.get()
            try:
                if not failed:
                    work()
            except Exception as error:
                failed = True
                self._failure = self._failure or error
            del work  # with the values that it holds
            if ends:
                failed = False
                with _lock:
                    if self._queue.empty():
                        self._thread = None
                        return

    def wait(self) -> None:
        """Waits until all is written; raises what went wrong."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self.raise_failure()

    @property
    def is_busy(self) -> bool:
        return self._thread is not None

    def raise_failure(self) -> None:
        """Raises, once, what went wrong since it was asked last."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def taking_over(self, prefix: str) -> _TakingOver:
        """Is a context in which saves to the prefix are handed to this writer."""
        return _TakingOver(prefix, self)


class _TakingOver:
    """Announces a writer for a prefix while a step runs."""

    def __init__(self, prefix: str, writer: BackgroundWriter) -> None:
        self._prefix = prefix
        self._writer = writer

    def __enter__(self) -> None:
        if _waiting.setdefault(self._prefix, self._writer) is not self._writer:
            raise errors.AlreadyExistsError(None, None, f"another save to {self._prefix} is under way")

    def __exit__(self, *exception: object) -> None:
        _waiting.pop(self._prefix, None)


def writer_for(prefix: str) -> BackgroundWriter | None:
    """Returns the writer that is to take over a save to a prefix, or to a shard of it."""
    if not _waiting:
        return None
    shard = _PART.match(prefix)
    return _waiting.get(shard[1] if shard else prefix)
