"""The sockets of a task's data plane: connecting, and what both ends say first."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.connection import Connection
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.cluster.distributed.slab import MappedSlab, Slab

_CONNECT_SECONDS = 10.0
_GREETING = struct.Struct("<QQ")
_WITH_SLAB, _WITHOUT = b"S", b"-"


class Greeting(NamedTuple):
    """What each end of a link says first: a number that changes when its task is restarted, the size of its slab."""

    incarnation: int
    slab_bytes: int


def greet(
    sock: Any, incarnation: int, slab: Slab | None = None, greeted: Callable[[int], None] | None = None
) -> tuple[Connection, Greeting, MappedSlab | None]:
    """Greets the other end, and maps its slab if it passes one; both ends call this at the same time.

    greeted: is called with the incarnation of the other end, which waits for our greeting until that returns
    """
    mine = slab if sock.family == socket.AF_UNIX else None
    fds: list[int] = []
    if sock.family == socket.AF_UNIX:
        if mine is not None:
            socket.send_fds(sock, [_WITH_SLAB], [mine.fd])
        else:
            sock.sendall(_WITHOUT)
        said, fds, _, _ = socket.recv_fds(sock, 1, 1)
        if not said:
            raise ConnectionError("the connection was closed")
    # The opener greets first, and waits for the answer; the other end handles the loss of earlier links before it
    # answers. So when the opener goes on, nothing that its earlier links left can end what it starts now. Two tasks
    # that open links to each other at once do not wait for each other: each link is accepted on a thread of its own.
    try:
        connection = Connection(sock)
        greeting = Greeting(incarnation, 0 if mine is None else mine.nbytes)
        if greeted is None:
            connection.send(FrameKind.HELLO, 0, _GREETING.pack(*greeting))
        frame = connection.receive()
        if frame.kind != FrameKind.HELLO or len(frame.description) != _GREETING.size:
            raise ValueError("the connection does not start with a greeting")
        theirs = Greeting(*_GREETING.unpack(frame.description))
        if greeted is not None:
            greeted(theirs.incarnation)
            connection.send(FrameKind.HELLO, 0, _GREETING.pack(*greeting))
        sock.settimeout(None)
        return connection, theirs, MappedSlab(fds[0], theirs.slab_bytes) if fds else None
    finally:
        # A mapping keeps the memory of a slab without the descriptor.
        for fd in fds:
            os.close(fd)


def connect(unix_name: str, host: str, port: int, use_tcp: bool) -> socket.socket:
    """Opens a connection to a task: by its unix socket if it is on this host, otherwise by TCP."""
    if unix_name and not use_tcp:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(_CONNECT_SECONDS)
            sock.connect(abstract(unix_name))
            return sock
        except OSError:
            sock.close()  # the task is on another host, or in another container
    return socket.create_connection((host, port), timeout=_CONNECT_SECONDS)


def abstract(name: str) -> bytes:
    """Returns the address of a unix socket without a file, so that a killed process leaves none behind."""
    return b"\0" + name.encode()


def split_address(address: str) -> tuple[str, int]:
    """Returns host and port of an address such as `localhost:2222` or `[::1]:2222`."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise errors.invalid(f'Could not parse port for local server from "{address}": expected host:port')
    return host.strip("[]"), int(port)
