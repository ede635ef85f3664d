"""Worker threads for work that may block or take long, created on demand and ended when idle.

They are daemons: what they wait for may never arrive, and the interpreter must not wait for it at exit.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

_IDLE_TIMEOUT = 2.0  # seconds after which an idle thread ends
_EXIT_TIMEOUT = 1.0  # seconds that the interpreter waits at exit for running work

Work = Callable[[], None]


class _Worker:
    """One thread, and the lock at which it sleeps until it is given work."""

    __slots__ = ("awake", "work")

    def __init__(self, work: Work) -> None:
        self.awake = threading.Lock()
        self.awake.acquire()
        self.work: Work | None = work


class Workers:
    """A thread pool without a limit, so that work that blocks never delays other work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy = 0
        self._closing = False
        atexit.register(self._close)

    def start(self, work: Work) -> None:
        """Runs work on a thread; at interpreter exit nothing new is started."""
        with self._lock:
            if self._closing:
                return
            self._busy += 1
            worker = self._idle.pop() if self._idle else None
        if worker is not None:
            worker.work = work
            worker.awake.release()
        else:
            worker = _Worker(work)
            threading.Thread(target=self._run, args=(worker,), name=self._name, daemon=True).start()

    def _run(self, worker: _Worker) -> None:
        while True:
            work, worker.work = worker.work, None
            try:
                assert work is not None
                work()
            finally:
                del work  # an idle thread must not keep objects alive
                with self._lock:
                    self._busy -= 1
                    self._idle.append(worker)
            if not worker.awake.acquire(timeout=_IDLE_TIMEOUT):
                with self._lock:
                    if worker in self._idle:
                        self._idle.remove(worker)
                        return
                worker.awake.acquire()  # another thread has just chosen this worker

    def _close(self) -> None:
        self._closing = True
        until = time.monotonic() + _EXIT_TIMEOUT
        while self._busy and time.monotonic() < until:
            time.sleep(0.01)


workers = Workers("thalweg data")
