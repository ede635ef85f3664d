"""How often to save: often enough that a failure costs little, seldom enough that saving does.

Saving every t seconds costs the share c / t of the time if a save takes c seconds, and a failure loses t / 2 seconds of
work on average, once in the mean time m between failures. The sum is least at t = sqrt(2 c m) (Young 1974, Daly 2006).
Both numbers are measured: c with every save, m from a small file beside the checkpoints, in which each run writes how
long it has lasted and whether it ended well.
"""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass

from thalweg._src import errors
from thalweg._src.compat import logging
from thalweg._src.formats import durable

SHORTEST, LONGEST = 10.0, 600.0  # seconds between two checkpoints
_SUPPOSED = 24 * 3600.0  # seconds between failures, before anything is known
_HISTORY = "run_history.json"


def best_interval(cost: float, between_failures: float) -> float:
    """Returns the seconds between two saves that lose the least time, within sensible bounds."""
    return min(max(math.sqrt(2 * max(cost, 0.0) * max(between_failures, 0.0)), SHORTEST), LONGEST)


@dataclass(slots=True)
class _History:
    """What is known of all runs in a folder: how long they lasted together and how many failed."""

    seconds: float = 0.0
    failures: int = 0
    running: bool = False

    @property
    def between_failures(self) -> float:
        """Seconds between failures; what is supposed counts as one failure, so that few observations weigh little."""
        return (_SUPPOSED + self.seconds) / (1 + self.failures)


def _read(path: str) -> _History:
    """Returns what a file says; one that is missing or damaged says nothing."""
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
    """Chooses the seconds between two checkpoints of a folder from what saves cost and how often runs fail."""

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
        """Starts a run; one that was running before, and no longer is, has failed."""
        if self._counted_until is not None:  # the session was lost, and there is another
            self._history.failures += 1
            return
        self._history = _read(self._path)
        if self._history.running:
            self._history.failures += 1
        self._history.running = True
        self._counted_until = time.monotonic()

    def saved(self, cost: float) -> None:
        """Takes what a save has cost, in seconds of training; later ones count more."""
        self._cost = cost if self._cost is None else (self._cost + cost) / 2
        self._write()

    def end(self) -> None:
        """Says that the run ended well."""
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
        except errors.OpError as error:  # the history is a hint; training does not depend on it
            logging.warning("%s", error)
