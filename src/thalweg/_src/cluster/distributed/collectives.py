"""Collectives of a task: the groups of its sessions, and those that other tasks form here as their leader."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.cluster.distributed.communicator import Communicator, Membership, Operation
from thalweg._src.cluster.distributed.group_links import WAIT_SECONDS, GroupLinks
from thalweg._src.cluster.distributed.group_store import GroupStore
from thalweg._src.cluster.distributed.group_table import MAX_GROUPS, Formed, GroupTable, Member
from thalweg._src.runtime.resources.collectives import Action, Fail, Group
from thalweg._src.runtime.resources.step import Step

_log = logging.getLogger("thalweg")
CONNECT_SECONDS = 30.0  # for the members of a complete group
_FIRST_ASK, _LAST_ASK = 0.01, 0.25  # seconds between questions whether a group is complete
_REPORT_SECONDS = 10.0


class JoinRequest(NamedTuple):
    """Joins a group at its leader, with members of one task.

    attempt: a number of this attempt; the call is repeated until the group is complete
    """

    key: int
    size: int
    local_size: int
    task: str
    attempt: int


class GroupEnd(NamedTuple):
    """A task takes part in a group no longer, after so many operations.

    message: what failed there; empty if it closed its session
    """

    number: int
    task: str
    operations: int
    message: str


class GroupPeer(Protocol):
    """Another task, as a group sees it."""

    task: str
    copies: bool  # whether the memory of a tensor may be changed once `push` has returned

    def require(self) -> None:
        """Makes sure that there is a link to the task, so that its loss is noticed."""

    def join_group(self, join: JoinRequest, is_leaving: bool = False) -> Formed | list[str]:
        """Joins a group at its leader: returns the group, or the tasks that have joined so far.

        is_leaving: the member does not wait any more; the group is returned if it is complete all the same
        """

    def get_group_value(self, number: int, key: str) -> bytes | None:
        """Reads a value of the store of a group at its leader."""

    def set_group_value(self, number: int, key: str, value: bytes) -> None:
        """Writes a value of the store of a group at its leader."""

    def push(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor."""

    def abort(self, step: int, error: BaseException) -> None:
        """Reports that a group failed, and drops the tensors that wait to be sent."""

    def end_group(self, end: GroupEnd) -> None:
        """Tells a member of a group that another task takes part no longer."""


class TaskCollectives:
    """The groups in which a task takes part or which it leads."""

    def __init__(
        self,
        task: str,
        find_peer: Callable[[ClusterDef, str], GroupPeer],
        tasks_of: Callable[[ClusterDef], Sequence[str]],
    ) -> None:
        self.task = task
        self._find_peer = find_peer
        self._tasks_of = tasks_of
        self._table = GroupTable(lambda: secrets.randbits(52) | 1)
        self._lock = threading.Lock()
        self._sessions: set[SessionCollectives] = set()
        self._ends: deque[GroupEnd] = deque(maxlen=MAX_GROUPS)  # also of groups that form
        self._links: dict[int, GroupLinks] = {}  # by the number of the group

    def session(self, config: ConfigProto, cluster: ClusterDef) -> SessionCollectives:
        """Returns the groups of a new session."""
        leader = _leader(config.experimental.collective_group_leader, self._tasks_of(cluster), self.task)
        session = SessionCollectives(self, leader, lambda task: self._find_peer(cluster, task), self._tasks_of(cluster))
        with self._lock:
            self._sessions.add(session)
        return session

    def forget(self, session: SessionCollectives) -> None:
        with self._lock:
            self._sessions.discard(session)

    def peer_lost(self, task: str, why: str) -> None:
        """Ends the groups of a lost task."""
        with self._lock:
            self._table.peer_lost(task, why)
            sessions = list(self._sessions)
        for session in sessions:
            session.peer_lost(task, why)

    # -- calls of other tasks ------------------------------------------------------------------------------------------

    def join(self, join: JoinRequest, is_leaving: bool = False) -> Formed | list[str]:
        """Has a task join a group, or leave it; returns the group, or the tasks that have joined so far."""
        member = Member(join.task, join.attempt, join.local_size, time.monotonic())
        if join.size < 2 or not 0 < join.local_size < join.size:
            raise errors.invalid(f"{join.local_size} of {join.size} members of a group cannot join it")
        with self._lock:
            if is_leaving:
                return self._table.leave(join.key, join.attempt) or []
            return self._table.join(join.key, join.size, member)

    def get_value(self, number: int, key: str) -> bytes | None:
        """Returns a value of the store of a group."""
        with self._lock:
            return self._table.values(number).get(key)

    def set_value(self, number: int, key: str, value: bytes) -> None:
        """Sets a value of the store of a group."""
        with self._lock:
            self._table.set(number, key, value)

    def end(self, end: GroupEnd) -> None:
        """Records that another task takes part in a group no longer."""
        with self._lock:
            self._ends.append(end)
            sessions = list(self._sessions)
        for session in sessions:
            session.peer_left(end)

    def ends(self, number: int) -> list[GroupEnd]:
        """Returns who has left a group."""
        with self._lock:
            return [end for end in self._ends if end.number == number]

    def connect(self, number: int, rank: int, members: Sequence[GroupPeer]) -> GroupLinks:
        """Returns the links of a group, to which its tensors come from now on."""
        for member in members:
            # Without a link to a member its loss would be noticed by nothing but the time limit of an operation.
            if member.task != self.task:
                member.require()
        links = self._links[number] = GroupLinks(number, rank, members, lambda: self._links.pop(number, None))
        return links

    def abort(self, number: int, error: BaseException) -> None:
        """Ends a group that failed at another task."""
        if number not in self._links or not isinstance(error, errors.OpError):
            return
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.abort(number, error)

    def deliver(self, number: int, key: str, value: Any) -> None:
        """Takes a tensor of a group, unless that has ended."""
        links = self._links.get(number)
        if links is not None:
            links.mailbox.deliver(key, value)


class SessionCollectives:
    """The groups of one session at this task."""

    def __init__(
        self, owner: TaskCollectives, leader: str, find: Callable[[str], GroupPeer], tasks: Sequence[str]
    ) -> None:
        self._owner = owner
        self._leader = leader
        self._find = find
        self._tasks = tasks
        self._lock = threading.Lock()
        self._groups: dict[Group, Communicator] = {}
        self._numbers: dict[int, Communicator] = {}
        self._is_closed = False

    # -- what kernels call --------------------------------------------------------------------------------------------

    def begin(self, group: Group, step: Step, plan: str, count: int, fail: Fail) -> None:
        self._communicator(group, step).begin(step, plan, count, fail)

    def start(self, group: Group, step: Step, action: Action, value: torch.Tensor, fail: Fail) -> Operation:
        return self._communicator(group, step).start(step, action, value, fail)

    def _communicator(self, group: Group, step: Step) -> Communicator:
        """Returns the members of a group, who come together anew after an error that a step has reported.

        They do so for another step only: one that the error has ended starts nothing any more.
        """
        with self._lock:
            if self._is_closed:
                raise errors.CancelledError(None, None, "Session has been closed.")
            communicator = self._groups.get(group)
            if communicator is None:
                communicator = self._groups[group] = Communicator(self, group, None)
            elif communicator.error is not None and communicator.is_reported and not communicator.has_ended(step):
                communicator = self._groups[group] = Communicator(self, group, communicator.error)
            return communicator

    # -- forming ------------------------------------------------------------------------------------------------------

    def form(self, communicator: Communicator) -> GroupLinks:
        """Waits until all members have come and are connected, and returns their links."""
        formed = self._join(communicator)
        tasks, rank = formed.tasks, formed.tasks.index(self._owner.task)

        def check() -> None:
            if communicator.error is not None:
                raise communicator.error

        store = GroupStore(formed.number, self._find(self._leader), check)
        # The number is known before `joined` tells that this task is a member, and what ended before is looked at after
        # both. So the end of another member is either in the list of ends, to which `TaskCollectives.end` adds it
        # first, or finds the communicator by its number; if both, the second one changes nothing.
        with self._lock:
            self._numbers[formed.number] = communicator
        communicator.joined(Membership(formed.number, tasks, rank, store))
        for end in self._owner.ends(formed.number):
            self.peer_left(end)
        communicator.waits_for(f"group {communicator.group.key} waits for connections between {', '.join(tasks)}")
        links = self._owner.connect(formed.number, rank, [self._find(task) for task in tasks])
        try:
            self._await_others(communicator, store, rank, tasks)
        except BaseException:
            links.close()
            raise
        key, task = communicator.group.key, self._owner.task
        _log.info("%s is connected to the other tasks of group %d: %s", task, key, ", ".join(tasks))
        return links

    def _await_others(self, communicator: Communicator, store: GroupStore, rank: int, tasks: Sequence[str]) -> None:
        """Waits until tensors may be sent: all members take them."""
        store.set(f"connected/{rank}", b"1")
        keys = {f"connected/{other}": task for other, task in enumerate(tasks)}
        if missing := store.wait(list(keys), CONNECT_SECONDS):
            absent = ", ".join(keys[key] for key in missing)
            text = f"{absent} did not connect to group {communicator.group.key} within {CONNECT_SECONDS:g} seconds"
            raise errors.DeadlineExceededError(None, None, text)

    def _others(self, tasks: Sequence[str]) -> list[str]:
        return [task for task in tasks if task != self._owner.task]

    def _join(self, communicator: Communicator) -> Formed:
        """Asks the leader until the group is complete."""
        group = communicator.group
        join = JoinRequest(group.key, group.size, group.local_size, self._owner.task, secrets.randbits(52))
        start = reported = time.monotonic()
        pause, was_there = _FIRST_ASK, False
        while True:
            if communicator.error is not None:
                return self._leave(join, communicator.error)
            try:
                joined = self._find(self._leader).join_group(join)
                if isinstance(joined, Formed):
                    return joined
                was_there = True
                missing = self._missing(group, joined)
            except errors.UnavailableError as error:
                # A leader that was never reached may not have started yet; one that has answered before is lost, and
                # what it knew of the group with it.
                if was_there or not _is_starting(error):
                    raise
                missing = f"its leader {self._leader}: {error.message}"
            now = time.monotonic()
            what = f"group {group.key} of {group.size} members waits for {missing}"
            communicator.waits_for(what)
            if now - start > WAIT_SECONDS:
                raise errors.UnavailableError(None, None, f"{what} (waited for {now - start:.0f} seconds)")
            if now - reported > _REPORT_SECONDS:
                reported = now
                _log.warning("still waiting: %s", what)
            communicator.ended.wait(pause)
            pause = min(2 * pause, _LAST_ASK)

    def _leave(self, join: JoinRequest, why: errors.OpError) -> Formed:
        """Waits no longer; returns the group if it has been completed, since the other members wait for this task."""
        with contextlib.suppress(errors.OpError):
            # The group may have been completed since the last answer: the others are then told that this member does
            # not come.
            formed = self._find(self._leader).join_group(join, is_leaving=True)
            if isinstance(formed, Formed):
                return formed
        raise why

    def _missing(self, group: Group, joined: Sequence[str]) -> str:
        """Returns the tasks that may be meant to join a group and have not."""
        jobs = {DeviceSpec.from_string(task).job for task in joined}
        absent = [task for task in self._tasks if task not in joined and DeviceSpec.from_string(task).job in jobs]
        return ", ".join(absent) or f"more members than {', '.join(joined)} have"

    # -- ends ---------------------------------------------------------------------------------------------------------

    def ended(self, communicator: Communicator, membership: Membership | None, operations: int, message: str) -> None:
        """Forgets a communicator, and tells the other members."""
        if membership is None:
            return
        with self._lock:
            self._numbers.pop(membership.number, None)
        end = GroupEnd(membership.number, self._owner.task, operations, message)
        error = errors.AbortedError(None, None, f"{self._owner.task} ended a step of {communicator}: {message}")
        for task in self._others(membership.tasks):
            with contextlib.suppress(errors.OpError):
                peer = self._find(task)
                if message:
                    peer.abort(membership.number, error)
                peer.end_group(end)

    def peer_left(self, end: GroupEnd) -> None:
        """Handles that another task takes part in a group no longer."""
        with self._lock:
            communicator = self._numbers.get(end.number)
        if communicator is not None:
            communicator.peer_left(end.task, end.operations, end.message)

    def abort(self, number: int, error: errors.OpError) -> None:
        """Ends a group that failed at another task."""
        with self._lock:
            communicator = self._numbers.get(number)
        if communicator is not None:
            communicator.aborted(error)

    def peer_lost(self, task: str, why: str) -> None:
        """Ends the groups of a lost task."""
        for communicator in self._all():
            communicator.peer_lost(task, why)

    def close(self) -> None:
        """Leaves all groups."""
        with self._lock:
            self._is_closed = True
        for communicator in self._all():
            communicator.close()
        self._owner.forget(self)

    def _all(self) -> list[Communicator]:
        with self._lock:
            return list(self._groups.values())


def _is_starting(error: errors.UnavailableError) -> bool:
    return "cannot be reached" in error.message


def _leader(requested: str, tasks: Sequence[str], local_task: str) -> str:
    """Returns the task at which groups form: the one that is requested, else the chief, else the first worker."""
    if requested:
        spec = DeviceSpec.from_string(requested)
        leader = DeviceSpec(spec.job, spec.replica or 0, spec.task or 0).to_string()
        if leader not in tasks:
            raise errors.invalid(f"collective_group_leader: expected one of {', '.join(tasks)}, received {requested!r}")
        return leader
    tasks_of_job: dict[str | None, list[tuple[int, str]]] = {}
    for task in tasks:
        spec = DeviceSpec.from_string(task)
        tasks_of_job.setdefault(spec.job, []).append((spec.task or 0, task))
    job = next((job for job in ("chief", "worker") if job in tasks_of_job), DeviceSpec.from_string(local_task).job)
    return min(tasks_of_job[job])[1]
