"""Collectives of a task: the groups of its sessions, and those that other tasks form here as their leader."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import torch
from torch import distributed

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.messages import Message
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.communicator import (
    CONNECT_SECONDS,
    WAIT_SECONDS,
    Communicator,
    Membership,
    Operation,
)
from thalweg._src.cluster.distributed.credentials import Credentials, is_loopback
from thalweg._src.cluster.distributed.group_store import GroupStore, answer
from thalweg._src.cluster.distributed.group_table import MAX_GROUPS, Formed, GroupTable, Member
from thalweg._src.runtime.resources.collectives import Action, Fail, Group
from thalweg._src.runtime.resources.step import Step

M = TypeVar("M", bound=Message)
_log = logging.getLogger("thalweg")
PLAIN = "THALWEG_CLUSTER_PLAIN_COLLECTIVES"  # "1": collectives may pass the network unprotected although there is TLS
_FIRST_ASK, _LAST_ASK = 0.01, 0.25  # seconds between questions whether a group is complete
_REPORT_SECONDS = 10.0


class GroupPeer(Protocol):
    """Another task, as a group sees it."""

    def require(self) -> None:
        """Makes sure that there is a link to the task, so that its loss is noticed."""

    def ask_group(self, request: Message, answer: type[M]) -> M:
        """Makes a call about a group."""


class TaskCollectives:
    """The groups in which a task takes part or which it leads."""

    def __init__(
        self,
        task: str,
        host: str,
        find_peer: Callable[[ClusterDef, str], GroupPeer],
        tasks_of: Callable[[ClusterDef], Sequence[str]],
    ) -> None:
        self.task = task
        self.credentials = Credentials()
        self._host = "127.0.0.1" if is_loopback(host) else host
        self._find_peer = find_peer
        self._tasks_of = tasks_of
        self._table = GroupTable(lambda: secrets.randbits(52) | 1)
        self._lock = threading.Lock()
        self._sessions: set[SessionCollectives] = set()
        self._ends: deque[control.EndGroup] = deque(maxlen=MAX_GROUPS)  # also of groups that form

    def session(self, config: ConfigProto, cluster: ClusterDef) -> SessionCollectives:
        """Returns the groups of a new session."""
        leader = _leader(config.experimental.collective_group_leader, self._tasks_of(cluster), self.task)
        made = SessionCollectives(self, leader, lambda task: self._find_peer(cluster, task), self._tasks_of(cluster))
        with self._lock:
            self._sessions.add(made)
        return made

    def forget(self, session: SessionCollectives) -> None:
        with self._lock:
            self._sessions.discard(session)

    def lose(self, task: str, why: str) -> None:
        """Ends the groups of a lost task."""
        with self._lock:
            self._table.lose(task, why)
            sessions = list(self._sessions)
        for session in sessions:
            session.lose(task, why)

    def answer(self, request: Message) -> Message:
        """Answers a call about a group."""
        if isinstance(request, control.JoinGroup):
            return self._join(request)
        if isinstance(request, control.GroupValue):
            with self._lock:
                put = lambda key, value: self._table.set(request.number, key, value)  # noqa: E731
                return answer(self._table.values(request.number), request, put)
        assert isinstance(request, control.EndGroup)
        with self._lock:
            self._ends.append(request)
            sessions = list(self._sessions)
        for session in sessions:
            session.left(request)
        return control.Nothing()

    def ends(self, number: int) -> list[control.EndGroup]:
        """Returns who has left a group."""
        with self._lock:
            return [end for end in self._ends if end.number == number]

    def _join(self, request: control.JoinGroup) -> control.GroupInfo:
        member = Member(request.task, request.attempt, request.local_size, time.monotonic())
        if request.size < 2 or not 0 < request.local_size < request.size:
            raise errors.invalid(f"{request.local_size} of {request.size} members of a group cannot join it")
        with self._lock:
            if request.is_leaving:
                found: Formed | list[str] = self._table.leave(request.key, request.attempt) or []
            else:
                found = self._table.join(request.key, request.size, member)
        if isinstance(found, Formed):
            return control.GroupInfo(number=found.number, task=list(found.tasks), local_size=list(found.local_sizes))
        return control.GroupInfo(number=0, task=found)

    def require_protection(self) -> None:
        """Refuses to send what TLS would protect over the plain sockets of a process group."""
        if self.credentials.tls is not None and os.environ.get(PLAIN) != "1":
            raise errors.FailedPreconditionError(
                None,
                None,
                errors.describe(
                    "the tensors of collectives would pass the network unprotected, while this cluster has TLS",
                    hint=f"{PLAIN}=1 at all tasks permits it, in a network whose other users are trusted",
                ),
            )

    def connect(self, store: GroupStore, rank: int, size: int) -> Any:
        """Returns a process group, once all its processes are connected."""
        if not (distributed.is_available() and distributed.is_gloo_available()):
            raise errors.UnimplementedError(None, None, "this build of torch has no torch.distributed with Gloo")
        gloo: Any = distributed.ProcessGroupGloo
        options = gloo._Options()
        options._timeout = timedelta(seconds=CONNECT_SECONDS)
        options._devices = [gloo.create_device(hostname=self._host)]
        options._threads = 2
        processes = gloo(store, rank, size, options)
        processes._set_default_timeout(timedelta(seconds=WAIT_SECONDS))
        return processes


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
            found = self._groups.get(group)
            if found is None or (found.error is not None and found.is_reported and not found.has_ended(step)):
                found = self._groups[group] = Communicator(self, group, None if found is None else found.error)
            return found

    # -- forming ------------------------------------------------------------------------------------------------------

    def form(self, communicator: Communicator) -> Any:
        """Waits until all members have come, connects them, and returns their process group."""
        self._owner.require_protection()
        info = self._join(communicator)
        own, tasks = self._owner.task, list(info.task)
        leader, rank = self._find(self._leader), tasks.index(own)

        def check() -> None:
            if communicator.error is not None:
                raise communicator.error

        store = GroupStore(info.number, lambda request: leader.ask_group(request, control.GroupAnswer), check)
        with self._lock:
            self._numbers[info.number] = communicator
        communicator.joined(Membership(info.number, tasks, rank, store))
        for end in self._owner.ends(info.number):
            self.left(end)
        for task in tasks:
            if task != own:
                self._find(task).require()
        check()
        communicator.waits_for(f"group {communicator.group.key} waits for connections between {', '.join(tasks)}")
        processes = self._owner.connect(store, rank, len(tasks))
        _log.info("%s is connected to the other tasks of group %d: %s", own, communicator.group.key, ", ".join(tasks))
        return processes

    def _join(self, communicator: Communicator) -> control.GroupInfo:
        """Asks the leader until the group is complete."""
        group = communicator.group
        request = control.JoinGroup(
            key=group.key,
            size=group.size,
            local_size=group.local_size,
            task=self._owner.task,
            attempt=secrets.randbits(52),
        )
        start = reported = time.monotonic()
        pause, was_there = _FIRST_ASK, False
        while True:
            if communicator.error is not None:
                return self._leave(request, communicator.error)
            try:
                info = self._find(self._leader).ask_group(request, control.GroupInfo)
                if info.number:
                    return info
                was_there = True
                missing = self._missing(group, info.task)
            except errors.UnavailableError as error:
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

    def _leave(self, request: control.JoinGroup, why: errors.OpError) -> control.GroupInfo:
        """Waits no longer; returns the group if it has been completed, since the other members wait for this task."""
        request.is_leaving = True
        with contextlib.suppress(errors.OpError):
            info = self._find(self._leader).ask_group(request, control.GroupInfo)
            if info.number:
                return info
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
        own = self._owner.task
        end = control.EndGroup(number=membership.number, task=own, operations=operations, message=message)
        for task in membership.tasks:
            if task != own:
                with contextlib.suppress(errors.OpError):
                    self._find(task).ask_group(end, control.Nothing)

    def left(self, request: control.EndGroup) -> None:
        """Handles that another task takes part in a group no longer."""
        with self._lock:
            communicator = self._numbers.get(request.number)
        if communicator is not None:
            communicator.left(request.task, request.operations, request.message)

    def lose(self, task: str, why: str) -> None:
        """Ends the groups of a lost task."""
        for communicator in self._all():
            communicator.lose(task, why)

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


def _leader(given: str, tasks: Sequence[str], own: str) -> str:
    """Returns the task at which groups form: the one that is given, else the chief, else the first worker."""
    if given:
        spec = DeviceSpec.from_string(given)
        found = DeviceSpec(spec.job, spec.replica or 0, spec.task or 0).to_string()
        if found not in tasks:
            raise errors.invalid(f"collective_group_leader: expected one of {', '.join(tasks)}, received {given!r}")
        return found
    tasks_of_job: dict[str | None, list[tuple[int, str]]] = {}
    for task in tasks:
        spec = DeviceSpec.from_string(task)
        tasks_of_job.setdefault(spec.job, []).append((spec.task or 0, task))
    job = next((job for job in ("chief", "worker") if job in tasks_of_job), DeviceSpec.from_string(own).job)
    return min(tasks_of_job[job])[1]
