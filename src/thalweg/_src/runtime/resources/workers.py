"""Worker threads for work that may block or take long, created on demand and ended when idle.

They are daemons: what they wait for may never arrive, and it is for the owner of a pool to say how long the interpreter
waits for it at exit.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
from collections.abc import Callable

_IDLE_TIMEOUT = 2.0  # seconds after which an idle thread ends
_EXIT_TIMEOUT = 1.0  # seconds that the interpreter waits at exit for running work that may block forever

Work = Callable[[], None]


class _Worker:
    """One thread, and the lock at which it sleeps until it is given work."""

    __slots__ = ("awake", "work")

    def __init__(self, work: Work) -> None:
        self.awake = threading.Lock()
        self.awake.acquire()
        self.work: Work | None = work


class Workers:
    """A thread pool without a limit, so that work that blocks never delays other work.

    A thread is created only if none is idle, and the one that became idle last is used first: every thread that calls
    a GPU's libraries costs memory there. concurrent.futures can lose count of its idle threads and create ever more.

    prepare: called by each thread first
    exit_timeout: seconds that the interpreter waits at exit for running work
    """

    def __init__(
        self, name: str, prepare: Callable[[], object] | None = None, exit_timeout: float = _EXIT_TIMEOUT
    ) -> None:
        self._name = name
        self._prepare = prepare
        self._exit_timeout = exit_timeout
        self._closing = False
        self._forget_threads()
        atexit.register(self._close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_threads)

    def _forget_threads(self) -> None:
        """Starts without threads, also in a copy of the process, where they do not exist."""
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy = 0

    def start(self, function: Callable[..., None], *args: object) -> bool:
        """Calls a function on a thread; returns False at interpreter exit, when nothing new is started."""
        work = functools.partial(function, *args)
        with self._lock:
            if self._closing:
                return False
            self._busy += 1
            worker = self._idle.pop() if self._idle else None
        if worker is not None:
            worker.work = work
            worker.awake.release()
        else:
            worker = _Worker(work)
            threading.Thread(target=self._run, args=(worker,), name=self._name, daemon=True).start()
        return True

    def _run(self, worker: _Worker) -> None:
        if self._prepare is not None:
            self._prepare()
        while True:
            work, worker.work = worker.work, None
            try:
                assert work is not None
                work()
            except BaseException:
                with self._lock:
                    self._busy -= 1
                raise
            del work  # an idle thread must not keep objects alive
            with self._lock:
                self._busy -= 1
                self._idle.append(worker)
            # The time-out races with `start`, which takes a worker out of `_idle` under the lock and wakes it later.
            # The worker that still finds itself there ends; one that does not has been chosen, and its work will come.
            if not worker.awake.acquire(timeout=_IDLE_TIMEOUT):
                with self._lock:
                    if worker in self._idle:
                        self._idle.remove(worker)
                        return
                worker.awake.acquire()  # another thread has just chosen this worker

    def _close(self) -> None:
        self._closing = True
        until = time.monotonic() + self._exit_timeout
        while self._busy and time.monotonic() < until:
            time.sleep(0.01)


workers = Workers("thalweg data")
