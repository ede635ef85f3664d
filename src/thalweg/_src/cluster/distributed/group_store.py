"""GroupStore: the key-value store of a group, at its leader, over the control plane."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

_ASK_SECONDS = 0.02


class Leader(Protocol):
    """The task that keeps the values of a group."""

    def get_group_value(self, number: int, key: str) -> bytes | None:
        """Reads a value of the store of a group."""

    def set_group_value(self, number: int, key: str, value: bytes) -> None:
        """Writes a value of the store of a group."""


class GroupStore:
    """The values of a group; it can be written and read, and both may be repeated."""

    def __init__(self, number: int, leader: Leader, check: Callable[[], None]) -> None:
        """check: raises an error when the group has ended, so that nothing waits for values any more"""
        self._number = number
        self._leader = leader
        self._check = check

    def set(self, key: str, value: bytes) -> None:
        self._leader.set_group_value(self._number, key, value)

    def get(self, key: str) -> bytes | None:
        return self._leader.get_group_value(self._number, key)

    def wait(self, keys: Sequence[str], seconds: float) -> list[str]:
        """Waits until the keys have values, or so long; returns those that have none."""
        until = time.monotonic() + seconds
        while missing := [key for key in keys if self.get(key) is None]:
            self._check()
            if time.monotonic() > until:
                break
            time.sleep(_ASK_SECONDS)
        return missing
