"""The service of a task: what other tasks and clients may ask of its worker and its master."""

from __future__ import annotations

import contextlib
import itertools
import logging
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto
from thalweg._src.base.messages import Message
from thalweg._src.base.shapes import as_shape
from thalweg._src.cluster.distributed import background, control
from thalweg._src.cluster.distributed.channel import Request, WayBack, read_request, reply
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost, Frame
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.expected import Expected, check_feeds
from thalweg._src.cluster.distributed.frames import Kind, TooLarge, pack_error
from thalweg._src.cluster.distributed.limits import MAX_CHANNELS
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.cluster.distributed.master import ClusterExecutable, MasterSession
from thalweg._src.cluster.distributed.rpc import is_waited_for
from thalweg._src.cluster.distributed.worker import Destination, Worker, new_step, times_of
from thalweg._src.compiler.partition.client import CLIENT
from thalweg._src.graph.default_stacks import default_graph_scope
from thalweg._src.graph.extend import extend_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ir import serialize
from thalweg._src.graph.op_def import EXTERNAL
from thalweg._src.graph.trust import external_nodes
from thalweg._src.runtime.resources.rendezvous import rendezvous_key
from thalweg._src.runtime.resources.step import Step

_log = logging.getLogger("thalweg")
_ORPHAN_SECONDS = 10.0
_REMEMBERED = 1024
ALLOW = "THALWEG_CLUSTER_ALLOW"  # what graphs from other processes may reach
CHECKPOINTS = ("reads checkpoints", "writes checkpoints")


@dataclass(slots=True, eq=False)
class ClientSession:
    """A session of a client in another process: its graph, and the steps that were prepared."""

    client: str
    graph: Graph
    session: MasterSession
    handles: set[int] = field(default_factory=set)
    num_operations: int = 0  # of the client's graph that were added to this one
    lock: threading.Lock = field(default_factory=threading.Lock)
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Prepared:
    """A step of a client; `fetches` are the names of the tensors and, with a circumflex, operations that it fetches."""

    session: ClientSession
    executable: ClusterExecutable
    fetches: list[str]
    feeds: list[Expected]


class RunningStep(NamedTuple):
    """A step that runs for a client."""

    session: ClientSession
    step: Step


class TaskService:
    """Answers calls and channels for one task."""

    def __init__(
        self,
        worker: Worker,
        open_session: Callable[[ConfigProto, str], MasterSession],
        find_peer: Callable[[ClusterDef, str], Destination],
        reset_cluster: Callable[[Collection[str], Collection[str]], None],
        allowed: Collection[str] = CHECKPOINTS,
    ) -> None:
        """allowed: what graphs from other processes may reach, of EXTERNAL."""
        self._worker = worker
        self._open_session = open_session
        self._find_peer = find_peer
        self._reset_cluster = reset_cluster
        self._refused = frozenset(EXTERNAL) - frozenset(allowed)
        self._masters: dict[str, control.CreateWorkerSession] = {}  # sessions of masters at other tasks
        self._sessions: dict[str, ClientSession] = {}
        self._prepared: dict[int, Prepared] = {}
        self._channels: defaultdict[str, set[Connection]] = defaultdict(set)
        self._backs: dict[WayBack, None] = {}  # of running steps
        self._handles = itertools.count(1)
        self._running: dict[int, RunningStep] = {}
        self._partial: deque[int] = deque(maxlen=_REMEMBERED)  # partial runs that were started
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.endpoint: Endpoint
        self.info: control.TaskInfo

    def handlers(self) -> dict[type[Message], Callable[[Any, memoryview], Message]]:
        """Returns the function that answers each call."""
        return {
            control.TaskRequest: lambda request, attachment: self.info,
            control.CreateWorkerSession: self._create_worker_session,
            control.DeleteWorkerSession: self._delete_worker_session,
            control.RegisterStep: self._register,
            control.Handle: self._deregister,
            control.Reset: self._reset,
            control.CreateSession: self._create_session,
            control.ExtendSession: self._extend,
            control.PrepareStep: self._prepare,
            control.ReleaseStep: self._release,
            control.StartPartial: self._start_partial,
            control.SessionName: self._close_session,
            control.StatusRequest: self._status,
            control.TransactionRequest: self._answer_transaction,
            control.JoinGroup: self._answer_group,
            control.GroupValue: self._answer_group,
            control.EndGroup: self._answer_group,
        }

    # -- the worker ---------------------------------------------------------------------------------------------------

    def _create_worker_session(self, request: control.CreateWorkerSession, attachment: memoryview) -> Message:
        created = self._masters.get(request.session)
        if created is not None and created.master == request.master:  # the call was repeated
            return control.device_list(self._worker.session_devices(request.session))
        devices = self._worker.create_session(request.session, request.config, request.is_isolated, request.cluster)
        self._masters[request.session] = request
        return control.device_list(devices)

    def _delete_worker_session(self, request: control.DeleteWorkerSession, attachment: memoryview) -> Message:
        self._masters.pop(request.session, None)
        self._worker.delete_session(request.session)
        return control.Nothing()

    def _register(self, request: control.RegisterStep, attachment: memoryview) -> Message:
        created = self._masters.get(request.session)
        cluster = ClusterDef() if created is None else created.cluster
        try:
            partitions = serialize.from_bytes(attachment)
        except ValueError as error:
            raise errors.invalid(f"{self._worker.task} {error}") from None
        self._refuse(serialize.external_nodes(partitions))
        others = {task: self._find_peer(cluster, task) for task in request.others}
        handle = self._worker.register(
            request.session, partitions, request.num_fetches, others, dict(request.others), request.routes
        )
        return control.Handle(session=request.session, handle=handle)

    def _refuse(self, found: Iterable[tuple[str, str, str]]) -> None:
        """Refuses a graph of another process with nodes, given by name, op type and reach, that are not allowed."""
        refused = [f"{op} {name!r} {reach}" for name, op, reach in found if reach in self._refused]
        allow = "python" if any("Python" in text for text in refused) else "files"
        if refused:
            raise errors.PermissionDeniedError(
                None,
                None,
                f"{self._worker.task} does not run operations that reach outside of it in graphs from other processes: "
                f"{', '.join(refused[:5])}; start the server with {ALLOW}={allow} to permit this",
            )

    def _deregister(self, request: control.Handle, attachment: memoryview) -> Message:
        self._worker.deregister(request.session, request.handle)
        return control.Nothing()

    def _reset(self, request: control.Reset, attachment: memoryview) -> Message:
        if request.is_for_cluster:
            self._reset_cluster(request.container, request.device_filters)
        else:
            self._worker.reset(request.container)
        return control.Nothing()

    def _answer_transaction(self, request: control.TransactionRequest, attachment: memoryview) -> Message:
        is_committed = self._worker.transactions.answer(request.step, request.participant)
        return control.TransactionState(is_committed=is_committed)

    def _answer_group(self, request: Message, attachment: memoryview) -> Message:
        return self._worker.collectives.answer(request)

    # -- the master ---------------------------------------------------------------------------------------------------

    def _create_session(self, request: control.CreateSession, attachment: memoryview) -> Message:
        self._forget_orphans()
        session = self._sessions.get(request.session)
        if session is None or session.client != request.client:  # otherwise the call was repeated
            session = ClientSession(request.client, Graph(), self._open_session(request.config, request.session))
            with self._lock:
                self._sessions[session.session.name] = session
            if not is_waited_for():
                self._forget([session.session.name])
                raise errors.CancelledError(None, None, "the caller has gone")
        return control.CreatedSession(session=session.session.name, device=list(session.session.devices))

    def _forget_orphans(self) -> None:
        orphans = [name for name, session in list(self._sessions.items()) if self._is_orphan(session)]
        if orphans:  # on another thread, since it takes calls to other tasks
            background.call(self._forget, orphans)

    def _is_orphan(self, session: ClientSession) -> bool:
        """Returns whether the client of a session has not opened a link, whose loss would close the session."""
        is_new = time.monotonic() - session.since < _ORPHAN_SECONDS
        return not is_new and self.endpoint.find(session.client) is None

    def _find_session(self, name: str) -> ClientSession:
        found = self._sessions.get(name)
        if found is None:
            task = self._worker.task
            text = f"Session {name} is not found at {task}. Possibly, this master has restarted, or lost its client."
            raise errors.AbortedError(None, None, text)
        return found

    def _extend(self, request: control.ExtendSession, attachment: memoryview) -> Message:
        found = self._find_session(request.session)
        graph_def = self._graph_def(attachment)
        self._refuse(external_nodes(graph_def))
        with found.lock:
            if request.replaces:
                found.graph, since = Graph(), 0
            elif not request.since <= found.num_operations <= request.until:
                raise errors.invalid(f"operations from {request.since} on for a graph of {found.num_operations}")
            else:
                since = found.num_operations - request.since  # more than 0 if the call is repeated
            del graph_def.node[:since]
            extend_graph(found.graph, graph_def, self._refused)
            found.num_operations = request.until
        return control.Nothing()

    def _graph_def(self, content: memoryview) -> Any:
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.graph_pb2 import GraphDef

        try:
            return GraphDef.FromString(bytes(content))
        except DecodeError as error:
            raise errors.invalid(f"{self._worker.task} cannot read the attached GraphDef: {error}") from None

    def _prepare(self, request: control.PrepareStep, attachment: memoryview) -> Message:
        found = self._find_session(request.session)
        graph = found.graph
        with found.lock, default_graph_scope(graph):
            feeds, fetches = ([graph.get_tensor_by_name(n) for n in names] for names in (request.feed, request.fetch))
            targets = [graph.get_operation_by_name(name) for name in request.target]
            executable = found.session.compile(feeds, fetches, targets, request.is_partial)
        with self._lock:
            handle = next(self._handles)
            names = [*request.fetch, *(f"^{name}" for name in request.target)]
            expected = [Expected(feed.name, feed.dtype, as_shape(feed.shape)) for feed in feeds]
            self._prepared[handle] = Prepared(found, executable, names, expected)
            found.handles.add(handle)
        placement = executable.placement.report() if found.session.config.log_device_placement else ""
        return control.PreparedStep(handle=handle, placement=placement)

    def _close_session(self, request: control.SessionName, attachment: memoryview) -> Message:
        self._forget([request.session])
        return control.Nothing()

    def _forget(self, names: Collection[str]) -> None:
        with self._lock:
            found = [self._sessions.pop(name) for name in names if name in self._sessions]
            for session in found:
                for handle in session.handles:
                    self._prepared.pop(handle, None)
            running = [step for session, step in list(self._running.values()) if session in found]
        for step in running:
            step.fail(errors.CancelledError(None, None, "Session has been closed."))
        for session in found:
            session.session.close()

    def _status(self, request: control.StatusRequest, attachment: memoryview) -> Message:
        endpoint = self.endpoint
        running = [control.RunningStep(step=step, waiting=names) for step, names in self._worker.waiting().items()]
        return control.Status(
            task=self._worker.task,
            seconds=time.monotonic() - self._started,
            running=running,
            sessions=self._worker.num_sessions(),
            connected=sorted(link.task for link in endpoint.links.values() if link.is_open),
            slab_bytes=0 if endpoint.slab is None else endpoint.slab.bytes_in_use,
        )

    # -- steps --------------------------------------------------------------------------------------------------------

    def answer(self, connection: Connection, client: str) -> None:
        """Runs the steps that a channel asks for, one after another, until it is closed."""
        torch.set_flush_denormal(True)  # of this thread, as steps compute
        with self._lock:
            self._channels[client].add(connection)
        try:
            while len(self._channels[client]) <= MAX_CHANNELS:
                frame = connection.receive()
                if frame.kind == Kind.PING:
                    connection.send(Kind.PONG)
                else:
                    self._answer_one(connection, frame, client)
        except (ConnectionLost, ValueError, struct.error):
            pass  # the other end has gone, or does not follow the protocol
        finally:
            with self._lock:
                self._channels[client].discard(connection)
                if not self._channels[client]:
                    del self._channels[client]
            connection.close()

    def _answer_one(self, connection: Connection, frame: Frame, client: str) -> None:
        link = self.endpoint.find(client) or self.endpoint.await_link(client)
        try:
            request = read_request(connection, frame, link, self.endpoint.limits.value_bytes)
        except TooLarge as error:
            connection.send(
                Kind.FAILED, frame.step, pack_error(errors.invalid(f"{self._worker.task} received {error}"))
            )
            return
        try:
            with self._back(connection, link if request.is_pumped else None) as back:
                values, trace = self._run(frame.kind, request, client, back)
            reply(connection, request.step, values, link, trace)
        except ConnectionLost:
            raise
        except BaseException as error:
            if link is not None and frame.kind == Kind.RUN_PARTITIONS:
                link.abort(request.step, error)  # the master may be busy with its own part of the step
            connection.send(Kind.FAILED, request.step, pack_error(error))

    @contextlib.contextmanager
    def _back(self, connection: Connection, link: Link | None) -> Iterator[WayBack | None]:
        """Yields the way back to a master that reads the channel of its request, with heartbeats meanwhile."""
        if link is None:
            yield None
            return
        back = WayBack(connection, link)
        self._backs[back] = None
        try:
            yield back
        finally:
            del self._backs[back]
            back.end()

    def _release(self, request: control.ReleaseStep, attachment: memoryview) -> Message:
        found = self._find_session(request.session)
        with self._lock:
            if request.handle in found.handles:
                found.handles.discard(request.handle)
                del self._prepared[request.handle]
        return control.Nothing()

    def _start_partial(self, request: control.StartPartial, attachment: memoryview) -> Message:
        if not 0 <= request.step < 1 << 64:
            raise errors.invalid(f"a step cannot have the number {request.step}")
        prepared, step = self._find_prepared(request.handle), Step()
        if request.step in self._partial:  # the call was repeated
            return control.Nothing()
        self._partial.append(request.step)
        link = self.endpoint.await_link(prepared.session.client)
        if link is None:
            raise errors.UnavailableError(None, None, "the client has no link")

        def done() -> None:
            self._running.pop(request.step, None)
            if step.cancelled and step.cancellation.error is not None:
                link.abort(request.step, step.cancellation.error)
            else:
                link.end(request.step)

        step.finished = threading.Event()
        self._begin(request.step, prepared.session, step)
        prepared.executable.start(step, [], done, request.step)
        for name in prepared.fetches:
            key = rendezvous_key("", CLIENT, f"fetch {name}")
            step.rendezvous.receive(key, partial(link.push, request.step, key))
        return control.Nothing()

    def _find_prepared(self, handle: int) -> Prepared:
        found = self._prepared.get(handle)
        if found is None:
            task = self._worker.task
            text = f"The step is not known at {task}. Possibly, this master has restarted, or lost its client."
            raise errors.AbortedError(None, None, text)
        return found

    def _run(self, kind: int, request: Request, client: str, back: WayBack | None) -> tuple[Any, Any]:
        if kind == Kind.RUN_PARTITIONS:
            return self._worker.serve(request, back, client)
        if kind != Kind.RUN_STEP:
            raise errors.invalid(f"a frame of kind {kind} on a channel")
        prepared, step = self._find_prepared(request.handle), new_step(request)
        check_feeds(prepared.feeds, request.feeds)
        self._begin(request.step, prepared.session, step)
        try:
            return prepared.executable.run(step, request.feeds), times_of(step)
        finally:
            self._running.pop(request.step, None)

    def _begin(self, number: int, session: ClientSession, step: Step) -> None:
        """Notes a step that is to run; raises its error if its session was closed, or its abort came before it."""
        with self._lock:
            is_open = self._sessions.get(session.session.name) is session
            if is_open:
                self._running[number] = RunningStep(session, step)
        error = self._worker.aborted(number)
        if error is not None or not is_open:
            self._running.pop(number, None)
            raise error or errors.CancelledError(None, None, "Session has been closed.")

    # -- messages of links --------------------------------------------------------------------------------------------

    def deliver(self, step: int, key: str, value: Any, source: str, nbytes: int) -> None:
        self._worker.deliver(step, key, value, source, nbytes)

    def abort(self, step: int, error: BaseException) -> None:
        running = self._running.get(step)
        if running is not None:
            running.step.fail(error)
        else:
            self._worker.abort(step, error)

    def tick(self) -> None:
        self._worker.expire()
        self._forget_orphans()
        for back in list(self._backs):
            back.ping()

    def ended(self, step: int) -> None:
        """Ignores the end of a partial run, which is for clients."""

    def lost(self, link: Link, why: str) -> None:
        """Ends the steps of a lost task or client, and its sessions."""
        self._worker.lose(link.task, why)
        with self._lock:
            channels = list(self._channels.get(link.task, ()))
        for connection in channels:  # a thread may wait for the lost task to read
            connection.shutdown()
        for session, step in list(self._running.values()):
            if session.client == link.task:
                step.fail(errors.CancelledError(None, None, f"the client is lost: {why}"))
        closed = [name for name, session in list(self._sessions.items()) if session.client == link.task]
        mastered = [name for name, created in list(self._masters.items()) if created.master == link.task]
        self._forget(closed)
        for name in mastered:
            self._masters.pop(name, None)
            self._worker.delete_session(name)
        closed += mastered
        if closed and not self._worker.is_closed:  # it has not ended by itself, nor was this task stopped
            _log.warning("%s is lost: %s; its open sessions (%d) are closed", link.task, why, len(closed))

    def close(self) -> None:
        self._forget(list(self._sessions))
