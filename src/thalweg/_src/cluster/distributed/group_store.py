"""GroupStore: the key-value store in which the processes of a group find each other, over the control plane."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from torch import distributed

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.control import GroupAnswer, GroupValue

_ASK_SECONDS = 0.02
_SECONDS = 30.0
_Store: Any = getattr(distributed, "Store", object)  # not in every build of torch


class GroupStore(_Store):  # type: ignore[misc]
    """A store of torch.distributed whose values are at the leader of the group: no further port, no further trust.

    It can be written and read, which is all that Gloo does; both may be repeated.
    """

    def __init__(self, number: int, call: Callable[[GroupValue], GroupAnswer], check: Callable[[], None]) -> None:
        """check: raises an error when the group has ended, so that nothing waits for values any more"""
        super().__init__()
        self._number = number
        self._call = call
        self._check = check
        self._seconds = _SECONDS

    def _ask(self, action: str, key: str, value: bytes = b"") -> bytes | None:
        request = GroupValue(number=self._number, action=action, key=key, value=base64.b64encode(value).decode())
        answer = self._call(request)
        return base64.b64decode(answer.value) if answer.is_there else None

    def set(self, key: str, value: str | bytes) -> None:
        self._ask("set", key, value.encode() if isinstance(value, str) else value)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._ask("get", key) or b""

    def check(self, keys: Sequence[str]) -> bool:
        return all(self._ask("get", key) is not None for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        until = time.monotonic() + (self._seconds if timeout is None else timeout.total_seconds())
        while not self.check(keys):
            self._check()
            if time.monotonic() > until:
                raise errors.DeadlineExceededError(None, None, f"no value of {', '.join(keys)} in the store of a group")
            time.sleep(_ASK_SECONDS)

    def set_timeout(self, timeout: timedelta) -> None:
        self._seconds = timeout.total_seconds()


def answer(values: dict[str, bytes], request: GroupValue, put: Callable[[str, bytes], Any]) -> GroupAnswer:
    """Answers a request at the leader."""
    value = base64.b64decode(request.value, validate=True)
    if request.action == "set":
        put(request.key, value)
    elif request.action != "get":
        raise errors.invalid(f"a store has no action {request.action!r}")
    found = values.get(request.key)
    return GroupAnswer(is_there=found is not None, value=base64.b64encode(found or b"").decode())
