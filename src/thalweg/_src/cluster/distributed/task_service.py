"""What a task answers: calls of the two services, the steps that channels ask for, and the messages of links."""

from __future__ import annotations

import contextlib
import logging
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.channel import ReplyStream, StepRequest, read_request, reply
from thalweg._src.cluster.distributed.codec import Codec
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost, Frame
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.frames import FrameKind, TooLarge, pack_error
from thalweg._src.cluster.distributed.limits import MAX_CHANNELS, Limits
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.cluster.distributed.master import MasterSession
from thalweg._src.cluster.distributed.master_service import MasterService
from thalweg._src.cluster.distributed.reach import Reach
from thalweg._src.cluster.distributed.rpc import MASTER, WORKER
from thalweg._src.cluster.distributed.worker import Destination, Worker
from thalweg._src.cluster.distributed.worker_service import WorkerService

_log = logging.getLogger("thalweg")


class TaskService:
    """Answers calls, channels and links for one task.

    Args:
      worker: the worker of this task.
      open_session: opens a session over the tasks of the cluster, with options and a name.
      find_peer: returns a task of a cluster.
      reset_cluster: destroys the resources in some containers at the tasks that match filters.
      reach: what graphs from other processes may reach.
    """

    info: control.TaskInfo

    def __init__(
        self,
        worker: Worker,
        open_session: Callable[[ConfigProto, str], MasterSession],
        find_peer: Callable[[ClusterDef, str], Destination],
        reset_cluster: Callable[[Collection[str], Collection[str]], None],
        reach: Reach,
    ) -> None:
        self._worker = worker
        self.master = MasterService(worker, reach, open_session, reset_cluster)
        self.worker = WorkerService(worker, reach, find_peer, lambda: self.info, self._status)
        self._channels: defaultdict[str, set[Connection]] = defaultdict(set)
        self._reply_streams: dict[ReplyStream, None] = {}  # of running steps
        self._codec = Codec(Limits.find().value_bytes)  # for clients that have no link
        self._lock = threading.Lock()
        self._started = time.monotonic()

    @property
    def endpoint(self) -> Endpoint:
        """The connections of this task."""
        return self.master.endpoint

    @endpoint.setter
    def endpoint(self, endpoint: Endpoint) -> None:
        self.master.endpoint = endpoint

    def servicers(self) -> dict[str, object]:
        """Returns the objects that answer the calls of each service."""
        return {MASTER: self.master, WORKER: self.worker}

    def _status(self) -> control.GetStatusResponse:
        running = [
            control.GetStatusResponse.RunningStep(step=step, waiting=names)
            for step, names in self._worker.waiting().items()
        ]
        return control.GetStatusResponse(
            task=self._worker.task,
            seconds=time.monotonic() - self._started,
            running=running,
            sessions=self._worker.num_sessions(),
            connected=sorted(link.task for link in self.endpoint.links.values() if link.is_open),
            slab_bytes=0 if self.endpoint.slab is None else self.endpoint.slab.bytes_in_use,
        )

    # -- channels -----------------------------------------------------------------------------------------------------

    def answer(self, connection: Connection, client: str) -> None:
        """Runs the steps that a channel asks for, one after another, until it is closed."""
        torch.set_flush_denormal(True)  # of this thread, as steps compute
        with self._lock:
            self._channels[client].add(connection)
        try:
            while len(self._channels[client]) <= MAX_CHANNELS:
                frame = connection.receive()
                if frame.kind == FrameKind.PING:
                    connection.send(FrameKind.PONG)
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
        # A client opens its link first, but each connection is taken on a thread of its own: a channel may be earlier.
        link = self.endpoint.find(client) or self.endpoint.await_link(client)
        codec = self._codec if link is None else link.codec
        try:
            request = read_request(connection, frame, codec)
        except TooLarge as error:
            connection.send(
                FrameKind.FAILED, frame.step, pack_error(errors.invalid(f"{self._worker.task} received {error}"))
            )
            return
        try:
            with self._reply_stream(connection, link if request.is_pumped else None) as stream:
                values, trace = self._run(frame.kind, request, client, stream)
            reply(connection, request.step, values, codec, trace)
        except ConnectionLost:
            raise
        except BaseException as error:
            if link is not None and frame.kind == FrameKind.RUN_PARTITIONS:
                link.abort(request.step, error)  # the master may be busy with its own part of the step
            connection.send(FrameKind.FAILED, request.step, pack_error(error))

    @contextlib.contextmanager
    def _reply_stream(self, connection: Connection, link: Link | None) -> Iterator[ReplyStream | None]:
        """Yields the stream of tensors to a master that reads the channel of its request, with heartbeats meanwhile."""
        if link is None:
            yield None
            return
        stream = ReplyStream(connection, link)
        self._reply_streams[stream] = None
        try:
            yield stream
        finally:
            del self._reply_streams[stream]
            stream.end()

    def _run(self, kind: int, request: StepRequest, client: str, stream: ReplyStream | None) -> tuple[Any, Any]:
        if kind == FrameKind.RUN_PARTITIONS:
            return self._worker.serve(request, stream, client)
        if kind == FrameKind.RUN_STEP:
            return self.master.run(request)
        raise errors.invalid(f"a frame of kind {kind} on a channel")

    # -- messages of links --------------------------------------------------------------------------------------------

    def deliver(self, step: int, key: str, value: Any, source: str, nbytes: int) -> None:
        self._worker.deliver(step, key, value, source, nbytes)

    def abort(self, step: int, error: BaseException) -> None:
        # A step of a client that begins meanwhile finds its abort remembered by the worker, or is found afterwards.
        if not self.master.abort(step, error):
            self._worker.abort(step, error)
            self.master.abort(step, error)

    # The thread of the heartbeats calls it for all links, so nothing here waits for another task.
    def tick(self) -> None:
        self._worker.expire()
        self.master.close_orphans()
        self.worker.delete_orphans(lambda task: self.endpoint.find(task) is not None)
        for stream in list(self._reply_streams):
            stream.ping()

    def ended(self, step: int) -> None:
        """Ignores the end of a partial run, which is for clients."""

    def lost(self, link: Link, why: str) -> None:
        """Ends the steps of a lost task or client, and its sessions."""
        self._worker.peer_lost(link.task, why)
        with self._lock:
            channels = list(self._channels.get(link.task, ()))
        for connection in channels:  # a thread may wait for the lost task to read
            connection.shutdown()
        closed = self.master.client_lost(link.task, why) + self.worker.delete_sessions_of(link.task)
        if closed and not self._worker.is_closed:  # it has not ended by itself, nor was this task stopped
            _log.warning("%s is lost: %s; its open sessions (%d) are closed", link.task, why, closed)

    def close(self) -> None:
        self.master.close()
