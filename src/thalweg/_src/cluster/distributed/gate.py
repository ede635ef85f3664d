"""Gate of the data plane: one thread has all connections prove themselves, and hands on those that do.

A connection that has not proved itself is a socket and a handshake of a few hundred bytes: it has no thread, it is
closed when its time is over, and the oldest is closed when there are too many.
"""

from __future__ import annotations

import contextlib
import secrets
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg._src.cluster.distributed import handshake
from thalweg._src.cluster.distributed.admission import Admission, State, group_of
from thalweg._src.cluster.distributed.background import with_pauses
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.data_plane import abstract
from thalweg._src.cluster.distributed.handshake import Caller, Steps, Stream
from thalweg._src.cluster.distributed.limits import ConnectionLimits

_AT_ONCE = 16  # connections that are accepted before those that are there already have their turn
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
    steps: Steps[tuple[Stream, Caller]]
    events: int = selectors.EVENT_READ


class Gate:
    """Accepts connections at a unix socket and at a TCP port.

    Args:
        host: the address of the TCP port.
        task: the name of this task, which clients must expect.
        credentials: what clients have to prove.
        take: takes a connection that has proved itself, on a thread of its own.
        limits: how many others there may be, and for how long.
    """

    def __init__(
        self,
        host: str,
        task: str,
        credentials: Credentials,
        take: Callable[[Stream, Caller], None],
        limits: ConnectionLimits,
    ) -> None:
        self._task, self._credentials, self._take, self._limits = task, credentials, take, limits
        self._admission: Admission[_Unproved] = Admission(limits)
        self.unix_name = f"thalweg-{secrets.token_hex(16)}" if sys.platform == "linux" else ""
        tcp = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port: int = tcp.getsockname()[1]
        self._listening = [tcp]
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
            steps = handshake.accept(sock, self._credentials, task=self._task, seconds=self._limits.header_seconds)
            unproved = _Unproved(sock, sock.fileno(), steps)
            victim = self._admission.open(unproved, _group(sock, address), time.monotonic())
            if victim is not None:
                self._end(victim)
            self._selector.register(unproved.file, selectors.EVENT_READ, unproved)

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
            self._hand_on(*proved.value)
        except Exception:  # refused, or gone; its end of the handshake says why
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
        self._thread.join()
        for unproved in self._admission.having(State.UNPROVED):
            self._end(unproved)
        for sock in (*self._listening, self._wake, self._woken):
            sock.close()
        self._selector.close()


def _group(sock: socket.socket, address: Any) -> str:
    """Returns what counts as one address: of a unix socket, the user of its other end."""
    return f"user {handshake.user_of(sock)}" if sock.family == socket.AF_UNIX else group_of(address[0])
