"""A step with what belongs to it but is not timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Task:
    """A step, what makes it ready before a round, and what ends the things that it left running after one."""

    step: Callable[[], Any]
    before: Callable[[], Any] = _nothing
    after: Callable[[], Any] = _nothing

    def __call__(self) -> Any:
        self.before()
        result = self.step()
        self.after()
        return result
