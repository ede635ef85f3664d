"""Strangers that a task has refused, in its log: with address and reason, at a limited rate."""

from __future__ import annotations

import logging
import threading
import time

_SECONDS = 60.0
_LINES = 10  # in this time
_log = logging.getLogger("thalweg")


class Refusals:
    """Logs connections that were refused: one line for each address and reason in a minute, and ten in all.

    Args:
        task: the name of this task.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._logged: dict[tuple[str, str], float] = {}
        self._silent = 0

    def log(self, address: str, reason: str) -> None:
        """Takes a connection of an address, with its port, that was refused for a reason."""
        now = time.monotonic()
        with self._lock:
            self._logged = {entry: logged for entry, logged in self._logged.items() if now - logged < _SECONDS}
            entry = (address.rpartition(":")[0], reason)
            if entry in self._logged or len(self._logged) >= _LINES:
                self._silent += 1
                return
            self._logged[entry] = now
            silent, self._silent = self._silent, 0
        others = f" ({silent} others were refused since the last such line)" if silent else ""
        _log.warning("%s refused a connection of %s: %s%s", self._task, address, reason, others)
