"""The tasks of a cluster on Ray, as a pure state machine: events in, what to do out; no threads, no Ray, no clock."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec


class Stage(enum.Enum):
    """What the process of a task does."""

    LOCATING = "starts"  # its address is not known, or may have changed
    LOCATED = "waits for the addresses of the other tasks"
    RUNNING = "runs"
    ENDING = "is being replaced"  # since the address of another task has changed
    DONE = "is done"


@dataclass(slots=True, eq=False)
class Member:
    """A task of the cluster.

    is_awaited: no task starts before this one has an address; not so for workers that were added later
    address: where the task is, or was before its process was lost; empty if it has not had one
    """

    job: str
    index: int
    is_awaited: bool
    stage: Stage = Stage.LOCATING
    address: str = ""
    restarts: int = 0
    result: Any = None

    def __str__(self) -> str:
        return f"{self.job} {self.index}"

    @property
    def trains(self) -> bool:
        return self.job != "ps"


class Membership:
    """The tasks that there are, by job and number; its caller makes one call at a time."""

    def __init__(self) -> None:
        self._members: dict[tuple[str, int], Member] = {}
        self._numbers: dict[str, Iterator[int]] = {}

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def add(self, job: str, is_awaited: bool) -> Member:
        """Adds a task with the next number of a job; the numbers of removed tasks are not used again."""
        index = next(self._numbers.setdefault(job, itertools.count()))
        member = self._members[job, index] = Member(job, index, is_awaited)
        return member

    def remove(self, job: str, index: int) -> Member:
        """Removes a task; the others keep their numbers."""
        if (job, index) not in self._members:
            members = ", ".join(str(member) for member in self if member.job == job)
            raise ValueError(f"the cluster has no {job} {index}; it has {members}")
        return self._members.pop((job, index))

    def spec(self) -> ClusterSpec:
        """Returns the tasks that have an address."""
        jobs: dict[str, dict[int, str]] = {}
        for member in self:
            if member.address:
                jobs.setdefault(member.job, {})[member.index] = member.address
        return ClusterSpec(jobs)

    def locate(self, member: Member, address: str) -> list[Member]:
        """Notes the address of a task; returns those that run with another one and have to be replaced."""
        has_moved = member.address not in ("", address)
        member.address, member.stage = address, Stage.LOCATED
        if not has_moved:
            return []
        outdated = [other for other in self if other.stage is Stage.RUNNING]
        for other in outdated:
            other.stage = Stage.ENDING
        return outdated

    def start(self) -> list[Member]:
        """Returns the tasks that start now: those that are located, once all that are awaited have addresses."""
        if any(member.is_awaited and not member.address for member in self):
            return []
        started = [member for member in self if member.stage is Stage.LOCATED]
        for member in started:
            member.stage = Stage.RUNNING
        return started

    def end(self, member: Member, result: object) -> None:
        """Keeps the result of a task that has trained to its end."""
        member.stage, member.result = Stage.DONE, result

    def lose(self, member: Member) -> bool:
        """Locates a task again, whose process has ended; returns whether it ended by itself."""
        is_lost = member.stage is not Stage.ENDING
        member.stage = Stage.LOCATING
        member.restarts += is_lost
        return is_lost

    def results(self) -> dict[str, dict[int, Any]] | None:
        """Returns what the tasks that train have returned, by job and number; None as long as one of them trains.

        A cluster whose workers have all been removed has no results: others may be added.
        """
        trained: dict[str, dict[int, Any]] = {}
        for member in self:
            if member.trains:
                if member.stage is not Stage.DONE:
                    return None
                trained.setdefault(member.job, {})[member.index] = member.result
        return trained or None
