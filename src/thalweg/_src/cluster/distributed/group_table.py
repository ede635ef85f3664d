"""Groups of collectives at their leader, as a pure state machine: members join until a group is complete.

A group is formed anew whenever its members join again, with a number of its own, so that nothing of an earlier one
reaches it. No threads, no sockets, no clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.devices import DeviceSpec

EXPIRY_SECONDS = 5.0  # after which a member that does not ask again has left
MAX_GROUPS = 64  # whose stores are kept
MAX_ATTEMPTS = 1 << 16  # whose results are remembered
MAX_VALUES = 1 << 14  # in the store of a group
MAX_VALUE_BYTES = 1 << 18


@dataclass(slots=True)
class Member:
    """A task that waits for a group to be complete, with so many members of it."""

    task: str
    attempt: int
    local_size: int
    last_seen: float


@dataclass(slots=True)
class _Forming:
    size: int
    members: dict[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Formed:
    """A complete group: its number, its tasks in the order of their ranks, and the values in its store."""

    number: int
    tasks: tuple[str, ...]
    local_sizes: tuple[int, ...]
    values: dict[str, bytes] = field(default_factory=dict)


def _in_order(task: str) -> tuple[str, int]:
    spec = DeviceSpec.from_string(task)
    return spec.job or "", spec.task or 0


class GroupTable:
    """The groups of one leader; its caller makes one call at a time."""

    def __init__(self, new_number: Callable[[], int]) -> None:
        self._new_number = new_number
        self._forming: dict[int, _Forming] = {}
        self._formed: OrderedDict[int, Formed] = OrderedDict()  # by the attempt of each member
        self._failed: OrderedDict[int, errors.OpError] = OrderedDict()
        self._groups: OrderedDict[int, Formed] = OrderedDict()  # by number

    def join(self, key: int, size: int, member: Member) -> Formed | list[str]:
        """Returns the group, or the tasks that have joined so far; raises an error if the members do not agree."""
        # The call is repeated until the group is complete, and when an answer was lost. So what was decided for an
        # attempt is answered again: otherwise a member whose answer was lost would begin to form another group, in
        # which it is alone.
        if member.attempt in self._formed:
            return self._formed[member.attempt]
        if member.attempt in self._failed:
            raise self._failed[member.attempt]
        forming = self._forming.setdefault(key, _Forming(size))
        for other in list(forming.members.values()):
            if member.last_seen - other.last_seen > EXPIRY_SECONDS:
                del forming.members[other.task]
        if not forming.members:
            forming.size = size
        if forming.size != size:
            first, before = next(iter(forming.members)), forming.size
            forming.members[member.task] = member
            raise self._fail(
                key, errors.invalid(f"group {key} has {before} members for {first}, and {size} for {member.task}")
            )
        forming.members[member.task] = member
        count = sum(joined.local_size for joined in forming.members.values())
        if count > size:
            sizes = ", ".join(f"{joined.local_size} at {joined.task}" for joined in forming.members.values())
            raise self._fail(key, errors.invalid(f"group {key} has {size} members, and more have come: {sizes}"))
        return sorted(forming.members, key=_in_order) if count < size else self._complete(key)

    def _complete(self, key: int) -> Formed:
        members = sorted(self._forming.pop(key).members.values(), key=lambda member: _in_order(member.task))
        tasks, sizes = tuple(member.task for member in members), tuple(member.local_size for member in members)
        formed = Formed(self._new_number(), tasks, sizes)
        self._groups[formed.number] = formed
        for member in members:
            self._formed[member.attempt] = formed
        _trim(self._groups, MAX_GROUPS)
        _trim(self._formed, MAX_ATTEMPTS)
        return formed

    def _fail(self, key: int, error: errors.OpError) -> errors.OpError:
        """Ends the forming of a group: all that wait get the error when they ask again."""
        for member in self._forming.pop(key).members.values():
            self._failed[member.attempt] = error
        _trim(self._failed, MAX_ATTEMPTS)
        return error

    def leave(self, key: int, attempt: int) -> Formed | None:
        """Forgets a member that does not wait any more; returns the group that it has completed all the same."""
        forming = self._forming.get(key)
        for member in list(forming.members.values()) if forming is not None else ():
            if forming is not None and member.attempt == attempt:
                del forming.members[member.task]
        return self._formed.get(attempt)

    def peer_lost(self, task: str, why: str) -> None:
        """Ends the forming of groups that a lost task had joined."""
        for key in [key for key, forming in self._forming.items() if task in forming.members]:
            del self._forming[key].members[task]
            self._fail(key, errors.UnavailableError(None, None, f"{task} is lost: {why}"))

    def values(self, number: int) -> dict[str, bytes]:
        """Returns the store of a group."""
        if number not in self._groups:
            raise errors.AbortedError(None, None, "The group is not known. Possibly, its leader has restarted.")
        return self._groups[number].values

    def set(self, number: int, key: str, value: bytes) -> None:
        """Puts a value into the store of a group."""
        values = self.values(number)
        if len(value) > MAX_VALUE_BYTES or (key not in values and len(values) >= MAX_VALUES):
            raise errors.ResourceExhaustedError(None, None, f"the store of a group cannot take {key!r}")
        values[key] = value


def _trim(entries: OrderedDict[int, Any], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
