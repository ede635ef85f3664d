"""Server: a task of a cluster in this process, with its worker, its master and their transport."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Collection
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto, ServerDef
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.distributed.collectives import TaskCollectives
from thalweg._src.cluster.distributed.credentials import Credentials, is_loopback
from thalweg._src.cluster.distributed.data_plane import is_own, joined, split_address
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.gate import Gate
from thalweg._src.cluster.distributed.handshake import Caller, Stream
from thalweg._src.cluster.distributed.limits import TaskConnections
from thalweg._src.cluster.distributed.master import MasterSession, usable
from thalweg._src.cluster.distributed.peers import WAIT_SECONDS, InProcessPeer, Peer, SocketPeer
from thalweg._src.cluster.distributed.reach import Reach
from thalweg._src.cluster.distributed.refusals import Refusals
from thalweg._src.cluster.distributed.rpc import RpcServer
from thalweg._src.cluster.distributed.task_service import TaskService
from thalweg._src.cluster.distributed.worker import Worker

PROTOCOLS = ("grpc", "inprocess")
GRPC = "grpc://"
_IPV4_LOOPBACK = "127.0.0.1"
_ADDRESS_SECONDS = 2.0  # for the address of this task to answer
_log = logging.getLogger("thalweg")
_servers: dict[str, LocalTask] = {}  # by target
_servers_lock = threading.Lock()


def task_name(job: str, index: int) -> str:
    return f"/job:{job}/replica:0/task:{index}"


def tasks_of(cluster: ClusterDef) -> dict[str, str]:
    """Returns the address of each task of a cluster."""
    return {task_name(job.name, index): address for job in cluster.job for index, address in job.tasks.items()}


def find_server(target: str) -> LocalTask | None:
    """Returns the task of a running server of this process by its target, or by any address that it serves."""
    server = _servers.get(target)
    if server is not None or not target.startswith(GRPC):
        return server
    host, port = split_address(target.removeprefix(GRPC))
    with _servers_lock:
        servers = [server for server in _servers.values() if server.port == port and not server.is_local]
    return next((server for server in servers if server.serves(host)), None)


@export("train.Server", "distribute.Server")
class Server:
    """A task of a cluster: runs the steps of sessions that connect to it, and its part of those of other tasks.

    Args:
        server_or_cluster_def: A `ServerDef`, or a cluster in any form that makes a `ClusterSpec`.
        job_name: Name of the job that the task belongs to; may be None if there is one job.
        task_index: Number of the task in its job; may be None if the job has one task.
        protocol: Protocol of the servers: "grpc".
        config: A `ConfigProto` with the options of sessions that set none.
        start: Whether the server is started now, not by `start`.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._stopped = threading.Event()
        self._running: LocalTask | None = LocalTask(self._server_def)
        # Before the interpreter shuts down: gRPC waits for its threads, which end then.
        self._close = weakref.finalize(self, self._running.stop)
        if start:
            self.start()

    @property
    def server_def(self) -> ServerDef:
        """The ServerDef of this server."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target for `tf.Session` to connect to this server."""
        return self._require().target

    def start(self) -> None:
        """Starts to serve; the constructor does so by default."""
        self._require().start()

    def join(self) -> None:
        """Blocks until the server is stopped."""
        while not self._stopped.wait(1.0):  # Ctrl-C is noticed between two waits
            pass

    def stop(self) -> None:
        """Ends the steps that run here, closes all connections and frees the port."""
        self._running = None
        self._close()
        self._stopped.set()

    def _require(self) -> LocalTask:
        running = self._running
        if running is None:
            raise errors.FailedPreconditionError(None, None, "the server was stopped")
        return running

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """Returns a server of one task in this process, at a free port."""
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)


class LocalTask:
    """What a running server consists of: worker, master, services and transport."""

    def __init__(self, server_def: ServerDef) -> None:
        self.server_def = server_def
        self.task = task_name(server_def.job_name, server_def.task_index)
        self._addresses = tasks_of(server_def.cluster)
        self._peers: dict[tuple[str, str], SocketPeer] = {}
        self._lock = threading.Lock()
        self.worker = Worker(self.task, server_def.default_session_config, self._collectives())
        reach = Reach.from_environment(self.task)
        self.service = TaskService(self.worker, self.open_session, self._find_other, self.reset, reach)
        self.is_local = server_def.protocol == "inprocess"
        self._is_started = False
        address = self._addresses[self.task]
        host, self.port = split_address(address)
        port = self.port
        if self.is_local:
            self.target = f"inprocess://{address if port else f'{host}:{id(self)}'}"
            self._addresses[self.task] = self.target.removeprefix("inprocess://")
            return
        # A program may write localhost for its own task, and the addresses of the others.
        others = (split_address(other)[0] for other in self._addresses.values())
        exposed = next((other for other in (host, *others) if not is_loopback(other)), "")
        credentials = Credentials.find([exposed or host])
        refusals = Refusals(self.task)
        self._host = host.lower()
        self._bound = "" if exposed else _IPV4_LOOPBACK if self._host == "localhost" else self._host
        self._gate = Gate(self._bound, port, self.task, credentials, TaskConnections(), refusals)
        try:
            self._rpc = RpcServer(self._gate.port, self.service.servicers(), credentials, refusals)
        except BaseException:
            self._gate.close()
            raise
        self.service.endpoint = self._endpoint = Endpoint(self.task, self.service, credentials)
        self.port = self._gate.port
        self.target = f"{GRPC}localhost:{self.port}"
        self.address = self._addresses[self.task] = joined(host, self.port)

    def start(self) -> None:
        if self._is_started:
            return
        self._is_started = True
        if not self.is_local:
            self.service.info = control.TaskInfo(
                task=self.task,
                incarnation=self._endpoint.incarnation,
                unix_name=self._gate.unix_name,
                data_port=self._gate.data_port,
            )
            self._rpc.start()
            self._gate.start(self._take, self._rpc.take)
            if not is_loopback(self._host) and not is_own(self._host):
                self._check_address()
        with _servers_lock:
            _servers[self.target] = self

    def _take(self, stream: Stream, caller: Caller) -> None:
        try:
            channel = self._endpoint.take(stream, caller)
        except (errors.OpError, OSError, ValueError):
            return  # gone, or its greeting is wrong
        if channel is not None:
            self.service.answer(*channel)

    def _check_address(self) -> None:
        """Looks where the address of this task leads, which is none of this machine: perhaps to another process."""
        peer = SocketPeer(self._endpoint, self.task, self.address)
        try:
            if peer.info(_ADDRESS_SECONDS).incarnation == self._endpoint.incarnation:
                return
        except errors.OpError as error:
            text = "the cluster's list has %s for %s, which is no address of this machine: %s"
            _log.warning(text, self.address, self.task, error.message)
            return
        finally:
            peer.close()
        self.stop()
        text = f"another process is {self.task}, at {self.address}, which is no address of this machine"
        raise errors.AlreadyExistsError(None, None, text)

    def serves(self, host: str) -> bool:
        """Returns whether connections to a host, at the port of this server, reach it."""
        name = _IPV4_LOOPBACK if host.lower() == "localhost" else host.lower()
        return name in (self._host, self._bound) or (not self._bound and is_own(name))

    # -- sessions -----------------------------------------------------------------------------------------------------

    def open_session(self, config: ConfigProto, name: str = "") -> MasterSession:
        """Opens a session over the tasks of the cluster, or of that which the client's configuration names."""
        cluster = config.cluster_def if config.cluster_def.job else self.server_def.cluster
        tasks = {**tasks_of(cluster), self.task: self._addresses[self.task]}
        peers = {task: self._peer(task, address) for task, address in usable(tasks, config.device_filters).items()}
        peers[self.task] = InProcessPeer(self.worker, peers.__getitem__)
        timeout = config.operation_timeout_in_ms / 1000 or WAIT_SECONDS
        return MasterSession(self.worker, peers, config, cluster, timeout, name)

    def _local_peer(self) -> Peer:
        return InProcessPeer(self.worker, self._find)

    def _find(self, task: str) -> Peer:
        return self._peer(task, self._addresses[task])

    def _find_other(self, cluster: ClusterDef, task: str) -> Peer:
        address = tasks_of(cluster).get(task) or self._addresses.get(task)
        if address is None:
            raise errors.NotFoundError(None, None, f"the cluster has no task {task}")
        return self._peer(task, address)

    def _peer(self, task: str, address: str) -> Peer:
        if task == self.task:
            return self._local_peer()
        if self.is_local:
            other = _servers.get(f"inprocess://{address}")
            if other is None:
                raise errors.UnavailableError(None, None, f"{task} is not running in this process")
            return other._local_peer()
        with self._lock:
            if (task, address) not in self._peers:
                self._peers[task, address] = SocketPeer(self._endpoint, task, address)
            return self._peers[task, address]

    def _collectives(self) -> TaskCollectives:
        return TaskCollectives(self.task, self._find_other, self._cluster_tasks)

    def _cluster_tasks(self, cluster: ClusterDef) -> list[str]:
        return list(tasks_of(cluster) or self._addresses)

    def reset(self, containers: Collection[str], filters: Collection[str]) -> None:
        """Destroys the resources in some containers at all tasks."""
        for task, address in usable(self._addresses, filters).items():
            self._peer(task, address).reset(containers)
        self.service.close()

    def stop(self) -> None:
        with _servers_lock:
            _servers.pop(self.target, None)
        # Sessions and steps end before the connections, so that they end with an error of their own, and not with that
        # of a connection that is lost.
        self.service.close()
        self.worker.close()
        if self.is_local:
            return
        self._gate.close()
        self._rpc.stop()
        for peer in self._peers.values():
            peer.close()
        self._endpoint.close()


def _server_def(
    description: Any, job_name: str | None, task_index: int | None, protocol: str | None, config: ConfigProto | None
) -> ServerDef:
    """Returns the complete description of a server."""
    result = ServerDef()
    if isinstance(description, ServerDef):
        result.CopyFrom(description)
    else:
        try:
            result.cluster = ClusterSpec(description).as_cluster_def()
        except TypeError:
            raise TypeError(
                "Invalid arguments for the construction of `tf.train.Server`: expected a ServerDef, a ClusterDef, "
                f"a ClusterSpec or a dictionary, received {type(description).__name__}"
            ) from None
    if job_name is not None:
        result.job_name = job_name
    if task_index is not None:
        result.task_index = task_index
    if not result.job_name:
        if len(result.cluster.job) != 1:
            raise ValueError("Must specify an explicit job name: the cluster has several jobs.")
        result.job_name = result.cluster.job[0].name
    jobs = {job.name: job for job in result.cluster.job}
    if result.job_name not in jobs:
        raise ValueError(f"The cluster has no job {result.job_name!r}; it has {', '.join(sorted(jobs))}.")
    tasks = jobs[result.job_name].tasks
    if task_index is None and not isinstance(description, ServerDef):
        if len(tasks) != 1:
            raise ValueError("Must specify an explicit task index: the job has several tasks.")
        result.task_index = next(iter(tasks))
    if result.task_index not in tasks:
        raise ValueError(f"The job {result.job_name!r} has no task {result.task_index}; it has {sorted(tasks)}.")
    result.protocol = protocol or result.protocol or "grpc"
    if result.protocol not in PROTOCOLS:
        raise errors.NotFoundError(
            None, None, f"No server factory registered for the protocol {result.protocol!r}; use 'grpc'"
        )
    if config is not None:
        result.default_session_config.MergeFrom(config)
    return result
