"""One step at the master, as a pure state machine: replies of tasks in, aborts and the result out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


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

    @property
    def is_over(self) -> bool:
        """Whether every task replied, or one failed: then the others are aborted and not waited for."""
        return not self._waiting or self.error is not None

    @property
    def waiting(self) -> Iterable[str]:
        """The tasks that have not replied."""
        return sorted(self._waiting)

    def replied(self, task: str, values: Sequence[Any]) -> None:
        """Takes the values that a task fetched."""
        if task not in self._waiting:
            return
        self._waiting.discard(task)
        places = self.positions[task]
        if len(places) != len(values):
            self.error = ValueError(f"{task} returned {len(values)} values instead of {len(places)}")
            return
        for place, value in zip(places, values):
            self._values[place] = value

    def failed(self, task: str | None, error: BaseException) -> list[str]:
        """Takes an error of a task, or of the step as a whole; returns the tasks to abort.

        Errors that follow the first are its consequences.
        """
        if task is not None:
            self._waiting.discard(task)
        if self.error is not None:
            return []
        self.error = error
        return list(self.waiting)

    def result(self) -> list[Any]:
        """Returns the fetched values, or raises the error that ended the step."""
        if self.error is not None:
            raise self.error
        return self._values
