"""Progress on the standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.export import export


@export("keras.utils.Progbar")
class Progbar:
    """Shows on the standard output how far a loop is, how long it takes, and averages of its values.

    Args:
        target: Number of steps; None if it is not known.
        width: Number of characters of the bar.
        verbose: 0 shows nothing, 1 a bar, 2 one line at the end.
        interval: Seconds between two updates of the bar at least.
        stateful_metrics: Names of the values that are shown as they are, not averaged over the steps.
        unit_name: What one step is called.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.unit_name = unit_name
        # A line is written over itself where the output may be a terminal, else each state has a line of its own.
        self._rewrites = _may_be_terminal()
        self._values: dict[str, tuple[Any, int]] = {}  # the sum of the values of each name, and their number
        self._seen = 0
        self._length = 0
        self._start = time.time()
        self._last_update = 0.0

    def update(self, current: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Sets the number of steps done; values are averaged over steps, but stateful ones shown as they are."""
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._values[name] = value, 1
                continue
            # A loop without a target may report its last step twice, which counts then.
            steps = max(current - self._seen, 1)
            total, number = self._values.get(name, (0, 0))
            self._values[name] = total + value * steps, number + steps
        self._seen = current
        now = time.time()
        running = self.target is not None and current < self.target
        if self.verbose == 1:
            if running and now - self._last_update < self.interval:
                return
            self._rewrite(current, now - self._start)
        elif self.verbose == 2 and self.target is not None and not running:
            line = f"{self._count(current)} - {now - self._start:.0f}s{self._shown_values(signed=True)}\n"
            sys.stdout.write(line)
            sys.stdout.flush()
        self._last_update = now

    def add(self, n: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Adds to the number of steps done."""
        self.update(self._seen + n, values)

    def _rewrite(self, current: int, seconds: float) -> None:
        line = self._bar(current) + self._times(current, seconds) + self._shown_values(signed=False)
        padding = " " * (self._length - len(line))
        start = "\b" * self._length + "\r" if self._rewrites else "\n"
        end = "\n" if self.target is not None and current >= self.target else ""
        self._length = len(line)
        sys.stdout.write(f"{start}{line}{padding}{end}")
        sys.stdout.flush()

    def _count(self, current: int) -> str:
        return f"{current:{len(str(self.target))}d}/{self.target}"

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        length = int(self.width * current / self.target)
        done = "=" * (length - 1) + (">" if current < self.target else "=") if length > 0 else ""
        return f"{self._count(current)} [{done}{'.' * (self.width - length)}]"

    def _times(self, current: int, seconds: float) -> str:
        pace = seconds / current if current else 0.0
        if self.target is not None and current < self.target:
            return f" - ETA: {_duration(pace * (self.target - current))}"
        if pace >= 1:
            shown = f"{pace:.0f}s"
        elif pace >= 1e-3:
            shown = f"{pace * 1e3:.0f}ms"
        else:
            shown = f"{pace * 1e6:.0f}us"
        return f" - {seconds:.0f}s {shown}/{self.unit_name}"

    def _shown_values(self, signed: bool) -> str:
        """Returns the averages; `signed` shows negative ones, like small ones, with an exponent."""
        shown = ""
        for name, (total, number) in self._values.items():
            average = float(np.mean(total / max(1, number)))
            short = (average if signed else abs(average)) > 1e-3
            shown += f" - {name}: {average:.4f}" if short else f" - {name}: {average:.4e}"
        return shown


def _may_be_terminal() -> bool:
    if os.name == "posix" or "ipykernel" in sys.modules or "PYCHARM_HOSTED" in os.environ:
        return True
    return hasattr(sys.stdout, "isatty") and sys.stdout.isatty()


def _duration(seconds: float) -> str:
    hours, minutes = int(seconds // 3600), int(seconds % 3600 // 60)
    if seconds > 3600:
        return f"{hours}:{minutes:02d}:{int(seconds % 60):02d}"
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}" if seconds > 60 else f"{int(seconds)}s"
