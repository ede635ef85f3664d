"""Client: sessions whose target is a server, of this process or of another one."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import socket
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.errors import require_text
from thalweg._src.cluster.distributed import control, conversions
from thalweg._src.cluster.distributed.channel import StepRequest
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.data_plane import split_address
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.finalizers import Finalizer
from thalweg._src.cluster.distributed.flow_control import LinkedRendezvous
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.cluster.distributed.link import Link, unreachable
from thalweg._src.cluster.distributed.master import MasterSession
from thalweg._src.cluster.distributed.peers import WAIT_SECONDS, SocketPeer, await_reply
from thalweg._src.cluster.distributed.server import GRPC, find_server
from thalweg._src.compiler.place.placement import Placement
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import to_graph_def
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.source_line import with_line
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.backend import Backend, DeviceAttributes
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.session.session import BaseSession

_RESET_SECONDS = 60.0
_START_SECONDS = 20.0
_MARGIN = 2.0  # seconds longer than the calls that a master makes itself, so that its error arrives


def connect(target: str, graph: Graph, config: ConfigProto) -> Backend:
    """Returns the backend of a session with the target of a server."""
    require_text("target", target)
    server = find_server(target)
    if server is not None:
        return InProcessBackend(server.open_session(config))
    if not target.startswith(GRPC):
        raise errors.NotFoundError(
            None, None, f"no runtime serves the target {target!r}; use '' for this process or grpc://host:port"
        )
    return RemoteBackend(target.removeprefix(GRPC), graph, config)


def reset(target: str, containers: Collection[str], config: ConfigProto) -> None:
    """Destroys the resources in some containers of all tasks of a cluster, or all, and closes the master's sessions."""
    server = find_server(target)
    if server is not None:
        server.reset(containers, config.device_filters)
        return
    peer = _clients.peer(target.removeprefix(GRPC))
    request = control.ResetRequest(container=containers, device_filters=config.device_filters)
    peer.link()
    peer.call(request, control.Empty, timeout=config.operation_timeout_in_ms / 1000 or _RESET_SECONDS)


class InProcessBackend:
    """A session at a server of this process, whose master uses the graph of the session itself."""

    def __init__(self, session: MasterSession) -> None:
        self._session = session
        self.compile = session.compile

    @property
    def placed(self) -> Sequence[Device]:
        return self._session.placed

    def list_devices(self) -> list[DeviceAttributes]:
        return self._session.devices

    def close(self) -> None:
        self._session.close()


class _Clients:
    """The endpoint of this process as a client, and the servers that it is connected to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._endpoints: dict[Credentials, Endpoint] = {}
        self._peers: dict[str, SocketPeer] = {}
        self.running: dict[int, tuple[str, Step]] = {}
        self.partial: weakref.WeakValueDictionary[int, PartialStep] = weakref.WeakValueDictionary()

    def peer(self, address: str) -> SocketPeer:
        """Returns the server at an address."""
        with self._lock:
            if address not in self._peers:
                credentials = Credentials.find([split_address(address)[0]])
                if credentials not in self._endpoints:
                    name = f"client {socket.gethostname()} {os.getpid()} {secrets.token_hex(4)}"
                    self._endpoints[credentials] = Endpoint(name, self, credentials)
                self._peers[address] = SocketPeer(self._endpoints[credentials], "", address)
            return self._peers[address]

    def disconnect(self) -> None:
        """Closes the connections to all servers; a later session connects again."""
        with self._lock:
            peers, self._peers = list(self._peers.values()), {}
            endpoints, self._endpoints = list(self._endpoints.values()), {}
        for peer in peers:
            peer.close()
        for endpoint in endpoints:
            endpoint.close()

    def deliver(self, step: int, key: str, value: Any, source: str, nbytes: int) -> None:
        """Takes a fetched value of a partial run."""
        run = self.partial.get(step)
        if run is not None:
            run.deliver(key, value)

    def abort(self, step: int, error: BaseException) -> None:
        run = self.partial.get(step)
        if run is not None:
            run.fail(error)

    def tick(self) -> None:
        """Does nothing: clients keep no tensors of steps that have not started."""

    def ended(self, step: int) -> None:
        run = self.partial.get(step)
        if run is not None:
            run.done()

    def lost(self, link: Link, why: str) -> None:
        for task, step in list(self.running.values()):
            if task == link.task:
                step.fail(unreachable(task, why))
        for run in list(self.partial.values()):
            if run.peer.task == link.task:
                run.fail(unreachable(link.task, why))


_clients = _Clients()
disconnect = _clients.disconnect


class RemoteBackend:
    """A session at a server of another process, which gets a copy of the graph."""

    def __init__(self, address: str, graph: Graph, config: ConfigProto) -> None:
        self._peer = _clients.peer(address)
        self._graph = graph
        self._lock = threading.Lock()
        self._sent = 0  # version of the graph at the server
        self._edits = graph.edits
        self._timeout = config.operation_timeout_in_ms / 1000 or WAIT_SECONDS
        self._peer.wait(self._timeout)
        self._peer.link()
        self.session = secrets.token_hex(8)
        self.close = Finalizer(self, partial(_close, self._peer, self.session))
        request = control.CreateSessionRequest(
            session=self.session, client=self._peer.local_name, config_json=conversions.config_to_json(config)
        )
        try:
            session = self._peer.call(request, control.CreateSessionResponse, timeout=self._timeout + _MARGIN)
        except BaseException:
            self.close()
            raise
        self._devices = conversions.device_attributes(session.device)

    @property
    def placed(self) -> Sequence[Device]:
        raise errors.UnimplementedError(None, None, "the session is at a server in another process, which places steps")

    def list_devices(self) -> list[DeviceAttributes]:
        return self._devices

    def compile(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], is_partial: bool = False
    ) -> RemoteStep:
        with self._lock:
            self._extend()
            request = control.PrepareStepRequest(
                session=self.session,
                feed=[tensor.name for tensor in feeds],
                fetch=[tensor.name for tensor in fetches],
                target=[operation.name for operation in targets],
                is_partial=is_partial,
            )
            prepared = self._peer.call(request, control.PrepareStepResponse, timeout=self._timeout + _MARGIN)
        step = RemoteStep(self._peer, self._graph, prepared)
        release = control.ReleaseStepRequest(session=self.session, handle=prepared.handle)
        Finalizer(step, partial(self._peer.call, release, control.Empty, timeout=10), at_exit=False)
        return step

    def _extend(self) -> None:
        """Sends the operations that were added to the graph since the last step was prepared."""
        graph = self._graph
        replaces = graph.edits != self._edits
        count = len(graph.operations)
        if not replaces and self._sent == count:
            return
        graph_def = to_graph_def(graph, add_shapes=True, since=0 if replaces else self._sent)
        request = control.ExtendSessionRequest(
            session=self.session,
            graph_def=graph_def.SerializeToString(),
            replaces=replaces,
            since=self._sent,
            until=count,
        )
        self._peer.call(request, control.Empty, self._timeout)
        self._sent, self._edits = count, graph.edits


def _close(peer: SocketPeer, session: str) -> None:
    with contextlib.suppress(errors.OpError):  # the server may have gone, and the session with it
        peer.end(control.CloseSessionRequest(session=session))


class PartialStep(LinkedRendezvous):
    """A partial run at a server in another process: feeds are sent there, fetched values arrive here."""

    __slots__ = ("__weakref__", "_step", "done", "number", "peer")

    def __init__(self, peer: SocketPeer, number: int, step: Step, done: Callable[[], None]) -> None:
        super().__init__()
        self.peer, self.number, self.done = peer, number, done
        self._step = weakref.ref(step)
        step.cancellation.register(lambda error: peer.abort(number, error))

    def send(self, key: str, value: Any) -> None:
        self.peer.push(self.number, key, value)

    def fail(self, error: BaseException) -> None:
        step = self._step()
        if step is not None:
            step.fail(error)
        self.done()


class RemoteStep:
    """A step that a server in another process has prepared."""

    def __init__(self, peer: SocketPeer, graph: Graph, prepared: control.PrepareStepResponse) -> None:
        self._peer = peer
        self._graph = graph
        self._handle = prepared.handle
        self.steps = itertools.count()
        self.placement = Placement(notes=[prepared.placement] if prepared.placement else [])

    def run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        """Runs one step; blocks until it has finished or failed."""
        step_id = secrets.randbits(63)
        request = StepRequest(self._handle, step_id, feeds, step.milliseconds_left(), step.trace is not None)
        # Before the request is sent: if the link is lost after that, the step is among those that `lost` ends.
        _clients.running[step_id] = (self._peer.task, step)
        reply = None
        try:
            reply = self._peer.start(request, FrameKind.RUN_STEP)
            token = step.cancellation.register(lambda error: reply.abandon())
            values = await_reply(reply, step, self._peer.task)
            step.cancellation.deregister(token)
            return values
        except BaseException as error:
            is_lost = isinstance(error, errors.UnavailableError)  # the channel, perhaps, while the step runs on
            if step.cancelled or is_lost or not isinstance(error, errors.OpError):
                self._peer.abort(step_id, step.cancellation.error or errors.CancelledError(None, None, "interrupted"))
            if reply is not None:
                reply.discard()
            if step.cancelled:
                step.stop()
            raise self._explained(error) if isinstance(error, errors.OpError) else error from None
        finally:
            del _clients.running[step_id]

    def _explained(self, error: errors.OpError) -> errors.OpError:
        """Returns an error of the server with the operation of this graph that failed, and the line that made it."""
        name = getattr(error, "node_name", "").partition("/_")[0]  # without what the compiler appends to names
        operation = self._graph._by_name.get(name)
        if operation is None:
            return error
        text = with_line(error.message, operation.stack)
        explained: errors.OpError = type(error)(operation.node_def, operation, text)  # type: ignore[call-arg]
        return explained

    def start(self, step: Step, feeds: Sequence[Any], done: Callable[[], None]) -> None:
        """Starts a partial run at the server."""
        rendezvous = PartialStep(self._peer, secrets.randbits(63), step, done)
        _clients.partial[rendezvous.number] = rendezvous
        step.use(rendezvous)
        request = control.StartPartialRunRequest(handle=self._handle, step=rendezvous.number)
        self._peer.call(request, control.Empty, timeout=_START_SECONDS)

    def explain_fetch(self, error: Exception, values: Sequence[Any]) -> BaseException:
        return error

    def partition_graphs(self) -> list[Any]:
        return []

    @property
    def text(self) -> str:
        return f"# compiled at {self._peer.task}"


BaseSession.connect = staticmethod(connect)
BaseSession.reset_server = staticmethod(reset)
