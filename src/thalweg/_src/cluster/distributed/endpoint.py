"""Endpoint: what a task or a client has to reach other tasks: its name, slab, credentials, links and channels."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import control, data_plane, handshake
from thalweg._src.cluster.distributed.channel import Channel
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.limits import Limits
from thalweg._src.cluster.distributed.link import Link, Receiver
from thalweg._src.cluster.distributed.liveness import INTERVAL, LIMIT, Liveness
from thalweg._src.cluster.distributed.slab import Slab, available

TRANSPORT = "THALWEG_CLUSTER_TRANSPORT"  # "tcp": no unix sockets and no slabs, as between hosts
LOST_AFTER = "THALWEG_CLUSTER_LOST_AFTER"  # seconds without a message after which a task is lost
SLAB_LIMIT = "THALWEG_CLUSTER_SLAB_MB"
WINDOW = "THALWEG_CLUSTER_WINDOW_MB"  # tensors that may wait at a task that does not need them yet
_SLAB_MB = 4096
_WINDOW_MB = 1024
_HANDSHAKE_SECONDS = 10.0
_LOSS_SECONDS = 2.0  # for a loss to be handled; what is ended by it is known much sooner
_TRIM_SECONDS = 10.0
_LOOK_SECONDS = 0.05
LINK, CHANNEL = "link", "channel"
_STARTED = time.time()  # about when this process started
_log = logging.getLogger("thalweg")


@dataclass(slots=True, eq=False)
class Endpoint:
    """One end of all connections of a task, with a thread that sends heartbeats and notices tasks that are lost.

    name: of the task, or of a client
    links: those that are used to send, by task
    """

    name: str
    receiver: Receiver
    credentials: Credentials
    incarnation: int = field(default_factory=lambda: secrets.randbits(52))
    slab: Slab | None = None
    links: dict[str, Link] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits.find)
    use_tcp: bool = False
    _spare: list[Link] = field(default_factory=list)  # second links, which both tasks opened at the same time
    _lock: threading.Condition = field(default_factory=threading.Condition)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _liveness: Liveness = field(default_factory=Liveness)
    _thread: threading.Thread | None = None
    _window: int = 0

    def __post_init__(self) -> None:
        self.use_tcp = os.environ.get(TRANSPORT) == "tcp"
        self._liveness = Liveness(float(os.environ.get(LOST_AFTER, LIMIT)))
        self._window = int(os.environ.get(WINDOW, _WINDOW_MB)) << 20
        if available() and not self.use_tcp:
            self.slab = Slab(int(os.environ.get(SLAB_LIMIT, _SLAB_MB)) << 20)

    # -- connecting ---------------------------------------------------------------------------------------------------

    def open_link(self, info: control.TaskInfo, address: str) -> Link:
        """Returns the link to a task that gRPC reaches at an address, connecting if there is none."""
        with self._lock:
            link = self.links.get(info.task)
        if link is not None and link.is_open:
            return link
        self._supersede(info.task, lambda other: True)
        return self._keep(self._link(self._connect(info, address, LINK), info.task, info.incarnation))

    def open_channel(self, info: control.TaskInfo, address: str, link: Link) -> Channel:
        """Returns a new channel to a task that gRPC reaches at an address."""
        sock = self._connect(info, address, CHANNEL)
        sock.settimeout(None)
        connection = Connection(sock)
        connection.limit_sends(self._liveness.limit)
        link.attach(connection)
        return Channel(connection, link)

    def _connect(self, info: control.TaskInfo, address: str, role: str) -> Any:
        host, port = data_plane.split_address(address)
        port = info.data_port or port
        try:
            sock = data_plane.connect(info.unix_name, host, port, self.use_tcp)
            data_plane.keep_alive(sock, self._liveness.limit)
            return handshake.connect(
                sock, self.credentials, host=host, role=role, task=self.name, peer=info.task, seconds=_HANDSHAKE_SECONDS
            )
        except OSError as error:
            why = f"{info.task} answers calls at {address}, but {host}, port {port}, its data port, cannot be reached"
            hint = f"; open this port too, or start the task without {data_plane.DATA_PORT}" if info.data_port else ""
            raise errors.UnavailableError(None, None, f"{why}: {error}{hint}") from None

    def _link(self, sock: Any, task: str, incarnation: int | None = None) -> Link:
        """Returns a link on a connection; if its other end opened it, without the incarnation that is expected."""

        # The other end opened this link, so it has given up those that it opened before, and those of an earlier
        # incarnation of it are over in any case. One that this task opened to the same incarnation stays: if both
        # opened one at the same time, each would otherwise close the one that the other end uses to send.
        def close_older(theirs: data_plane.Greeting) -> None:
            self._refuse_second(task, _described(theirs, sock), theirs.incarnation)
            self._supersede(task, lambda other: other.is_accepted or other.incarnation != theirs.incarnation)

        mine = data_plane.Greeting(self.incarnation, 0, _STARTED, f"process {os.getpid()} of {socket.gethostname()}")
        try:
            sock.settimeout(max(_HANDSHAKE_SECONDS, self._liveness.limit + _LOSS_SECONDS))
            connection, greeting, mapped = data_plane.greet(
                sock, mine, self.slab, close_older if incarnation is None else None
            )
            # The task was restarted after it was asked for its addresses: what it has answered is no longer true.
            if incarnation not in (None, greeting.incarnation):
                raise errors.UnavailableError(None, None, f"{task} was restarted")
        except (OSError, ConnectionLost, ValueError) as error:
            sock.close()
            raise errors.UnavailableError(None, None, f"{task} cannot be reached: {error}") from None
        except errors.OpError:
            sock.close()
            raise
        connection.limit_sends(self._liveness.limit)
        slab = self.slab if mapped is not None else None
        limit = self.limits.value_bytes
        link = Link(connection, task, self.receiver, slab, mapped, limit, self._window, greeting.incarnation)
        link.is_accepted = incarnation is None
        link.process = _described(greeting, sock)
        return link

    def _refuse_second(self, task: str, process: str, incarnation: int) -> None:
        """Refuses a process that says it is a task as which another process is connected."""
        # The connections of a process that has ended are closed by its system, so one that was restarted finds none.
        # If its machine was lost they are silent, until the limit after which a task counts as lost. What is heard of
        # meanwhile is alive, and the one that comes second is refused, whichever was started first.
        first = self.find(task)
        if first is None or first.incarnation == incarnation:
            return
        heard = first.connection.received
        while first.is_open and time.monotonic() - heard < self._liveness.limit:
            if first.connection.received > heard:
                text = (
                    f"two processes are {task}: {first.process} is connected to {self.name}; {process} is refused. "
                    "Each task of a cluster is one process: end one of the two, or start it as another task"
                )
                _log.warning(text)
                raise errors.AlreadyExistsError(None, None, text)
            first.gone.wait(_LOOK_SECONDS)

    def _supersede(self, task: str, is_over: Callable[[Link], bool]) -> None:
        """Closes links that a task has given up before it gets another one, and waits until their loss is handled.

        The loss of a link ends the sessions and steps of its task, which must not be those that follow.
        """
        for link in self._all():
            if link.task == task and (not link.is_open or is_over(link)):
                link.close("it opened another link")
                link.gone.wait(_LOSS_SECONDS)
                self._drop(link)

    def take(self, stream: handshake.Stream, caller: handshake.Caller) -> tuple[Connection, str] | None:
        """Takes a connection of another task or a client that has proved itself.

        Returns a channel with the name of its other end; a link is kept here.
        """
        data_plane.keep_alive(stream, self._liveness.limit)
        if caller.role == CHANNEL:
            return Connection(stream), caller.task
        self._keep(self._link(stream, caller.task))
        return None

    def _keep(self, link: Link) -> Link:
        """Keeps a new link, and starts to read it; if there is another one to the same task, that is used to send."""
        # Of two links, each end sends on the one that it got first, not necessarily the same, and reads both: a task
        # pushes all tensors on one link, so those of a key keep their order. A spare one is closed when a third comes:
        # the other end opens one only after it has given up the others.
        with self._lock:
            used, extra = self.links.get(link.task), list[Link]()
            if used is None or not used.is_open:
                self.links[link.task] = used = link
            else:  # both ends opened one at the same time; there is no reason for a third
                extra = [spare for spare in self._spare if spare.task == link.task]
                self._spare.append(link)
            self._liveness.seen(link.task, time.monotonic())
            self._lock.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="thalweg heartbeat", daemon=True)
                self._thread.start()
            link.start()
        for spare_link in extra:
            spare_link.close("it opened another link")
            self._drop(spare_link)
        return used

    def find(self, task: str) -> Link | None:
        """Returns the open link to a task."""
        link = self.links.get(task)
        return link if link is not None and link.is_open else None

    def await_link(self, task: str) -> Link | None:
        """Returns the link to a task that is opening one; None if it does not."""
        with self._lock:
            self._lock.wait_for(lambda: self.find(task) is not None, _HANDSHAKE_SECONDS)
            return self.find(task)

    # -- heartbeats ---------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        trimmed = time.monotonic()
        while not self._stopped.wait(min(INTERVAL, self._liveness.limit / 4)):
            # This thread must not wait for a task that does not read, since then others would not hear from this one: a
            # ping is left out while a frame is being sent, which is a sign of life itself, and if there is no room for
            # it.
            for link in self._all():
                if not link.is_open:
                    if link.gone.is_set():
                        self._drop(link)
                    continue
                self._liveness.seen(link.task, link.connection.received)
                link.ping()
            for task, seconds in self._liveness.expired(time.monotonic()).items():
                lost = self.links.get(task)
                if lost is not None:
                    lost.close(f"nothing was heard of it for {seconds:.1f} seconds")
                    self._drop(lost)
            self.receiver.tick()
            if self.slab is not None and time.monotonic() - trimmed > _TRIM_SECONDS:
                self.slab.trim()
                trimmed = time.monotonic()

    def _all(self) -> list[Link]:
        with self._lock:
            return [*self.links.values(), *self._spare]

    def _drop(self, link: Link) -> None:
        with self._lock:
            if link in self._spare:
                self._spare.remove(link)
            if self.links.get(link.task) is link:
                del self.links[link.task]
                self._liveness.forget(link.task)

    def close(self) -> None:
        """Closes all links and the slab."""
        self._stopped.set()
        for link in self._all():
            link.close(f"{self.name} was stopped")
        if self._thread is not None:
            self._thread.join(timeout=5)
        if self.slab is not None:
            self.slab.close()


def _described(greeting: data_plane.Greeting, sock: Any) -> str:
    """Returns which process is at the other end of a socket."""
    address = "" if sock.family == socket.AF_UNIX else f" at {sock.getpeername()[0]}"
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(greeting.started))
    return f"{greeting.process}{address}, started at {started},"
