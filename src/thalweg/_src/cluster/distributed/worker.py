"""Worker: the part of a task that compiles registered partitions and runs them."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from thalweg._src.base import determinism, errors
from thalweg._src.base.config import ClusterDef, ConfigProto, RunMetadata
from thalweg._src.cluster.distributed.channel import ReplyStream, StepRequest
from thalweg._src.cluster.distributed.collectives import SessionCollectives, TaskCollectives
from thalweg._src.cluster.distributed.early_steps import Runs
from thalweg._src.cluster.distributed.expected import (
    Expected,
    check_feeds,
    check_fetches,
    check_received,
    expected_feeds,
    expected_tensors,
)
from thalweg._src.cluster.distributed.finalizers import Finalizer
from thalweg._src.cluster.distributed.flow_control import LinkedRendezvous
from thalweg._src.cluster.distributed.frames import pack_error, unpack_error
from thalweg._src.cluster.distributed.group_links import KEY
from thalweg._src.cluster.distributed.limits import Limits
from thalweg._src.cluster.distributed.link import unreachable
from thalweg._src.cluster.distributed.worker_state import WorkerSteps
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.runtime.cpu_contention import core_share, share_freed_memory
from thalweg._src.runtime.determinism import set_up
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.pipeline import compile_partitions
from thalweg._src.runtime.resources.containers import Containers, SharedContainers
from thalweg._src.runtime.resources.devices import Device, local_devices
from thalweg._src.runtime.resources.rendezvous import Receive
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.transactions import TransactionLog
from thalweg._src.runtime.trace import Trace


class Destination(Protocol):
    """Another task, as a running step sees it."""

    task: str
    copies: bool  # whether the memory of a tensor may be changed once `push` has returned

    def require(self, incarnation: int = 0) -> None:
        """Makes sure that the task can be reached, so that its loss is noticed; otherwise raises UnavailableError.

        Raises AbortedError if another incarnation of the task is expected, which a restarted one is not.
        """

    def push(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor."""

    def abort(self, step: int, error: BaseException) -> None:
        """Reports that a step failed."""

    def has_committed(self, step: int, participant: str) -> bool:
        """Returns whether the task committed the transaction of a step, in which another one took part."""


class TaskRendezvous(LinkedRendezvous):
    """The rendezvous of a step at one task: what is meant for other tasks is sent there."""

    __slots__ = ("_expected", "_replies", "_routes", "_step_id")

    def __init__(self, step_id: int) -> None:
        super().__init__()
        self._step_id = step_id
        self._routes: Mapping[str, Destination] = {}
        self._expected: Mapping[str, Sequence[Expected]] = {}
        self._replies: ReplyStream | None = None

    def route(
        self,
        routes: Mapping[str, Destination],
        expected: Mapping[str, Sequence[Expected]],
        replies: ReplyStream | None = None,
    ) -> None:
        """Sets the destinations of keys whose receivers are at other tasks, and what arrives from there.

        replies: the stream to the master that waits for this step, which its thread reads itself
        """
        self._routes, self._expected, self._replies = routes, expected, replies

    def receive(self, key: str, receiver: Receive) -> None:
        expected = self._expected.get(key)
        super().receive(key, receiver if expected is None else lambda value: receiver(check_received(expected, value)))

    def send(self, key: str, value: Any) -> None:
        destination = self._routes.get(key)
        if destination is None:
            self.deliver(key, value)
        elif self._replies is not None and destination.task == self._replies.task:
            self._replies.push(self._step_id, key, value)
        else:
            destination.push(self._step_id, key, value)


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A session that a master, a task, opens at a worker, with its options and its cluster."""

    name: str
    master: str
    config: ConfigProto
    is_isolated: bool
    cluster: ClusterDef


@dataclass(slots=True, eq=False)
class WorkerSession:
    """What a session of a master has at this worker."""

    config: ConfigProto
    devices: list[Device]
    resources: Containers
    is_isolated: bool
    collectives: SessionCollectives
    handles: set[int] = field(default_factory=set)


@dataclass(slots=True)
class RegisteredStep:
    """The partitions of a step at this worker.

    others: the other tasks that take part in the step
    incarnations: those of the other tasks that have the step, 0 for any
    routes: the destinations of tensors for them
    feeds: what the values of its feeds must be
    received: what the tensors of other tasks must be, by key
    running: the steps that run them now
    """

    executable: Executable
    others: Mapping[str, Destination]
    incarnations: Mapping[str, int]
    routes: Mapping[str, Destination]
    feeds: Sequence[Expected]
    received: Mapping[str, Sequence[Expected]]
    running: set[Step] = field(default_factory=set)


class Worker:
    """Runs partitions of steps, and keeps variables and other resources between them."""

    def __init__(self, task: str, config: ConfigProto, collectives: TaskCollectives) -> None:
        self.task = task
        self.collectives = collectives
        self._config = config
        share_freed_memory()
        if config.intra_op_parallelism_threads > 0:
            core_share.limit(config.intra_op_parallelism_threads)
        self.transactions = TransactionLog()
        self.runs = Runs()  # of the master at this task
        self.shared = SharedContainers()
        self._resources = Containers(self.shared)
        self._sessions: dict[str, WorkerSession] = {}
        self._registered: dict[int, RegisteredStep] = {}
        self._handles = itertools.count(1)
        self._lock = threading.Lock()
        self._steps: WorkerSteps[TaskRendezvous, Step] = WorkerSteps(TaskRendezvous, Limits.find().early_bytes)
        self.is_closed = False

    # -- sessions and graphs ------------------------------------------------------------------------------------------

    def create_session(self, spec: SessionSpec) -> list[Device]:
        """Creates a session of a master; its devices keep the state of kernels, and share resources with others."""
        resources = Containers(SharedContainers()) if spec.is_isolated else self._resources
        config = self.merged(spec.config)
        if config.experimental.deterministic_ops:
            set_up()
        if config.experimental.seeds_required:
            determinism.require_seeds()
        devices = local_devices(config, resources, self.task)
        collectives = self.collectives.session(config, spec.cluster)
        for device in devices:
            device.collectives = collectives
            device.transactions = self.transactions
        with self._lock:
            if spec.name in self._sessions:
                raise errors.AlreadyExistsError(None, None, f"{self.task} has a session {spec.name!r}")
            self._sessions[spec.name] = WorkerSession(config, devices, resources, spec.is_isolated, collectives)
        return devices

    def merged(self, config: ConfigProto) -> ConfigProto:
        """Returns the options of a session: its own, and those of this task that it does not set."""
        merged = ConfigProto()
        merged.CopyFrom(self._config)
        merged.MergeFrom(config)
        return merged

    def delete_session(self, session: str) -> None:
        """Ends the steps of a session and forgets it with its graphs; resources of an isolated one are destroyed.

        No step of the session takes anything from a queue after this has returned, so nothing that a later session
        puts there is lost.
        """
        # `run` looks up what it runs and adds its step under this lock: it finds nothing any more, or its step is ended
        # here.
        with self._lock:
            deleted = self._sessions.pop(session, None)
            handles = () if deleted is None else deleted.handles
            registered = [self._registered.pop(handle) for handle in handles if handle in self._registered]
            running = [step for one in registered for step in list(one.running)]
        for step in running:
            step.fail(errors.CancelledError(None, None, "Session has been closed."))
        if deleted is not None:
            deleted.collectives.close()
            if deleted.is_isolated:
                deleted.resources.clear()

    def reset(self, containers: Collection[str]) -> None:
        """Destroys the resources in some containers; without names, those in the default container and all others."""
        self.shared.reset(containers or None)
        if not containers:
            self._resources.clear()

    def register(
        self,
        session: str,
        partitions: dict[str, StepGraph],
        num_fetches: int,
        others: Mapping[str, Destination],
        incarnations: Mapping[str, int],
        routes: Mapping[str, str],
    ) -> int:
        """Compiles the partitions of a step for devices of this task, and returns the handle to run them by."""
        worker_session = self._session(session)
        for name in partitions:
            if all(device.name != name for device in worker_session.devices):
                raise errors.invalid(f"{self.task} has no device {name}")
        if unknown := sorted(set(routes.values()) - set(others)):
            raise errors.invalid(f"tensors for {unknown[0]}, which does not take part in the step")
        feeds, received = expected_feeds(partitions), expected_tensors(partitions)
        check_fetches(partitions, num_fetches)
        executable = compile_partitions(partitions, num_fetches, worker_session.config, worker_session.devices)
        destinations = {key: others[task] for key, task in routes.items()}
        with self._lock:
            handle = next(self._handles)
            self._registered[handle] = RegisteredStep(executable, others, incarnations, destinations, feeds, received)
            worker_session.handles.add(handle)
        return handle

    def deregister(self, session: str, handle: int) -> None:
        with self._lock:
            worker_session = self._sessions.get(session)
            if worker_session is not None and handle in worker_session.handles:
                worker_session.handles.discard(handle)
                self._registered.pop(handle, None)

    def session_devices(self, session: str) -> list[Device]:
        """Returns the devices of a session."""
        return self._session(session).devices

    def num_sessions(self) -> int:
        """Returns how many sessions of masters use this worker, that of this task included."""
        return len(self._sessions)

    def _session(self, session: str) -> WorkerSession:
        worker_session = self._sessions.get(session)
        if worker_session is None:
            raise errors.AbortedError(
                None, None, f"Session {session} is not found at {self.task}; the task may have been restarted"
            )
        return worker_session

    def find(self, handle: int) -> RegisteredStep:
        registered = self._registered.get(handle)
        if registered is None:
            raise errors.AbortedError(
                None, None, f"Graph handle is not found at {self.task}: {handle}. Possibly, this worker just restarted."
            )
        return registered

    # -- steps --------------------------------------------------------------------------------------------------------

    def run(
        self,
        handle: int,
        step_id: int,
        feeds: Sequence[Any],
        step: Step,
        replies: ReplyStream | None = None,
        master: str = "",
    ) -> Sequence[Any]:
        """Runs the registered partitions of a step, and tells the other tasks if that fails.

        replies: the stream to the master, if it waits for the tensors that it needs on the channel of its request
        master: the task that asks for the step, whose loss ends it
        """
        with self._lock:  # the session is deleted before or after
            registered = self.find(handle)
            registered.running.add(step)
        try:
            self.open(step_id, step, registered.others, registered.routes, registered.received, replies, master)
            try:
                # First the step is registered, then the links are looked at. A task that is lost after that ends the
                # registered step by the loss of its link; one that was lost before is connected anew here, which fails
                # if it has gone or was restarted. In the other order, a loss between the two would leave a step that
                # waits without end.
                for task, other in registered.others.items():
                    other.require(registered.incarnations.get(task, 0))
                values = registered.executable.run(step, feeds)
            except BaseException as error:
                self.failed(step_id, registered.others, error)
                raise
            with self._lock:
                self._steps.end(step_id)
            return values
        finally:
            registered.running.discard(step)

    def open(
        self,
        step_id: int,
        step: Step,
        others: Mapping[str, Destination],
        routes: Mapping[str, Destination],
        received: Mapping[str, Sequence[Expected]] = MappingProxyType({}),
        replies: ReplyStream | None = None,
        master: str = "",
    ) -> None:
        """Starts a step: its tensors arrive here from now on, and it fails if one of the other tasks does."""
        with self._lock:
            if self.is_closed:  # before it could end this step
                raise self._stopped()
            mailbox = self._steps.start(step_id, step, {*others, master}, time.monotonic())
        if isinstance(mailbox, BaseException):
            raise mailbox
        # Tensors that arrived before are in the mailbox unchecked; they are checked when a node of the step takes them.
        mailbox.route(routes, received, replies)
        step.number = step_id
        step.ask = lambda task: others[task].has_committed(step_id, self.task)
        step.use(mailbox)

    def open_partial(
        self,
        step_id: int,
        step: Step,
        others: Mapping[str, Destination],
        routes: Mapping[str, Destination],
        received: Mapping[str, Sequence[Expected]],
    ) -> None:
        """Starts a step that the client runs in parts; it is open until the client drops it."""
        # The table must not keep the step, which ends when the client has dropped it.
        self.open(step_id, weakref.proxy(step), others, routes, received)
        Finalizer(step, partial(self.end, step_id), at_exit=False)

    def end(self, step_id: int) -> None:
        """Forgets a step."""
        with self._lock:
            self._steps.end(step_id)

    def failed(self, step_id: int, others: Mapping[str, Destination], error: BaseException) -> None:
        """Forgets a step that failed, and tells the other tasks unless one of them told us."""
        with self._lock:
            self._steps.end(step_id, unpack_error(pack_error(error)))  # without the frames that hold its tensors
        # An error goes one hop: the task where it arises tells all others of the step, and those that are told tell
        # none. Every task of a step knows all others, so none is left out; if each passed it on, every failure would
        # take a message per pair of tasks.
        if not getattr(error, "is_remote", False):
            for other in others.values():
                other.abort(step_id, error)

    def serve(
        self, request: StepRequest, replies: ReplyStream | None = None, master: str = ""
    ) -> tuple[Sequence[Any], Any]:
        """Runs what another task asks for; returns the fetched values and, if it is traced, the times of nodes."""
        check_feeds(self.find(request.handle).feeds, request.feeds)
        if core_share.active:
            core_share.look()
        step = new_step(request)
        return self.run(request.handle, request.step, request.feeds, step, replies, master), times_of(step)

    def deliver(self, step: int, key: str, value: Any, source: str = "", nbytes: int = 0) -> None:
        """Takes a tensor that another task sent, perhaps before the step has started here."""
        if key.startswith(KEY):
            self.collectives.deliver(step, key, value)
            return
        # The lock is not held for the delivery: it calls receivers, which may end the step, and that takes the lock.
        with self._lock:
            mailbox = self._steps.mailbox(step, time.monotonic(), source, nbytes)
        if mailbox is not None:
            mailbox.deliver(key, value)

    def abort(self, step: int, error: BaseException) -> None:
        """Ends a step, or a group of collectives, that failed at another task."""
        self.collectives.abort(step, error)
        with self._lock:
            run = self._steps.abort(step, error)
        if run is not None:
            _fail(run, error)

    def aborted(self, step: int) -> BaseException | None:
        """Returns the error of a step that failed, or was aborted before it started."""
        with self._lock:
            return self._steps.aborted(step)

    def peer_lost(self, task: str, why: str) -> None:
        """Ends the steps in which a lost task takes part."""
        with self._lock:
            runs = self._steps.peer_lost(task)
        for run in runs:
            _fail(run, unreachable(task, why))
        self.collectives.peer_lost(task, why)

    def expire(self) -> None:
        """Drops the tensors of steps that never started, and the steps that were started early in vain."""
        self.runs.drop()
        with self._lock:
            self._steps.expire(time.monotonic())

    def waiting(self) -> dict[int, list[str]]:
        """Returns the running steps, and the blocking nodes and other tasks that each waits for."""
        with self._lock:
            runs = self._steps.runs()
        return {step: _waiting(run) for step, run in runs.items()}

    def close(self) -> None:
        """Ends all steps and destroys all resources."""
        with self._lock:
            self.is_closed = True
            runs = list(self._steps.runs().values())
            sessions, self._sessions = list(self._sessions.values()), {}
            self._registered.clear()
        for run in runs:
            _fail(run, self._stopped())
        self.transactions.close()
        for session in sessions:
            session.collectives.close()
            if session.is_isolated:
                session.resources.clear()
        self._resources.clear()
        self.shared.reset()

    def _stopped(self) -> errors.OpError:
        return errors.CancelledError(None, None, f"{self.task} was stopped")


def _fail(run: Step, error: BaseException) -> None:
    with contextlib.suppress(ReferenceError):  # a partial run that the client has dropped
        run.fail(error)


def _waiting(run: Step) -> list[str]:
    with contextlib.suppress(ReferenceError):
        return sorted(run.waiting)
    return []


def new_step(request: StepRequest) -> Step:
    """Returns a step with the time limit of a request, traced if the request says so."""
    step = Step()
    if request.timeout_in_ms:
        step.limit(request.timeout_in_ms)
    if request.is_traced:
        step.trace = Trace()
    return step


def times_of(step: Step) -> Any:
    """Returns the times of the nodes of a traced step, as fields of a RunMetadata message."""
    if step.trace is None:
        return None
    metadata = RunMetadata()
    step.trace.write_to(metadata)
    return metadata.as_dict()
