"""One step at the master, as a pure state machine: replies of tasks in, aborts and the result out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import errors


@dataclass(slots=True)
class MasterStep:
    """A step that runs at several tasks: which have not replied, what they fetched, and the first error.

    positions: for each task, the place of each of its values among the fetches of the step
    """

    positions: dict[str, Sequence[int]]
    num_fetches: int
    error: BaseException | None = None
    _waiting: set[str] = field(default_factory=set)
    _values: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._waiting = set(self.positions)
        self._values = [None] * self.num_fetches

    def replied(self, task: str, values: Sequence[Any]) -> None:
        """Takes the values that a task fetched."""
        if task not in self._waiting:
            return
        self._waiting.discard(task)
        places = self.positions[task]
        if len(places) != len(values):
            text = f"{task} returned {len(values)} values instead of {len(places)}"
            raise errors.InternalError(None, None, text)
        for place, value in zip(places, values):
            self._values[place] = value

    def failed(self, error: BaseException) -> list[str]:
        """Takes the error that ends the step; returns the tasks to abort, which have not replied.

        Errors that follow the first are its consequences.
        """
        # Two threads may both be first, and abort the tasks twice, which does no harm: no lock is needed.
        if self.error is not None:
            return []
        self.error = error
        return sorted(self._waiting)

    def result(self) -> list[Any]:
        """Returns the fetched values of all tasks, or raises the error that ended the step."""
        if self.error is not None:
            raise self.error
        return self._values
