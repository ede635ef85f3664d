"""Peers: the other tasks as this one sees them, over sockets or, as a twin, in the same process."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Any, Protocol, TypeVar

from thalweg._src.base import errors
from thalweg._src.base.config import RunMetadata
from thalweg._src.base.messages import Message
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.channel import Channel, Request
from thalweg._src.cluster.distributed.connection import ConnectionLost
from thalweg._src.cluster.distributed.control import DeviceInfo
from thalweg._src.cluster.distributed.data_plane import split_address
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.frames import Kind, pack_error, unpack_error
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.cluster.distributed.rpc import Stub, is_waited_for
from thalweg._src.cluster.distributed.worker import Destination, Worker
from thalweg._src.graph.ir import serialize
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import computing, threads

M = TypeVar("M", bound=Message)
_log = logging.getLogger("thalweg")
_INTERRUPTIBLE = 1.0  # seconds between checks for Ctrl-C and the time limit of a step
WAIT_SECONDS = 600.0  # for tasks that have not started when a session does, and for calls that may take long
_GRACE = 0.5  # seconds that a task has to say itself what it waited for when the time is up
_RETRY_SECONDS = 0.2
_ASK_SECONDS = 10.0  # for a task to say who it is
_REPEAT_SECONDS = 3.0
_RECONNECT_SECONDS = 2.0  # for a task that was lost, in a step that needs it
_REPORT_SECONDS = 10.0  # between messages about a task that does not answer


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


class Peer(Destination, Protocol):
    """Another task, as a master sees it."""

    task: str

    @property
    def incarnation(self) -> int:
        """A number that changes when the task is restarted; 0 if that cannot happen."""

    def create_session(self, request: control.CreateWorkerSession, timeout: float) -> list[DeviceInfo]:
        """Creates a session of this master at the task, and returns the task's devices."""

    def delete_session(self, session: str) -> None:
        """Deletes a session of this master."""

    def register(self, request: control.RegisterStep, partitions: dict[str, StepGraph], timeout: float) -> int:
        """Registers the partitions of a step, and returns their handle."""

    def deregister(self, session: str, handle: int) -> None:
        """Drops the partitions of a step."""

    def reset(self, containers: Collection[str]) -> None:
        """Destroys the resources in some containers, or all."""

    def ask_group(self, request: Message, answer: type[M]) -> M:
        """Makes a call about a group of collectives."""

    def start(self, request: Request) -> Reply:
        """Asks the task to run its partitions of a step."""


class SocketPeer:
    """A task that is reached by gRPC and by the sockets of its data plane."""

    def __init__(self, endpoint: Endpoint, task: str, address: str) -> None:
        self.task = task
        self.address = address
        self._endpoint = endpoint
        self.local_name = endpoint.name
        self._host = split_address(address)[0]
        self.stub = Stub(address, endpoint.credentials)
        self._lock = threading.Lock()
        self._info: control.TaskInfo | None = None
        self._link: Link | None = None
        self._idle: list[Channel] = []

    # -- calls --------------------------------------------------------------------------------------------------------

    def info(self, timeout: float = _ASK_SECONDS) -> control.TaskInfo:
        """Returns what the task says about itself, which is asked again after its link was lost."""
        if self._info is None:
            try:
                info = self.stub.call(control.TaskRequest(), control.TaskInfo, timeout=timeout)
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
        start, reported = time.monotonic(), 0.0
        while True:
            try:
                self.info(min(_ASK_SECONDS, max(seconds, 1.0)))
                return
            except errors.UnavailableError as error:
                if not is_waited_for():
                    raise errors.CancelledError(None, None, f"the caller has gone; {error.message}") from None
                waited = time.monotonic() - start
                if waited >= seconds:
                    raise errors.UnavailableError(
                        None,
                        None,
                        f"{error.message} (waited for {waited:.1f} seconds)",
                    ) from None
                if waited - reported >= _REPORT_SECONDS:
                    reported = waited
                    _log.warning("still waiting: %s", error.message)
            time.sleep(min(_RETRY_SECONDS, max(0.0, seconds - waited)))

    def create_session(self, request: control.CreateWorkerSession, timeout: float) -> list[DeviceInfo]:
        self.wait(timeout)
        self.link()
        return list(self.call(request, control.DeviceList, timeout=timeout).device)

    def call(self, request: Message, answer: type[M], attachment: bytes = b"", timeout: float = WAIT_SECONDS) -> M:
        """Makes a call that ends when the task is lost."""
        is_alive = lambda: self._endpoint.find(self.task) is not None  # noqa: E731
        try:
            return self.stub.call(request, answer, attachment, timeout, is_alive)
        except errors.UnavailableError as error:
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error.message}") from None
        except errors.DeadlineExceededError:
            text = f"{self.task} did not answer the call {type(request).__name__} within {timeout:g} seconds"
            raise errors.DeadlineExceededError(None, None, text) from None

    def repeat(self, request: Message, answer: type[M]) -> M:
        """Makes a call that may be made twice, again if it fails: it or its answer may have been lost on the way."""
        try:
            return self.call(request, answer, timeout=_REPEAT_SECONDS)
        except errors.OpError:
            if self._endpoint.find(self.task) is None:
                raise
        return self.call(request, answer, timeout=10)

    def end(self, request: Message) -> None:
        """Makes a call that ends something at the task, unless that is lost."""
        try:
            self.repeat(request, control.Nothing)
        except errors.OpError:
            if self._endpoint.find(self.task) is not None:
                raise

    def delete_session(self, session: str) -> None:
        self.end(control.DeleteWorkerSession(session=session))

    def register(self, request: control.RegisterStep, partitions: dict[str, StepGraph], timeout: float) -> int:
        return self.call(request, control.Handle, serialize.to_bytes(partitions), timeout).handle

    def deregister(self, session: str, handle: int) -> None:
        self.call(control.Handle(session=session, handle=handle), control.Nothing, timeout=10)

    def reset(self, containers: Collection[str]) -> None:
        self.link()
        self.call(control.Reset(container=list(containers)), control.Nothing, timeout=20)

    def ask_group(self, request: Message, answer: type[M]) -> M:
        self.link()
        return self.repeat(request, answer)

    # -- steps --------------------------------------------------------------------------------------------------------

    def link(self) -> Link:
        """Returns the open link to the task."""
        link = self._endpoint.find(self.task)
        if link is None or link is not self._link:
            with self._lock:
                self._forget()
                self.wait(_RECONNECT_SECONDS)
                link = self._link = self._endpoint.open_link(self.info(), self._host)
        return link

    def _forget(self) -> None:
        """Drops what was known of the task before its link was lost: it may have been restarted."""
        self._info = None
        idle, self._idle = self._idle, []
        for channel in idle:
            channel.close()

    def require(self, incarnation: int = 0) -> None:
        if self.link().incarnation != incarnation and incarnation:
            raise errors.AbortedError(None, None, f"{self.task} was restarted")

    @property
    def incarnation(self) -> int:
        return self.info().incarnation

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
        request = control.TransactionRequest(step=step, participant=participant)
        return self.repeat(request, control.TransactionState).is_committed

    def start(self, request: Request, kind: Kind = Kind.RUN_PARTITIONS) -> SocketReply:
        """Asks the task to run something on a channel of its own."""
        link = self.link()
        try:
            channel = self._idle.pop()
        except IndexError:
            channel = self._endpoint.open_channel(self.info(), self._host, link)
        try:
            channel.send(kind, request)
        except ConnectionLost as error:
            channel.close()
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error}") from None
        except BaseException:
            channel.close()
            raise
        return SocketReply(self, channel)

    def give_back(self, channel: Channel) -> None:
        """Keeps a channel for the next step."""
        self._idle.append(channel)

    def close(self) -> None:
        self._forget()
        self.stub.close()


class SocketReply:
    """The answer that a channel brings; the channel then serves the next step, unless the answer was given up."""

    __slots__ = ("_channel", "_is_kept", "_is_over", "_lock", "_peer", "_result", "connection", "error")

    def __init__(self, peer: SocketPeer, channel: Channel) -> None:
        self._peer, self._channel = peer, channel
        self.connection = channel.connection
        self._lock = threading.Lock()
        self._is_over = self._is_kept = False
        self._result: tuple[list[Any], Any] | None = None
        self.error: errors.OpError | None = None

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
        is_reusable = True
        try:
            self._result = self._channel.handle(deliver)
            if self._result is None:
                return False
        except errors.OpError as error:
            self.error = error
        except (ConnectionLost, ValueError) as error:  # or it does not follow the protocol
            is_reusable = False
            self.error = errors.UnavailableError(
                None, None, f"{self._peer.task} is lost: {self._channel.why_lost(error)}"
            )
        with self._lock:
            is_reusable = is_reusable and not self._is_over
            self._is_over, self._is_kept = True, is_reusable
        if is_reusable:
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
            if not self._is_over:
                self._is_over = True
                self.connection.shutdown()

    def discard(self) -> None:
        if not self._is_kept:
            self.abandon()
            self._channel.drain()
            self._channel.close()


def _drop(key: str, value: Any) -> None:
    """Drops a tensor of a step that does not need it any more."""


class InProcessPeer:
    """A task in this process, which is called directly: the twin of `SocketPeer` for tests and small programs."""

    incarnation = 0

    def __init__(self, worker: Worker, find: Any) -> None:
        self.task = worker.task
        self._worker = worker
        self._find = find

    def create_session(self, request: control.CreateWorkerSession, timeout: float) -> list[DeviceInfo]:
        devices = self._worker.create_session(request.session, request.config, request.is_isolated, request.cluster)
        return list(control.device_list(devices).device)

    def delete_session(self, session: str) -> None:
        self._worker.delete_session(session)

    def register(self, request: control.RegisterStep, partitions: dict[str, StepGraph], timeout: float) -> int:
        others = {task: self._find(task) for task in request.others}
        incarnations = dict(request.others)
        return self._worker.register(
            request.session, partitions, request.num_fetches, others, incarnations, request.routes
        )

    def deregister(self, session: str, handle: int) -> None:
        self._worker.deregister(session, handle)

    def reset(self, containers: Collection[str]) -> None:
        self._worker.reset(containers)

    def ask_group(self, request: Message, answer: type[M]) -> M:
        self.require()
        found = self._worker.collectives.answer(request)
        assert isinstance(found, answer)
        return found

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

    def start(self, request: Request) -> InProcessReply:
        self.require()
        return InProcessReply(self._worker, request)


class InProcessReply:
    """The answer of a task in this process, whose partitions run on a thread of the pool."""

    def __init__(self, worker: Worker, request: Request) -> None:
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
