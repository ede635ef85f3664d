"""Workers: threads for work that may take long or wait, made when none is idle and gone when nobody needs them.

They are daemons: what they wait for may never come, and an interpreter that ends does not wait for it.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

_IDLE = 2.0  # seconds after which a thread without work ends
_FAREWELL = 1.0  # seconds that an interpreter which ends gives to what is still at work

Work = Callable[[], None]


class _Worker:
    """One thread, and the lock that it sleeps at until it is given work."""

    __slots__ = ("awake", "work")

    def __init__(self, work: Work) -> None:
        self.awake = threading.Lock()
        self.awake.acquire()
        self.work: Work | None = work


class Workers:
    """Threads for whoever asks, without a limit: work that blocks never keeps other work from its turn."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy = 0
        self._closing = False
        atexit.register(self._close)

    def start(self, work: Work) -> None:
        """Has a thread do some work; at the end of the interpreter nothing is begun any more."""
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
                del work  # an idle thread keeps nothing alive
                with self._lock:
                    self._busy -= 1
                    self._idle.append(worker)
            if not worker.awake.acquire(timeout=_IDLE):
                with self._lock:
                    if worker in self._idle:
                        self._idle.remove(worker)
                        return
                worker.awake.acquire()  # somebody chose this one just now

    def _close(self) -> None:
        self._closing = True
        until = time.monotonic() + _FAREWELL
        while self._busy and time.monotonic() < until:
            time.sleep(0.01)


workers = Workers("thalweg data")
