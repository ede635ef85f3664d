"""Relay of the control plane: passes bytes on between connections of gRPC at the port of a task and its gRPC server.

The gate has accepted them, and a gRPC server takes no sockets that others have accepted: it listens at a unix socket,
with one connection for each of theirs. Steps do not come this way. A call takes about 30 microseconds longer for it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import data_plane
from thalweg._src.cluster.distributed.admission import Admission, State
from thalweg._src.cluster.distributed.limits import ConnectionLimits
from thalweg._src.cluster.distributed.refusals import Refusals

_BYTES = 1 << 18
_LOST_SECONDS = 10.0  # without an answer of the client's system
_SWEEP_SECONDS = 0.25  # between two looks for connections whose time is over
_READ_SECONDS = 0.25  # for a client to read why it was refused, before its connection is closed
_QUESTIONS = 8  # calls without a proof that a connection may make between two looks, on behalf of several channels


@dataclass(slots=True, eq=False)
class _End:
    """One of the two sockets of a connection; `unsent` was received from it and is for the other one."""

    sock: socket.socket
    connection: _Connection
    unsent: bytes = b""
    events: int = 0  # that the selector waits for


class _Connection:
    """A connection of a client, and that to the gRPC server which stands for it there."""

    def __init__(self, number: int, address: str, client: socket.socket, server: socket.socket) -> None:
        self.number, self.address = number, address
        self.client, self.server = _End(client, self), _End(server, self)
        self.questions = 0

    def other(self, end: _End) -> _End:
        return self.server if end is self.client else self.client


class Relay:
    """Passes on the bytes of connections, and closes those that make no call that is accepted, on a thread of its own.

    Args:
        connect: connects to the gRPC server with a socket whose name ends in a slash and a number.
        limits: how many connections there may be, and for how long.
        refusals: takes the strangers that were refused.
    """

    def __init__(self, connect: Callable[[int], socket.socket], limits: ConnectionLimits, refusals: Refusals) -> None:
        self._connect, self._refusals = connect, refusals
        self._admission: Admission[_Connection] = Admission(limits)
        self._connections: dict[int, _Connection] = {}
        self._opened = 0
        self._refused: deque[tuple[float, _Connection]] = deque()
        self._requests: deque[Callable[[], None]] = deque()  # of other threads
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._ends = False
        self._thread = threading.Thread(target=self._serve, name="thalweg relay", daemon=True)
        self._thread.start()

    # -- what other threads ask for -----------------------------------------------------------------------------------

    def take(self, sock: socket.socket, group: str, address: Any) -> None:
        """Takes a connection that the gate has accepted, what counts as its address, and its address."""
        self._request(partial(self._open, sock, group, address))

    def accept(self, peer: str) -> None:
        """Takes a call of a peer that has proved itself."""
        connection = self._of(peer)
        if connection is not None and self._admission.state(connection) is State.UNPROVED:
            self._request(partial(self._prove, connection))

    def ask(self, peer: str) -> None:
        """Takes a call of a peer that everybody may make, and that proves nothing; too many of them are refused."""
        connection = self._of(peer)
        if connection is not None:
            connection.questions += 1
            if connection.questions > _QUESTIONS:
                self.refuse(peer, "it asks too often")

    def refuse(self, peer: str, reason: str) -> None:
        """Takes a call of a peer that was refused."""
        connection = self._of(peer)
        if connection is not None:
            self._refusals.log(connection.address, reason)
            self._refused.append((time.monotonic() + _READ_SECONDS, connection))

    def _of(self, peer: str) -> _Connection | None:
        number = peer.rpartition("/")[2]
        return self._connections.get(int(number)) if number.isdecimal() else None

    def _request(self, call: Callable[[], None]) -> None:
        self._requests.append(call)
        with contextlib.suppress(OSError):  # there are wakes enough, or the relay was stopped
            self._wake.send(b"\0")

    def stop(self) -> None:
        """Closes all connections, and ends the thread."""
        self._ends = True
        self._request(lambda: None)
        self._thread.join()
        while self._requests:  # connections that came meanwhile
            self._requests.popleft()()
        for connection in list(self._connections.values()):
            self._close(connection)
        for sock in (self._wake, self._woken):
            sock.close()
        self._selector.close()

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        swept = 0.0
        while not self._ends:
            for key, events in self._selector.select(_SWEEP_SECONDS):
                if key.data is None:
                    self._woken.recv(1 << 12)
                elif key.data.connection.number in self._connections:  # otherwise it was closed in this turn
                    self._move(key.data, events)
            while self._requests:
                self._requests.popleft()()
            now = time.monotonic()
            if now - swept > _SWEEP_SECONDS:
                swept = now
                self._sweep(now)

    def _sweep(self, now: float) -> None:
        late = self._admission.expired(now)
        while self._refused and self._refused[0][0] <= now:
            connection = self._refused.popleft()[1]
            # One that has proved itself stays, before or after: its first call may have had an outdated credential.
            if self._admission.state(connection) is State.UNPROVED:
                late.append(connection)
        for connection in late:
            self._close(connection)
        for connection in self._admission.having(State.UNPROVED):
            connection.questions = 0

    def _open(self, sock: socket.socket, group: str, address: Any) -> None:
        self._opened += 1
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data_plane.keep_alive(sock, _LOST_SECONDS)
            server = self._connect(self._opened)
        except OSError:  # the client has gone, or there are too many files, or connections of gRPC
            sock.close()
            return
        connection = _Connection(self._opened, f"{address[0]}:{address[1]}", sock, server)
        self._connections[connection.number] = connection
        victim = self._admission.open(connection, group, time.monotonic())
        if victim is not None:
            self._close(victim)
        for end in (connection.client, connection.server):
            end.sock.setblocking(False)
            self._wait(end)

    def _prove(self, connection: _Connection) -> None:
        if self._admission.state(connection) is State.UNPROVED:
            try:
                victim = self._admission.prove(connection)
            except errors.UnavailableError:
                victim = connection
            else:
                self._admission.move(connection, State.IDLE)  # gRPC ends those that are idle
            if victim is not None:
                self._close(victim)

    def _move(self, end: _End, events: int) -> None:
        other = end.connection.other(end)
        try:
            if events & selectors.EVENT_WRITE:
                self._send(other, end)
            if events & selectors.EVENT_READ and not end.unsent:
                end.unsent = end.sock.recv(_BYTES)
                if not end.unsent:
                    raise ConnectionError
                self._send(end, other)
        except BlockingIOError:
            pass
        except OSError:
            self._close(end.connection)
            return
        self._wait(end)
        self._wait(other)

    def _send(self, source: _End, sink: _End) -> None:
        if source.unsent:
            source.unsent = source.unsent[sink.sock.send(source.unsent) :]

    # An end is read once the other one has taken what was read before, so that a slow one slows down its sender, and
    # nothing is collected here.
    def _wait(self, end: _End) -> None:
        other = end.connection.other(end)
        events = (0 if end.unsent else selectors.EVENT_READ) | (selectors.EVENT_WRITE if other.unsent else 0)
        if events == end.events:
            return
        if not end.events:
            self._selector.register(end.sock, events, end)
        elif not events:
            self._selector.unregister(end.sock)
        else:
            self._selector.modify(end.sock, events, end)
        end.events = events

    def _close(self, connection: _Connection) -> None:
        if self._connections.pop(connection.number, None) is None:
            return
        self._admission.close(connection)
        for end in (connection.client, connection.server):
            if end.events:
                self._selector.unregister(end.sock)
            end.sock.close()
