"""A step with setup and teardown that are not timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Task:
    """A step, its setup before a round, and its teardown after one."""

    step: Callable[[], Any]
    before: Callable[[], Any] = _nothing
    after: Callable[[], Any] = _nothing

    def __call__(self) -> Any:
        self.before()
        result = self.step()
        self.after()
        return result
