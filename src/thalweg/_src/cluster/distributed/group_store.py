"""GroupStore: the key-value store in which the processes of a group find each other, over the control plane."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Protocol

from torch import distributed

from thalweg._src.base import errors

_ASK_SECONDS = 0.02
_SECONDS = 30.0
_Store: Any = getattr(distributed, "Store", object)  # not in every build of torch


class Leader(Protocol):
    """The task that keeps the values of a group."""

    def get_group_value(self, number: int, key: str) -> bytes | None:
        """Reads a value of the store of a group."""

    def set_group_value(self, number: int, key: str, value: bytes) -> None:
        """Writes a value of the store of a group."""


class GroupStore(_Store):  # type: ignore[misc]
    """A store of torch.distributed whose values are at the leader of the group: no further port, no further trust.

    It can be written and read, which is all that Gloo does; both may be repeated.
    """

    def __init__(self, number: int, leader: Leader, check: Callable[[], None]) -> None:
        """check: raises an error when the group has ended, so that nothing waits for values any more"""
        super().__init__()
        self._number = number
        self._leader = leader
        self._check = check
        self._seconds = _SECONDS

    def set(self, key: str, value: str | bytes) -> None:
        self._leader.set_group_value(self._number, key, value.encode() if isinstance(value, str) else value)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._leader.get_group_value(self._number, key) or b""

    def check(self, keys: Sequence[str]) -> bool:
        return all(self._leader.get_group_value(self._number, key) is not None for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        until = time.monotonic() + (self._seconds if timeout is None else timeout.total_seconds())
        while not self.check(keys):
            self._check()
            if time.monotonic() > until:
                raise errors.DeadlineExceededError(None, None, f"no value of {', '.join(keys)} in the store of a group")
            time.sleep(_ASK_SECONDS)

    def set_timeout(self, timeout: timedelta) -> None:
        self._seconds = timeout.total_seconds()
