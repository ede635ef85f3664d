"""Checkpoint interval: minimizes the time lost to saving and to failures.

Saving every t seconds costs the fraction c / t of the time if a save takes c seconds, and a failure loses t / 2 seconds
of work on average, once in the mean time m between failures. The sum is minimal at t = sqrt(2 c m) (Young 1974, Daly
2006). Both numbers are measured: c with every save, m from a small file beside the checkpoints, in which each run
records how long it has lasted and whether it ended normally.
"""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass

from thalweg._src.base import errors, logging
from thalweg._src.base.formats import durable

SHORTEST, LONGEST = 10.0, 600.0  # seconds between two checkpoints
_PRIOR = 24 * 3600.0  # prior seconds between failures
_HISTORY = "run_history.json"


def best_interval(cost: float, between_failures: float) -> float:
    """Returns the interval between saves that minimizes the lost time, within bounds."""
    return min(max(math.sqrt(2 * max(cost, 0.0) * max(between_failures, 0.0)), SHORTEST), LONGEST)


@dataclass(slots=True)
class _History:
    """The history of all runs in a folder: their total duration and the number of failures."""

    seconds: float = 0.0
    failures: int = 0
    running: bool = False

    @property
    def between_failures(self) -> float:
        """Mean seconds between failures; the prior counts as one failure, so that few observations weigh little."""
        return (_PRIOR + self.seconds) / (1 + self.failures)


def _read(path: str) -> _History:
    """Returns the history in a file; empty if it is missing or corrupt."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        history = _History(float(data["seconds"]), int(data["failures"]), bool(data["running"]))
        if history.seconds >= 0 and history.failures >= 0 and math.isfinite(history.seconds):
            return history
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        logging.warning("%s is ignored: %s", path, error)
    return _History()


class CheckpointInterval:
    """Chooses the seconds between two checkpoints of a folder from the cost of saves and the rate of failures."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, _HISTORY)
        self._history = _History()
        self._cost: float | None = None
        self._counted_until: float | None = None

    @property
    def seconds(self) -> float:
        if self._cost is None:
            return LONGEST
        return best_interval(self._cost, self._history.between_failures)

    def begin(self) -> None:
        """Starts a run; an earlier run that did not end normally has failed."""
        if self._counted_until is not None:  # the session was lost and is replaced
            self._history.failures += 1
            return
        self._history = _read(self._path)
        if self._history.running:
            self._history.failures += 1
        self._history.running = True
        self._counted_until = time.monotonic()

    def saved(self, cost: float) -> None:
        """Records the cost of a save, in seconds of training, in a moving average."""
        self._cost = cost if self._cost is None else (self._cost + cost) / 2
        self._write()

    def end(self) -> None:
        """Records that the run ended normally."""
        self._history.running = False
        self._write()
        self._counted_until = None

    def _write(self) -> None:
        now = time.monotonic()
        if self._counted_until is not None:
            self._history.seconds += now - self._counted_until
            self._counted_until = now
        fields = {name: getattr(self._history, name) for name in ("seconds", "failures", "running")}
        try:
            with durable.typed_errors(self._path):
                durable.write_file(self._path, json.dumps(fields).encode())
        except errors.OpError as error:  # the history is only a hint; training does not depend on it
            logging.warning("%s", error)
