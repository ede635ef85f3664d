"""Gate: the port of a task. One thread accepts all connections, has those of the data plane prove themselves, and hands
them on.

Both planes share the port, so that a firewall or a service of Kubernetes has to open only that of the cluster's list.
The first byte tells them apart: the data plane begins with its name, gRPC with the preface of HTTP/2 or with TLS.

A connection that has not proved itself is a socket and a handshake of a few hundred bytes: it has no thread, it is
closed when its time is over, and the oldest is closed when there are too many.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import handshake
from thalweg._src.cluster.distributed.admission import Admission, State, group_of
from thalweg._src.cluster.distributed.background import with_pauses
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.data_plane import abstract, joined, own_port
from thalweg._src.cluster.distributed.handshake import Caller, Steps, Stream
from thalweg._src.cluster.distributed.limits import ConnectionLimits
from thalweg._src.cluster.distributed.refusals import Refusals

_AT_ONCE = 64  # connections that are accepted before those that are there already have their turn
_SHAKEN_AT_ONCE = 4  # connections that go on with their handshakes without a pause
_FEW = 32  # connections that need no rest
_REST_SECONDS = 0.002  # between two turns with more, in which steps of sessions go first
_SWEEP_SECONDS = 0.25  # between two looks for connections whose time is over
_RETRY_SECONDS = 0.05


@dataclass(slots=True, eq=False)
class _Unproved:
    """A connection during its handshake; `file` is its number, whichever object has the socket meanwhile."""

    sock: socket.socket
    file: int
    address: Any
    steps: Steps[tuple[Stream, Caller] | None]
    events: int = selectors.EVENT_READ


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens at an address; the host "" stands for all addresses, of IPv6 too where it exists.

    The port 0 stands for any free one.
    """
    is_dual = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if is_dual or ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=socket.SOMAXCONN, dualstack_ipv6=is_dual)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        hint = "; another server of this machine uses the port" if error.errno == errno.EADDRINUSE else ""
        text = f"Could not start gRPC server at {joined(host or '0.0.0.0', port)}: {why}{hint}"
        raise errors.UnknownError(None, None, text) from None


class Gate:
    """Accepts connections at the port of a task, and at a unix socket.

    Args:
        host: the address of the port; "" stands for all addresses.
        port: the port; 0 stands for any free one.
        task: the name of this task, which clients must expect.
        credentials: what clients have to prove.
        limits: how many others there may be, and for how long.
        refusals: takes the strangers that were refused.
    """

    def __init__(
        self,
        host: str,
        port: int,
        task: str,
        credentials: Credentials,
        limits: ConnectionLimits,
        refusals: Refusals,
    ) -> None:
        self._task, self._credentials, self._limits, self._refusals = task, credentials, limits, refusals
        self._admission: Admission[_Unproved] = Admission(limits)
        self.unix_name = f"thalweg-{secrets.token_hex(16)}" if sys.platform == "linux" else ""
        self._listening = [listen(host, port)]
        self.port: int = self._listening[0].getsockname()[1]
        self.data_port = own_port()
        if self.data_port:
            self._listening.append(listen(host, self.data_port))
        if self.unix_name:
            unix = socket.socket(socket.AF_UNIX)
            unix.bind(abstract(self.unix_name))
            self._listening.append(unix)
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        for sock in self._listening:
            sock.listen(socket.SOMAXCONN)
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ, sock)
        self._thread: threading.Thread | None = None

    def start(
        self, take: Callable[[Stream, Caller], None], take_grpc: Callable[[socket.socket, str, Any], None]
    ) -> None:
        """Begins to accept connections.

        Args:
            take: takes a connection of the data plane that has proved itself, on a thread of its own.
            take_grpc: takes a connection of gRPC, what counts as its address, and its address.
        """
        self._take, self._take_grpc = take, take_grpc
        self._thread = threading.Thread(target=self._serve, name="thalweg gate", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        swept = 0.0
        while True:
            ready = [key.data for key, _ in self._selector.select(_SWEEP_SECONDS)]
            if None in ready:
                return
            # Handshakes go on before connections are accepted, since to accept one may close another that is in
            # `ready`: the oldest, or one for its file.
            for unproved in with_pauses((entry for entry in ready if isinstance(entry, _Unproved)), _SHAKEN_AT_ONCE):
                self._step(unproved)
            for entry in ready:
                if isinstance(entry, socket.socket):
                    self._accept(entry)
            if len(self._admission) > _FEW:
                time.sleep(_REST_SECONDS)
            now = time.monotonic()
            if now - swept > _SWEEP_SECONDS:
                swept = now
                for unproved in self._admission.expired(now):
                    self._end(unproved)

    def _accept(self, listening: socket.socket) -> None:
        for number in range(_AT_ONCE):
            try:
                sock, address = listening.accept()
            except BlockingIOError:
                return
            except OSError:  # too many files, most likely
                if number == 0:  # later, no connection may wait for a file
                    self._make_room()
                return
            sock.setblocking(False)
            unproved = _Unproved(sock, sock.fileno(), address, self._greet(sock))
            victim = self._admission.open(unproved, _group(sock, address), time.monotonic())
            if victim is not None:
                self._end(victim)
            self._selector.register(unproved.file, selectors.EVENT_READ, unproved)

    def _greet(self, sock: socket.socket) -> Steps[tuple[Stream, Caller] | None]:
        """Returns a connection that has proved itself, and what it says about itself; None if it is one of gRPC."""
        first = b""
        while not first:
            try:
                first = sock.recv(1, socket.MSG_PEEK)
                if not first:
                    raise ConnectionError("the connection was closed")
            except BlockingIOError:
                yield selectors.EVENT_READ
        if sock.family != socket.AF_UNIX and not handshake.MAGIC.startswith(first):
            return None
        seconds = self._limits.header_seconds
        return (yield from handshake.accept(sock, self._credentials, task=self._task, seconds=seconds))

    def _make_room(self) -> None:
        """Closes a connection, since the process can take no further one, or waits until it can."""
        victim = self._admission.oldest()
        if victim is not None:
            self._end(victim)
        else:
            time.sleep(_RETRY_SECONDS)

    def _step(self, unproved: _Unproved) -> None:
        try:
            events = next(unproved.steps)
            if events != unproved.events:
                self._selector.modify(unproved.file, events, unproved)
                unproved.events = events
        except StopIteration as proved:
            self._forget(unproved)
            if proved.value is None:
                self._take_grpc(unproved.sock, _group(unproved.sock, unproved.address), unproved.address)
            else:
                self._hand_on(*proved.value)
        except Exception as error:  # refused, or gone; its end of the handshake says why
            if isinstance(error, errors.UnauthenticatedError | errors.FailedPreconditionError):
                self._refusals.log(_name(unproved), error.message.partition("\n")[0])
            self._end(unproved)

    def _hand_on(self, stream: Stream, caller: Caller) -> None:
        try:
            threading.Thread(target=self._take, args=(stream, caller), name="thalweg connection", daemon=True).start()
        except RuntimeError:  # the process can have no further thread
            stream.close()

    def _end(self, unproved: _Unproved) -> None:
        # First the selector forgets the number of the file, which may be that of another connection once it is closed.
        # Both sockets are closed since TLS has taken over the first, and a handshake that has not begun closes none.
        self._forget(unproved)
        unproved.steps.close()
        unproved.sock.close()

    def _forget(self, unproved: _Unproved) -> None:
        self._admission.close(unproved)
        with contextlib.suppress(KeyError):
            self._selector.unregister(unproved.file)

    def close(self) -> None:
        """Closes the ports, and the connections that have not proved themselves."""
        self._wake.send(b"\0")
        if self._thread is not None:
            self._thread.join()
        for unproved in self._admission.having(State.UNPROVED):
            self._end(unproved)
        for sock in (*self._listening, self._wake, self._woken):
            sock.close()
        self._selector.close()


def _name(unproved: _Unproved) -> str:
    address = unproved.address
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "a process of this machine"


def _group(sock: socket.socket, address: Any) -> str:
    """Returns what counts as one address: of a unix socket, the user of its other end."""
    return f"user {handshake.user_of(sock)}" if sock.family == socket.AF_UNIX else group_of(address[0])
