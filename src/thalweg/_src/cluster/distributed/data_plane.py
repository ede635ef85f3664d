"""The sockets of a task's data plane: connecting, and what both ends say first."""

from __future__ import annotations

import math
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.connection import Connection
from thalweg._src.cluster.distributed.frames import FrameKind, pack_error, unpack_error
from thalweg._src.cluster.distributed.slab import MappedSlab, Slab

DATA_PORT = "THALWEG_CLUSTER_DATA_PORT"  # another port for the data plane than that of the cluster's list
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 5  # without bytes, after which the system asks the other end of a connection
_ASK_SECONDS = 2  # between two questions
_GREETING = struct.Struct("<QQd")  # and the host
_WITH_SLAB, _WITHOUT = b"S", b"-"


class Greeting(NamedTuple):
    """What each end of a link says first."""

    incarnation: int  # changes when its task is restarted
    slab_bytes: int
    started: float  # when its process started, in seconds since 1970
    process: str  # its host, and its number there

    def to_bytes(self) -> bytes:
        return _GREETING.pack(*self[:3]) + self.process.encode()

    @classmethod
    def from_bytes(cls, content: memoryview) -> Greeting:
        if len(content) < _GREETING.size:
            raise ValueError("a greeting is too short")
        incarnation, slab_bytes, started = _GREETING.unpack_from(content)
        return cls(incarnation, slab_bytes, started, bytes(content[_GREETING.size :]).decode(errors="replace"))


def greet(
    sock: Any, mine: Greeting, slab: Slab | None = None, greeted: Callable[[Greeting], None] | None = None
) -> tuple[Connection, Greeting, MappedSlab | None]:
    """Greets the other end, and maps its slab if it passes one; both ends call this at the same time.

    greeted: is called with what the other end says, which waits for our greeting until that returns; an OpError that it
        raises is sent to the other end, where it is raised too
    """
    mine_slab = slab if sock.family == socket.AF_UNIX else None
    fds: list[int] = []
    if sock.family == socket.AF_UNIX:
        if mine_slab is not None:
            socket.send_fds(sock, [_WITH_SLAB], [mine_slab.fd])
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
        greeting = mine._replace(slab_bytes=0 if mine_slab is None else mine_slab.nbytes).to_bytes()
        if greeted is None:
            connection.send(FrameKind.HELLO, 0, greeting)
        frame = connection.receive()
        if frame.kind == FrameKind.FAILED:
            raise unpack_error(frame.description)
        if frame.kind != FrameKind.HELLO:
            raise ValueError("the connection does not start with a greeting")
        theirs = Greeting.from_bytes(frame.description)
        if greeted is not None:
            try:
                greeted(theirs)
            except errors.OpError as error:
                connection.send(FrameKind.FAILED, 0, pack_error(error))
                raise
            connection.send(FrameKind.HELLO, 0, greeting)
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


def own_port() -> int:
    """Returns the port that the environment chooses for the data plane, or 0 for the same as that of gRPC."""
    text = os.environ.get(DATA_PORT) or "0"
    if not text.isdecimal() or int(text) >= 1 << 16:
        raise errors.invalid(f"{DATA_PORT} is {text!r}, and not a port")
    return int(text)


def keep_alive(sock: Any, seconds: float) -> None:
    """Has the system ask the other end of an idle TCP connection, and end it if nothing answers for a time.

    Firewalls and address translators forget connections that are idle, after a minute at the earliest.
    """
    if sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        "TCP_KEEPIDLE": _IDLE_SECONDS,
        "TCP_KEEPALIVE": _IDLE_SECONDS,  # as macOS calls it
        "TCP_KEEPINTVL": _ASK_SECONDS,
        "TCP_KEEPCNT": max(1, math.ceil(seconds / _ASK_SECONDS)),
        "TCP_USER_TIMEOUT": round(seconds * 1000),  # also for bytes that nothing acknowledges
    }
    for name, value in options.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def abstract(name: str) -> bytes:
    """Returns the address of a unix socket without a file, so that a killed process leaves none behind."""
    return b"\0" + name.encode()


def split_address(address: str) -> tuple[str, int]:
    """Returns host and port of an address such as `localhost:2222` or `[::1]:2222`."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise errors.invalid(f'Could not parse port for local server from "{address}": expected host:port')
    return host.strip("[]"), int(port)


def joined(host: str, port: int) -> str:
    """Returns the address of a host and a port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_own(host: str) -> bool:
    """Returns whether a host is this machine: whether all addresses that its name stands for belong to it."""
    try:
        addresses = {info[4] for info in socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)}
        for address in addresses:
            with socket.socket(socket.AF_INET6 if len(address) == 4 else socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.bind(address)
    except OSError:
        return False
    return True
