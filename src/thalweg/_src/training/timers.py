"""Timers of hooks: whether an action is due again, in steps or in seconds."""

from __future__ import annotations

import time

from thalweg._src.base.export import export


@export("estimator.SecondOrStepTimer", "train.SecondOrStepTimer")
class SecondOrStepTimer:
    """Decides when a periodic action is due, by seconds or by steps."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Resets the time of the last trigger."""
        self._last_triggered_step: int | None = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns whether the action is due at a step."""
        if self._last_triggered_step is None or self._last_triggered_time is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None and time.time() >= self._last_triggered_time + self._every_secs:
            return True
        return self._every_steps is not None and step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Sets the last triggered step; returns the seconds and steps since the previous one, None for the first."""
        now = time.time()
        elapsed: tuple[float | None, int | None] = (None, None)
        if self._last_triggered_step is not None and self._last_triggered_time is not None:
            elapsed = (now - self._last_triggered_time, step - self._last_triggered_step)
        self._last_triggered_time, self._last_triggered_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """Returns the last step at which the timer triggered, or None."""
        return self._last_triggered_step


class NeverTriggerTimer(SecondOrStepTimer):
    """Never triggers."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        return False
