"""Peers: the other tasks as this one sees them, over sockets or, as a twin, in the same process."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, Protocol

from thalweg._src.base import errors
from thalweg._src.base.config import RunMetadata
from thalweg._src.cluster.distributed import control, conversions
from thalweg._src.cluster.distributed.channel import Channel, StepRequest
from thalweg._src.cluster.distributed.collectives import GroupEnd, GroupPeer, JoinRequest
from thalweg._src.cluster.distributed.connection import ConnectionLost
from thalweg._src.cluster.distributed.data_plane import split_address
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.frames import FrameKind, pack_error, unpack_error
from thalweg._src.cluster.distributed.group_table import Formed
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.cluster.distributed.rpc import Answer, Stub, caller_is_active
from thalweg._src.cluster.distributed.worker import Destination, SessionSpec, Worker
from thalweg._src.graph.ir import serialize
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.runtime.backend import DeviceAttributes, attributes_of
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import computing, threads

_log = logging.getLogger("thalweg")
_INTERRUPTIBLE = 1.0  # seconds between checks for Ctrl-C and the time limit of a step
WAIT_SECONDS = 600.0  # for tasks that have not started when a session does, and for calls that may take long
_GRACE = 0.5  # seconds that a task has to say itself what it waited for when the time is up
_ASK_SECONDS = 10.0  # for a task to say who it is
_LATE_SECONDS = 3.0  # after which a call that may be made twice is made again
_CHECK_SECONDS = 0.5  # between checks whether the caller still waits
_RECONNECT_SECONDS = 2.0  # for a task that was lost, in a step that needs it
_FIRST_REPORT_SECONDS, _REPORT_SECONDS = 5.0, 10.0  # until messages about a task that does not answer, and between them
_KNOCK_SECONDS = 2.0  # for the call whose error says why


class Reply(Protocol):
    """The answer of a task to a step that it was asked to run."""

    def wait(self, seconds: float) -> bool:
        """Waits for the answer; returns whether it is there, or the task is lost."""

    def receive(self) -> tuple[list[Any], Any]:
        """Returns the fetched values and the trace, or raises the error of the step."""

    def abandon(self) -> None:
        """Gives up the answer, and wakes a thread that waits for it."""

    def discard(self) -> None:
        """Frees what was kept for an answer that was given up; no thread waits for it any more."""


def await_reply(reply: Reply, step: Step, task: str) -> list[Any]:
    """Waits for the answer of a task, which may come late or never, and returns the values that it fetched."""
    # It waits in short pieces: Python handles Ctrl-C between two of them. The task itself has the same time limit and a
    # better message, so the limit here leaves it some time more to send that.
    while not reply.wait(_INTERRUPTIBLE):
        step.waiting.add(task)  # for the status of this task
        if step.deadline is not None and time.monotonic() >= step.deadline + _GRACE:
            step.fail(errors.DeadlineExceededError(None, None, f"Timed out waiting for {task}"))
        if step.cancelled:
            step.stop()
    step.waiting.discard(task)
    values, trace = reply.receive()
    if step.trace is not None and trace is not None:
        step.trace.add(RunMetadata.from_dict(trace))
    return values


class Peer(Destination, GroupPeer, Protocol):
    """Another task, as a master sees it."""

    task: str

    @property
    def incarnation(self) -> int:
        """A number that changes when the task is restarted; 0 if that cannot happen."""

    def create_session(self, session: SessionSpec, timeout: float) -> list[DeviceAttributes]:
        """Creates a session of this master at the task, and returns the task's devices."""

    def delete_session(self, session: str) -> None:
        """Deletes a session of this master."""

    def register(
        self,
        session: str,
        partitions: dict[str, StepGraph],
        num_fetches: int,
        incarnations: Mapping[str, int],
        routes: Mapping[str, str],
        timeout: float,
    ) -> int:
        """Registers the partitions of a step, and returns their handle.

        Args:
          session: the name of the session.
          partitions: by device.
          num_fetches: how many values they fetch.
          incarnations: those of the other tasks of the step; 0 is any.
          routes: the task that receives the tensor of each key.
          timeout: in seconds.
        """

    def deregister(self, session: str, handle: int) -> None:
        """Drops the partitions of a step."""

    def reset(self, containers: Collection[str]) -> None:
        """Destroys the resources in some containers, or all."""

    def start(self, request: StepRequest) -> Reply:
        """Asks the task to run its partitions of a step."""


class SocketPeer:
    """A task that is reached by gRPC and by the sockets of its data plane."""

    copies = True

    def __init__(self, endpoint: Endpoint, task: str, address: str) -> None:
        self.task = task
        self.address = address
        self._endpoint = endpoint
        self.local_name = endpoint.name
        split_address(address)  # an address without a port is an error now
        self.stub = Stub(address, endpoint.credentials)
        self._lock = threading.Lock()
        self._info: control.TaskInfo | None = None
        self._link: Link | None = None
        self._idle: list[Channel] = []

    # -- calls --------------------------------------------------------------------------------------------------------

    def info(self, timeout: float = _ASK_SECONDS, wait_for_ready: bool = False) -> control.TaskInfo:
        """Returns what the task says about itself, which is asked again after its link was lost."""
        if self._info is None:
            try:
                info = self.stub.call(control.GetTaskRequest(), control.TaskInfo, timeout, wait_for_ready)
            except (errors.UnavailableError, errors.DeadlineExceededError) as error:
                text = f"{self.task or 'the server'} at {self.address} cannot be reached: {error.message}"
                raise errors.UnavailableError(None, None, text) from None
            if self.task not in ("", info.task):
                raise errors.FailedPreconditionError(
                    None, None, f"{info.task} answers at {self.address}, where the cluster has {self.task}"
                )
            self._info, self.task = info, info.task
        return self._info

    def wait(self, seconds: float) -> None:
        """Waits until the task answers; raises UnavailableError if it does not within this time."""
        start, due = time.monotonic(), _FIRST_REPORT_SECONDS
        while self._info is None:
            left = seconds - (time.monotonic() - start)
            try:
                if left > 0:
                    with contextlib.suppress(errors.UnavailableError):
                        self.info(min(_CHECK_SECONDS, left), wait_for_ready=True)
                        return
                self.info(min(_KNOCK_SECONDS, max(seconds, 1.0)))  # without waiting: its error says what is wrong
            except errors.UnavailableError as error:
                if not caller_is_active():
                    raise errors.CancelledError(None, None, f"the caller has gone; {error.message}") from None
                waited = time.monotonic() - start
                if waited >= seconds:
                    text = f"{error.message} (waited for {waited:.1f} seconds)"
                    raise errors.UnavailableError(None, None, text) from None
                if waited >= due:
                    due = waited + _REPORT_SECONDS
                    _log.warning("still waiting: %s", error.message)

    def call(self, request: Any, answer: type[Answer], timeout: float = WAIT_SECONDS) -> Answer:
        """Makes a call; its error names the task."""
        try:
            return self.stub.call(request, answer, timeout)
        except errors.UnavailableError as error:
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error.message}") from None
        except errors.DeadlineExceededError:
            text = f"{self.task} did not answer the call {type(request).__name__} within {timeout:g} seconds"
            raise errors.DeadlineExceededError(None, None, text) from None

    def repeat(self, request: Any, answer: type[Answer]) -> Answer:
        """Makes a call that may be made twice, and again if its answer is late.

        gRPC repeats calls whose connection was lost; it does not repeat those that a busy task leaves unanswered.
        """
        try:
            return self.call(request, answer, timeout=_LATE_SECONDS)
        except errors.DeadlineExceededError:
            if self._endpoint.find(self.task) is None:
                raise
        return self.call(request, answer, timeout=10)

    def end(self, request: Any) -> None:
        """Makes a call that ends something at the task, unless that is lost."""
        try:
            self.repeat(request, control.Empty)
        except errors.OpError:
            if self._endpoint.find(self.task) is not None:
                raise

    def create_session(self, session: SessionSpec, timeout: float) -> list[DeviceAttributes]:
        self.wait(timeout)
        # Before the session is created: the task closes the sessions of a master when its link is lost, and nothing
        # else tells it that the master has gone.
        self.link()
        request = control.CreateWorkerSessionRequest(
            session=session.name,
            master=session.master,
            config_json=conversions.config_to_json(session.config),
            is_isolated=session.is_isolated,
            cluster=conversions.cluster_to_message(session.cluster),
        )
        return conversions.device_attributes(self.call(request, control.DeviceList, timeout).device)

    def delete_session(self, session: str) -> None:
        self.end(control.DeleteWorkerSessionRequest(session=session))

    def register(
        self,
        session: str,
        partitions: dict[str, StepGraph],
        num_fetches: int,
        incarnations: Mapping[str, int],
        routes: Mapping[str, str],
        timeout: float,
    ) -> int:
        request = control.RegisterGraphRequest(
            session=session,
            partitions=serialize.to_bytes(partitions),
            num_fetches=num_fetches,
            others=incarnations,
            routes=routes,
        )
        return self.call(request, control.RegisterGraphResponse, timeout).handle

    def deregister(self, session: str, handle: int) -> None:
        self.call(control.DeregisterGraphRequest(session=session, handle=handle), control.Empty, timeout=10)

    def reset(self, containers: Collection[str]) -> None:
        self.link()
        self.call(control.CleanupAllRequest(container=containers), control.Empty, timeout=20)

    # -- groups of collectives ----------------------------------------------------------------------------------------

    def join_group(self, join: JoinRequest, is_leaving: bool = False) -> Formed | list[str]:
        self.link()
        request = control.JoinGroupRequest(
            key=join.key,
            size=join.size,
            local_size=join.local_size,
            task=join.task,
            attempt=join.attempt,
            is_leaving=is_leaving,
        )
        group = self.repeat(request, control.JoinGroupResponse)
        return Formed(group.number, tuple(group.task), tuple(group.local_size)) if group.number else list(group.task)

    def get_group_value(self, number: int, key: str) -> bytes | None:
        answer = self.repeat(control.GetGroupValueRequest(number=number, key=key), control.GetGroupValueResponse)
        return answer.value if answer.has_value else None

    def set_group_value(self, number: int, key: str, value: bytes) -> None:
        self.repeat(control.SetGroupValueRequest(number=number, key=key, value=value), control.Empty)

    def end_group(self, end: GroupEnd) -> None:
        self.link()
        request = control.EndGroupRequest(
            number=end.number, task=end.task, operations=end.operations, message=end.message
        )
        self.repeat(request, control.Empty)

    # -- steps --------------------------------------------------------------------------------------------------------

    def link(self) -> Link:
        """Returns the open link to the task."""
        # Another link than the last may lead to a restarted task: its address, incarnation and channels are dropped
        # with the link. Without the lock, two steps would open two links, and one would close what the other has begun
        # on the first. A link that the other task has opened is used as it is: this one may be unable to reach it.
        link = self._endpoint.find(self.task)
        if link is None or link is not self._link:
            with self._lock:
                self._forget()
                link = self._endpoint.find(self.task)
                if link is None:
                    self.wait(_RECONNECT_SECONDS)
                    link = self._endpoint.open_link(self.info(), self.address)
                self._link = link
        return link

    def _forget(self) -> None:
        """Drops what was known of the task before its link was lost: it may have been restarted, at another address."""
        if self._link is not None and not self._link.is_open:
            self.stub.renew()
        self._info = None
        idle, self._idle = self._idle, []
        for channel in idle:
            channel.close()

    def require(self, incarnation: int = 0) -> None:
        if self.link().incarnation != incarnation and incarnation:
            raise errors.AbortedError(None, None, f"{self.task} was restarted")

    @property
    def incarnation(self) -> int:
        return self.link().incarnation

    def push(self, step: int, key: str, value: Any) -> None:
        try:
            self.link().push(step, key, value)
        except ConnectionLost as error:
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error}") from None

    def abort(self, step: int, error: BaseException) -> None:
        link = self._endpoint.find(self.task)
        if link is not None:
            link.abort(step, error)

    def has_committed(self, step: int, participant: str) -> bool:
        self.link()
        request = control.GetTransactionRequest(step=step, participant=participant)
        return self.repeat(request, control.GetTransactionResponse).is_committed

    def start(self, request: StepRequest, kind: FrameKind = FrameKind.RUN_PARTITIONS) -> SocketReply:
        """Asks the task to run something on a channel of its own."""
        link = self.link()
        channel = self._idle_channel(link) or self._endpoint.open_channel(self.info(), self.address, link)
        try:
            channel.send(kind, request)
        except ConnectionLost as error:
            channel.close()
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error}") from None
        except BaseException:
            channel.close()
            raise
        return SocketReply(self, channel)

    def _idle_channel(self, link: Link) -> Channel | None:
        # A step that ends late gives back a channel of an earlier link, which leads to where that did.
        with contextlib.suppress(IndexError):
            while True:
                channel = self._idle.pop()  # atomic, as the append of `give_back` is: two steps never get the same one
                if channel.link is link:
                    return channel
                channel.close()
        return None

    def give_back(self, channel: Channel) -> None:
        """Keeps a channel for the next step."""
        self._idle.append(channel)

    def close(self) -> None:
        self._forget()
        self.stub.close()


# A channel leaves WAITING once, under the lock of its reply. The thread that waits takes the answer, while another one
# may cancel the step and give it up: if the answer was first, the channel may serve the next step already, and must not
# be shut down; if not, it is shut down, and must not serve another.
class ChannelState(Enum):
    """What became of the channel on which the reply to a step is awaited."""

    WAITING = "the reply has not come"
    REUSABLE = "the reply has come, and the channel serves the next step"
    LOST = "the connection has ended, or its other end does not follow the protocol"
    ABANDONED = "the reply was given up, and the connection shut down"


class SocketReply:
    """The answer that a channel brings; the channel then serves the next step, unless the answer was given up."""

    __slots__ = ("_channel", "_is_followed", "_lock", "_peer", "_result", "_state", "connection", "error")

    def __init__(self, peer: SocketPeer, channel: Channel) -> None:
        self._peer, self._channel = peer, channel
        self.connection = channel.connection
        self._lock = threading.Lock()
        self._state = ChannelState.WAITING
        self._is_followed = False
        self._result: tuple[list[Any], Any] | None = None
        self.error: errors.OpError | None = None

    def follow(self, request: StepRequest) -> SocketReply:
        """Asks for a step that starts when this one has ended."""
        with self._lock:
            self._is_followed = self._state is ChannelState.WAITING
        if not self._is_followed:
            return self._peer.start(request)
        with contextlib.suppress(ConnectionLost):  # which is noticed when the answer is read
            self._channel.send(FrameKind.RUN_PARTITIONS, request)
        return SocketReply(self._peer, self._channel)

    def wait(self, seconds: float) -> bool:
        if self._is_there:
            return True
        if self.connection.wait(seconds):
            self.handle(_drop)
        else:
            self.ping()
        return self._is_there

    def ping(self) -> None:
        """Makes sure that a lost message is noticed."""
        with contextlib.suppress(ConnectionLost, ValueError):  # which is noticed when the answer is read
            self._channel.ping()

    @property
    def _is_there(self) -> bool:
        return self._result is not None or self.error is not None

    def handle(self, deliver: Callable[[str, Any], None]) -> bool:
        """Reads a message: delivers a tensor, or takes the answer; returns whether it was the answer."""
        state = ChannelState.REUSABLE
        try:
            self._result = self._channel.handle(deliver)
            if self._result is None:
                return False
        except errors.OpError as error:
            self.error = error
        except (ConnectionLost, ValueError) as error:  # or it does not follow the protocol
            state = ChannelState.LOST
            self._peer.stub.renew()  # a firewall that has forgotten this connection may have forgotten that one, too
            self.error = errors.UnavailableError(
                None, None, f"{self._peer.task} is lost: {self._channel.why_lost(error)}"
            )
        with self._lock:
            if self._state is ChannelState.WAITING:
                self._state = state
        if self._state is ChannelState.REUSABLE and not self._is_followed:
            self._peer.give_back(self._channel)
        return True

    def receive(self) -> tuple[list[Any], Any]:
        while not self._is_there:
            self.handle(_drop)
        if self.error is not None:
            raise self.error
        assert self._result is not None
        return self._result

    def abandon(self) -> None:
        with self._lock:
            if self._state is ChannelState.WAITING:
                self._state = ChannelState.ABANDONED
                self.connection.shutdown()

    def discard(self) -> None:
        if self._state is not ChannelState.REUSABLE:
            self.abandon()
            self._channel.drain()
            self._channel.close()


def _drop(key: str, value: Any) -> None:
    """Drops a tensor of a step that does not need it any more."""


class InProcessPeer:
    """A task in this process, which is called directly: the twin of `SocketPeer` for tests and small programs."""

    incarnation = 0
    copies = False

    def __init__(self, worker: Worker, find: Any) -> None:
        self.task = worker.task
        self._worker = worker
        self._find = find

    def create_session(self, session: SessionSpec, timeout: float) -> list[DeviceAttributes]:
        return attributes_of(self._worker.create_session(session))

    def delete_session(self, session: str) -> None:
        self._worker.delete_session(session)

    def register(
        self,
        session: str,
        partitions: dict[str, StepGraph],
        num_fetches: int,
        incarnations: Mapping[str, int],
        routes: Mapping[str, str],
        timeout: float,
    ) -> int:
        others = {task: self._find(task) for task in incarnations}
        return self._worker.register(session, partitions, num_fetches, others, incarnations, routes)

    def deregister(self, session: str, handle: int) -> None:
        self._worker.deregister(session, handle)

    def reset(self, containers: Collection[str]) -> None:
        self._worker.reset(containers)

    def join_group(self, join: JoinRequest, is_leaving: bool = False) -> Formed | list[str]:
        self.require()
        return self._worker.collectives.join(join, is_leaving)

    def get_group_value(self, number: int, key: str) -> bytes | None:
        self.require()
        return self._worker.collectives.get_value(number, key)

    def set_group_value(self, number: int, key: str, value: bytes) -> None:
        self.require()
        self._worker.collectives.set_value(number, key, value)

    def end_group(self, end: GroupEnd) -> None:
        self.require()
        self._worker.collectives.end(end)

    def require(self, incarnation: int = 0) -> None:
        if self._worker.is_closed:
            raise errors.UnavailableError(None, None, f"{self.task} is lost: it was stopped")

    def push(self, step: int, key: str, value: Any) -> None:
        self.require()
        self._worker.deliver(step, key, value)

    def abort(self, step: int, error: BaseException) -> None:
        self._worker.abort(step, unpack_error(pack_error(error)))

    def has_committed(self, step: int, participant: str) -> bool:
        self.require()
        return self._worker.transactions.answer(step, participant)

    def start(self, request: StepRequest) -> InProcessReply:
        self.require()
        return InProcessReply(self._worker, request)


class InProcessReply:
    """The answer of a task in this process, whose partitions run on a thread of the pool."""

    def __init__(self, worker: Worker, request: StepRequest) -> None:
        self._worker, self._request = worker, request
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._step: Step | None = None
        threads.start(self._run)

    def _run(self) -> None:
        try:
            with computing():
                self._result = self._worker.serve(self._request)
        except BaseException as error:
            self._error = unpack_error(pack_error(error))
            self._fail()
        self._done.set()

    def end(self, step: Step) -> None:
        """Ends the step of the master as soon as this part of it fails, which then may not have told the others."""
        self._step = step
        self._fail()

    def _fail(self) -> None:
        if self._step is not None and self._error is not None:
            self._step.fail(self._error)

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def receive(self) -> tuple[list[Any], Any]:
        self._done.wait()
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise errors.CancelledError(None, None, "Step was abandoned.")
        values, trace = self._result
        return list(values), trace

    def abandon(self) -> None:
        self._done.set()

    def discard(self) -> None:
        self.abandon()
