"""Asynchronous checkpoints: a background thread that writes them in the order of the calls, throttled."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable

from thalweg._src.base import errors
from thalweg._src.base.processes import usable_cores

_SHARD_FILE = re.compile(r"(.*)_temp_[0-9a-f]+/part-\d{5}-of-\d{5}$", re.DOTALL)
_CPU_SHARE = 1 / 20  # of a core, for a save that no caller waits for
_IDLE_CORES = 2  # idle cores; with this many a save is not throttled
_intercepting_writers: dict[str, BackgroundWriter] = {}  # writers that take over a save, by the prefix saved to
_lock = threading.Lock()


class BackgroundWriter:
    """Runs callables on a thread of its own; a failure is raised to the next caller."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Callable[[], None], bool]] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._unthrottled = threading.Event()
        self._since = _clocks()

    def put(self, work: Callable[[], None], ends: bool = False) -> None:
        """Enqueues work, skipped if earlier work of the same save failed; `ends` marks the last of a save."""
        with _lock:
            self._queue.put((work, ends))
            if self._thread is None:
                # Not a daemon: the process waits for its last checkpoint before it exits.
                self._unthrottled.clear()
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
            del work  # frees the values that it holds
            if ends:
                failed = False
                with _lock:
                    if self._queue.empty():
                        self._thread = None
                        return

    def throttle(self) -> None:
        """Throttles the writer: sleeps until its CPU time since the last call is a small share of the elapsed time.

        Training that uses all cores stalls while one of them does something else. There is no need to throttle if
        training leaves cores idle, or if a caller (or the exit of the process) waits for the checkpoint.
        """
        elapsed, worked, used = (clock - since for clock, since in zip(_clocks(), self._since))
        if usable_cores() - (used - worked) / max(elapsed, 1e-6) < _IDLE_CORES and threading.main_thread().is_alive():
            self._unthrottled.wait(worked / _CPU_SHARE - elapsed)
        self._since = _clocks()

    def wait(self) -> None:
        """Waits until everything is written, without throttling; raises the first failure."""
        self._unthrottled.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self.raise_failure()

    @property
    def is_busy(self) -> bool:
        return self._thread is not None

    def raise_failure(self) -> None:
        """Raises, once, the first failure since the last call."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def intercepting(self, prefix: str) -> _Intercepting:
        """Returns a context in which saves to the prefix are handed to this writer."""
        return _Intercepting(prefix, self)


def _clocks() -> tuple[float, float, float]:
    """Returns wall-clock time, the CPU time of this thread, and that of the process."""
    return time.monotonic(), time.thread_time(), time.process_time()


class _Intercepting:
    """Registers a writer for a prefix while a step runs."""

    def __init__(self, prefix: str, writer: BackgroundWriter) -> None:
        self._prefix = prefix
        self._writer = writer

    def __enter__(self) -> None:
        if _intercepting_writers.setdefault(self._prefix, self._writer) is not self._writer:
            raise errors.AlreadyExistsError(None, None, f"another save to {self._prefix} is under way")

    def __exit__(self, *exception: object) -> None:
        _intercepting_writers.pop(self._prefix, None)


def writer_for(prefix: str) -> BackgroundWriter | None:
    """Returns the writer that takes over a save to a prefix, or to a shard of it."""
    if not _intercepting_writers:
        return None
    shard = _SHARD_FILE.match(prefix)
    return _intercepting_writers.get(shard[1] if shard else prefix)
