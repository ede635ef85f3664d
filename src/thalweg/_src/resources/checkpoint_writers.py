"""Checkpoints written in the background: who asked for that, and the thread that does it, in the order of the calls."""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections.abc import Callable

from thalweg._src import errors

_PART = re.compile(r"(.*)_temp_[0-9a-f]+/part-\d{5}-of-\d{5}$", re.DOTALL)
_SHARE = 1 / 20  # of a core, for a save that nobody waits for
_SPARE = 2  # idle cores; with so many a save may take what it needs
_waiting: dict[str, BackgroundWriter] = {}  # the writers that are to take over a save, by the prefix saved to
_lock = threading.Lock()


class BackgroundWriter:
    """Does what is given to it on a thread of its own; what went wrong is raised to whoever comes next."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Callable[[], None], bool]] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._hurry = threading.Event()
        self._since = _clocks()

    def put(self, work: Callable[[], None], ends: bool = False) -> None:
        """Takes work, which starts when all before it is done, unless some of it failed; `ends` marks a save's last."""
        with _lock:
            self._queue.put((work, ends))
            if self._thread is None:
                # No daemon: a program that ends waits for its last checkpoint.
                self._hurry.clear()
                self._thread = threading.Thread(target=self._run, name="checkpoints")
                self._thread.start()

    def _run(self) -> None:
        failed = False
        self._since = _clocks()
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

    def rest(self) -> None:
        """Lets training go on: the work since the last rest gets a small share of the time since then.

        Training that uses all cores stands still while one of them does something else. If it leaves cores idle, or
        somebody waits for the checkpoint, be it the end of the program, nobody has a use for a rest.
        """
        elapsed, worked, used = (clock - since for clock, since in zip(_clocks(), self._since))
        if _cores() - (used - worked) / max(elapsed, 1e-6) < _SPARE and threading.main_thread().is_alive():
            self._hurry.wait(worked / _SHARE - elapsed)
        self._since = _clocks()

    def wait(self) -> None:
        """Waits until all is written, as fast as can be; raises what went wrong."""
        self._hurry.set()
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


def _clocks() -> tuple[float, float, float]:
    """Returns the time, that of this thread, and that of all threads of the process."""
    return time.monotonic(), time.thread_time(), time.process_time()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
