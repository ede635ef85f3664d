"""Liveness of other tasks, as a pure state machine: when to send a heartbeat, and when a task is lost."""

from __future__ import annotations

from dataclasses import dataclass, field

INTERVAL = 1.0  # seconds between heartbeats
LIMIT = 8.0  # seconds without any message after which a task is lost


@dataclass(slots=True)
class Liveness:
    """When each task was heard of last; times are passed in."""

    limit: float = LIMIT
    _last_seen: dict[str, float] = field(default_factory=dict)
    _ticked: float | None = None

    def seen(self, task: str, now: float) -> None:
        """Notes that a message of a task arrived, or that it was connected."""
        self._last_seen[task] = max(now, self._last_seen.get(task, now))

    def forget(self, task: str) -> None:
        self._last_seen.pop(task, None)

    def expired(self, now: float) -> dict[str, float]:
        """Returns the tasks that are lost, and for how many seconds nothing was heard of each.

        If this process itself did not run for long (it was stopped, or the machine was), it has not listened either,
        and all tasks get their time again.
        """
        asleep = self._ticked is not None and now - self._ticked > self.limit / 2
        self._ticked = now
        if asleep:
            self._last_seen = dict.fromkeys(self._last_seen, now)
        return {task: now - seen for task, seen in self._last_seen.items() if now - seen > self.limit}
