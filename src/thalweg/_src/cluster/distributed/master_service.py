"""The Master service of a task: the sessions of clients in other processes, and the steps that they run."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.shapes import as_shape
from thalweg._src.cluster.distributed import background, control, conversions
from thalweg._src.cluster.distributed.channel import StepRequest
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.expected import Expected, check_feeds
from thalweg._src.cluster.distributed.master import ClusterExecutable, MasterSession
from thalweg._src.cluster.distributed.reach import Reach
from thalweg._src.cluster.distributed.rpc import caller_is_active
from thalweg._src.cluster.distributed.worker import Worker, new_step, times_of
from thalweg._src.compiler.partition.client import CLIENT
from thalweg._src.graph.default_stacks import default_graph_scope
from thalweg._src.graph.extend import extend_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.trust import external_nodes
from thalweg._src.runtime.resources.rendezvous import rendezvous_key
from thalweg._src.runtime.resources.step import Step

_ORPHAN_SECONDS = 10.0
_MAX_PARTIAL_RUNS = 1024  # whose numbers are remembered, so that a repeated call does not start them again


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
class PreparedStep:
    """A step of a client; `fetches` are the names of the tensors and, with a circumflex, operations that it fetches."""

    session: ClientSession
    executable: ClusterExecutable
    fetches: list[str]
    feeds: list[Expected]


class ClientStep(NamedTuple):
    """A step that runs for a client."""

    session: ClientSession
    step: Step


class MasterService:
    """Answers the calls of the Master service, and runs the steps that clients ask for on channels.

    Args:
      worker: the worker of this task.
      reach: what graphs from other processes may reach.
      open_session: opens a session over the tasks of the cluster, with options and a name.
      reset_cluster: destroys the resources in some containers at the tasks that match filters.
    """

    endpoint: Endpoint

    def __init__(
        self,
        worker: Worker,
        reach: Reach,
        open_session: Callable[[ConfigProto, str], MasterSession],
        reset_cluster: Callable[[Collection[str], Collection[str]], None],
    ) -> None:
        self._worker = worker
        self._reach = reach
        self._open_session = open_session
        self._reset_cluster = reset_cluster
        self._sessions: dict[str, ClientSession] = {}
        self._prepared: dict[int, PreparedStep] = {}
        self._handles = itertools.count(1)
        self._running: dict[int, ClientStep] = {}
        self._partial_runs: deque[int] = deque(maxlen=_MAX_PARTIAL_RUNS)
        self._lock = threading.Lock()

    # -- sessions -----------------------------------------------------------------------------------------------------

    def CreateSession(self, request: control.CreateSessionRequest) -> control.CreateSessionResponse:
        self.close_orphans()
        session = self._sessions.get(request.session)
        if session is None or session.client != request.client:  # otherwise the call was repeated
            config = conversions.config_from_json(request.config_json)
            session = ClientSession(request.client, Graph(), self._open_session(config, request.session))
            with self._lock:
                self._sessions[session.session.name] = session
            if not caller_is_active():
                self._close([session.session.name])
                raise errors.CancelledError(None, None, "the caller has gone")
        devices = [conversions.attribute_message(device) for device in session.session.devices]
        return control.CreateSessionResponse(session=session.session.name, device=devices)

    def close_orphans(self) -> None:
        """Closes the sessions of clients that never opened a link, whose loss would close them."""
        orphans = [name for name, session in list(self._sessions.items()) if self._is_orphan(session)]
        if orphans:  # on another thread, since it takes calls to other tasks
            background.call(self._close, orphans)

    def _is_orphan(self, session: ClientSession) -> bool:
        is_new = time.monotonic() - session.since < _ORPHAN_SECONDS
        return not is_new and self.endpoint.find(session.client) is None

    def _session(self, name: str) -> ClientSession:
        session = self._sessions.get(name)
        if session is None:
            task = self._worker.task
            text = f"Session {name} is not found at {task}. Possibly, this master has restarted, or lost its client."
            raise errors.AbortedError(None, None, text)
        return session

    def ExtendSession(self, request: control.ExtendSessionRequest) -> None:
        session = self._session(request.session)
        graph_def = self._graph_def(request.graph_def)
        self._reach.check(external_nodes(graph_def))
        with session.lock:
            if request.replaces:
                session.graph, since = Graph(), 0
            elif not request.since <= session.num_operations <= request.until:
                raise errors.invalid(f"operations from {request.since} on for a graph of {session.num_operations}")
            else:
                since = session.num_operations - request.since  # more than 0 if the call is repeated
            del graph_def.node[:since]
            extend_graph(session.graph, graph_def, self._reach.refused)
            session.num_operations = request.until

    def _graph_def(self, content: bytes) -> Any:
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.graph_pb2 import GraphDef

        try:
            return GraphDef.FromString(content)
        except DecodeError as error:
            raise errors.invalid(f"{self._worker.task} cannot read the GraphDef of a session: {error}") from None

    def CloseSession(self, request: control.CloseSessionRequest) -> None:
        self._close([request.session])

    def _close(self, names: Collection[str]) -> None:
        # Sessions are taken out of the table under the lock, and closed without it, since that calls other tasks.
        with self._lock:
            sessions = [self._sessions.pop(name) for name in names if name in self._sessions]
            for session in sessions:
                for handle in session.handles:
                    self._prepared.pop(handle, None)
            running = [step for session, step in list(self._running.values()) if session in sessions]
        for step in running:
            step.fail(errors.CancelledError(None, None, "Session has been closed."))
        for session in sessions:
            session.session.close()

    def Reset(self, request: control.ResetRequest) -> None:
        self._reset_cluster(list(request.container), list(request.device_filters))

    # -- steps --------------------------------------------------------------------------------------------------------

    def PrepareStep(self, request: control.PrepareStepRequest) -> control.PrepareStepResponse:
        session = self._session(request.session)
        graph = session.graph
        with session.lock, default_graph_scope(graph):
            feeds, fetches = ([graph.get_tensor_by_name(n) for n in names] for names in (request.feed, request.fetch))
            targets = [graph.get_operation_by_name(name) for name in request.target]
            executable = session.session.compile(feeds, fetches, targets, request.is_partial)
        with self._lock:
            self._session(request.session)  # it may have been closed while the step was compiled
            handle = next(self._handles)
            names = [*request.fetch, *(f"^{name}" for name in request.target)]
            expected = [Expected(feed.name, feed.dtype, as_shape(feed.shape)) for feed in feeds]
            self._prepared[handle] = PreparedStep(session, executable, names, expected)
            session.handles.add(handle)
        placement = executable.placement.report() if session.session.config.log_device_placement else ""
        return control.PrepareStepResponse(handle=handle, placement=placement)

    def ReleaseStep(self, request: control.ReleaseStepRequest) -> None:
        session = self._session(request.session)
        with self._lock:
            if request.handle in session.handles:
                session.handles.discard(request.handle)
                del self._prepared[request.handle]

    def _prepared_step(self, handle: int) -> PreparedStep:
        prepared = self._prepared.get(handle)
        if prepared is None:
            task = self._worker.task
            text = f"The step is not known at {task}. Possibly, this master has restarted, or lost its client."
            raise errors.AbortedError(None, None, text)
        return prepared

    def run(self, request: StepRequest) -> tuple[Any, Any]:
        """Runs a prepared step; returns the fetched values and, if it is traced, the times of nodes."""
        prepared, step = self._prepared_step(request.handle), new_step(request)
        check_feeds(prepared.feeds, request.feeds)
        self._begin(request.step, prepared.session, step)
        try:
            return prepared.executable.run(step, request.feeds), times_of(step)
        finally:
            self._running.pop(request.step, None)

    def StartPartialRun(self, request: control.StartPartialRunRequest) -> None:
        prepared, step = self._prepared_step(request.handle), Step()
        if request.step in self._partial_runs:  # the call was repeated
            return
        self._partial_runs.append(request.step)
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
            step.rendezvous.receive(key, partial(link.push_soon, request.step, key))

    def _begin(self, number: int, session: ClientSession, step: Step) -> None:
        """Registers a step that is to run; raises its error if its session was closed, or its abort came before it."""
        # Each step either finds its session gone, or is among those that run when its session is closed. The abort of a
        # client comes on its link, and may overtake the request on the channel; the worker then remembers it.
        with self._lock:
            is_open = self._sessions.get(session.session.name) is session
            if is_open:
                self._running[number] = ClientStep(session, step)
        error = self._worker.aborted(number)
        if error is not None or not is_open:
            self._running.pop(number, None)
            raise error or errors.CancelledError(None, None, "Session has been closed.")

    # -- ends ---------------------------------------------------------------------------------------------------------

    def abort(self, number: int, error: BaseException) -> bool:
        """Ends a step of a client; returns whether it runs here."""
        running = self._running.get(number)
        if running is not None:
            running.step.fail(error)
        return running is not None

    def client_lost(self, client: str, why: str) -> int:
        """Ends the steps of a lost client and closes its sessions; returns how many these were."""
        for session, step in list(self._running.values()):
            if session.client == client:
                step.fail(errors.CancelledError(None, None, f"the client is lost: {why}"))
        names = [name for name, session in list(self._sessions.items()) if session.client == client]
        self._close(names)
        return len(names)

    def close(self) -> None:
        """Closes all sessions of clients."""
        self._close(list(self._sessions))
