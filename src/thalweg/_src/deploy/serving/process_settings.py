"""Settings of a Python process that serves: short turns of threads, and a garbage collector that seldom runs."""

from __future__ import annotations

import gc
import sys
import threading

_SWITCH_INTERVAL = 1e-4  # seconds; Python's own is 5 ms, for which a load in the background would delay requests
_THRESHOLDS = (20_000, 20, 20)  # Python's own first one is 700, which the lists of one JSON request exceed many times


class ProcessSettings:
    """Changes the settings while servers run in this process, and restores them after the last one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers = 0
        self._before: tuple[float, tuple[int, int, int]] = (0.0, (0, 0, 0))

    def acquire(self) -> None:
        """Records that a server starts, before it loads its models."""
        with self._lock:
            self._servers += 1
            if self._servers > 1:
                return
            self._before = sys.getswitchinterval(), gc.get_threshold()
            sys.setswitchinterval(_SWITCH_INTERVAL)
            gc.set_threshold(*_THRESHOLDS)
            gc.collect()
            gc.freeze()  # modules, which live as long as the process; models come and go

    def release(self) -> None:
        """Records that a server has ended."""
        with self._lock:
            self._servers -= 1
            if not self._servers:
                seconds, thresholds = self._before
                sys.setswitchinterval(seconds)
                gc.set_threshold(*thresholds)
                gc.unfreeze()


process_settings = ProcessSettings()
