"""Handshake of the data plane: both ends of a socket prove that they know the token, which itself is never sent.

The client sends a nonce with its role, its name and the name of the task that it expects; the server answers with a
nonce. Then each end proves itself by a MAC of both messages, the client first, so that a stranger who connects receives
nothing to try guesses of a token with. The MACs of the two ends differ, which makes a reflected one useless, and the
nonces make a replayed one useless. With TLS, all of this is inside of it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import ssl
import struct
import time
from dataclasses import dataclass
from types import TracebackType

from thalweg._src import errors
from thalweg._src.distributed.credentials import Credentials, missing_token
from thalweg._src.distributed.tls_socket import TlsSocket

VERSION = 1
_MAGIC = b"thalweg"
_HELLO = struct.Struct("!7s?B32s")  # magic, whether there is a token, version, nonce
_LENGTHS = struct.Struct("!3B")  # of role, task and peer
_VERDICT = struct.Struct("!B32s")  # whether the server accepts, its MAC
_USER = struct.Struct("iII")  # pid, uid and gid of the other end of an AF_UNIX socket
_ACCEPTED, _WRONG_TOKEN, _WRONG_TASK = range(3)
_CLIENT, _SERVER = "data plane, client", "data plane, server"
_TLS_RECORD = b"\x16\x03"

Stream = socket.socket | TlsSocket


@dataclass(frozen=True, slots=True)
class Peer:
    """What a client says about itself: what the connection is for, and the name of its task."""

    role: str
    task: str


def connect(
    sock: socket.socket, credentials: Credentials, *, host: str, role: str, task: str, peer: str, seconds: float
) -> Stream:
    """Proves this end to the server of a connected socket and the reverse; returns the socket, or TLS over it.

    Args:
      sock: the socket, which is closed if the handshake fails.
      credentials: those of this process.
      host: the name or IP address that the certificate of the server must have.
      role: what the connection is for.
      task: the name of this end.
      peer: the name of the task that is expected at the other end.
      seconds: the time limit of the whole handshake.
    """
    with _Wire(sock, f"the task {peer} at {host}", seconds) as wire:
        wire.start_tls(credentials, host)
        names = [name.encode() for name in (role, task, peer)]
        hello = _hello(credentials) + _LENGTHS.pack(*map(len, names)) + b"".join(names)
        wire.send(hello)
        answer = wire.receive_hello()
        wire.check_hello(answer, credentials)
        wire.send(credentials.mac(_CLIENT, hello, answer))
        verdict, proof = _VERDICT.unpack(wire.receive(_VERDICT.size))
        if verdict == _WRONG_TASK:
            raise errors.FailedPreconditionError(None, None, f"{wire.other} has another name: the cluster specs differ")
        if verdict != _ACCEPTED or not hmac.compare_digest(proof, credentials.mac(_SERVER, hello, answer)):
            raise credentials.other_token(wire.other)
        return wire.socket


def accept(sock: socket.socket, credentials: Credentials, *, task: str, seconds: float) -> tuple[Stream, Peer]:
    """Has the client of an accepted socket prove itself, and proves this end to it.

    Returns the socket, or TLS over it, and what the client says about itself.

    Args:
      sock: the socket, which is closed if the handshake fails.
      credentials: those of this process.
      task: the name of this end, which the client must expect.
      seconds: the time limit of the whole handshake.
    """
    with _Wire(sock, "the client", seconds) as wire:
        wire.start_tls(credentials, None)
        hello = wire.receive_hello()
        lengths = wire.receive(_LENGTHS.size)
        role, client, expected = (wire.receive(length) for length in _LENGTHS.unpack(lengths))
        transcript = b"".join([hello, lengths, role, client, expected])
        answer = _hello(credentials)
        wire.send(answer)
        wire.check_hello(hello, credentials)
        if not hmac.compare_digest(wire.receive(32), credentials.mac(_CLIENT, transcript, answer)):
            wire.send(_VERDICT.pack(_WRONG_TOKEN, b""))
            raise credentials.other_token(wire.other)
        if expected != task.encode():
            wire.send(_VERDICT.pack(_WRONG_TASK, b""))
            name = expected.decode(errors="replace")
            raise errors.FailedPreconditionError(
                None, None, f"{wire.other} expects the task {name}, and this is {task}"
            )
        wire.send(_VERDICT.pack(_ACCEPTED, credentials.mac(_SERVER, transcript, answer)))
        return wire.socket, Peer(role.decode(errors="replace"), client.decode(errors="replace"))


def _hello(credentials: Credentials) -> bytes:
    return _HELLO.pack(_MAGIC, credentials.token is not None, VERSION, secrets.token_bytes(32))


class _Wire:
    """A socket during its handshake, with a time limit; errors close it, and say which end and why."""

    def __init__(self, sock: socket.socket, other: str, seconds: float) -> None:
        self.socket: Stream = sock
        self.other = other
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def __enter__(self) -> _Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.socket.settimeout(None)
            return
        self.socket.close()
        if isinstance(error, TimeoutError):
            text = f"{self.other} did not finish the handshake within {self._seconds:g} s"
            raise errors.DeadlineExceededError(None, None, text) from None
        if isinstance(error, ssl.SSLError):
            text = f"TLS with {self.other} failed, or only one end uses it: {error}"
            raise errors.UnauthenticatedError(None, None, text) from None
        if isinstance(error, OSError):
            raise errors.UnavailableError(None, None, f"{self.other} broke off the handshake: {error}") from None

    def _limit(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(left)

    def start_tls(self, credentials: Credentials, host: str | None) -> None:
        """Wraps the socket: as a client that expects a certificate for a host, as a server without one.

        An AF_UNIX socket stays as it is, since it passes file descriptors; the kernel knows the user of its other end.
        """
        if credentials.tls is None:
            return
        assert isinstance(self.socket, socket.socket)
        if self.socket.family == socket.AF_UNIX:
            if credentials.token is None:
                self._check_user(self.socket)
            return
        context = credentials.tls.context(is_server=host is None)
        wrapped = context.wrap_socket(self.socket, host is None, do_handshake_on_connect=False, server_hostname=host)
        self.socket = wrapped
        self._limit()
        wrapped.do_handshake()
        self.socket = TlsSocket(wrapped)

    def _check_user(self, sock: socket.socket) -> None:
        if not hasattr(socket, "SO_PEERCRED"):
            return  # there, only the permissions of the folder of a socket protect it
        _, user, _ = _USER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _USER.size))
        if user not in (os.geteuid(), 0):
            text = f"{self.other} belongs to another user (uid {user}), and AF_UNIX sockets have no TLS to prove more"
            raise errors.UnauthenticatedError(None, None, text)

    def send(self, data: bytes) -> None:
        self._limit()
        self.socket.sendall(data)

    def receive(self, size: int) -> bytes:
        """Returns exactly as many bytes, however slowly they come: what follows belongs to the caller."""
        data = b""
        while len(data) < size:
            self._limit()
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the connection was closed")
            data += part
        return data

    def receive_hello(self) -> bytes:
        start = self.receive(len(_MAGIC))
        if start != _MAGIC:
            what = "uses TLS, and this end does not" if start.startswith(_TLS_RECORD) else "speaks another protocol"
            raise errors.UnauthenticatedError(None, None, f"{self.other} {what}")
        return start + self.receive(_HELLO.size - len(start))

    def check_hello(self, hello: bytes, credentials: Credentials) -> None:
        """Refuses an other end that has another version, or no token although this one has, or the reverse."""
        _, has_token, version, _ = _HELLO.unpack(hello)
        if version != VERSION:
            text = f"{self.other} has version {version} of the handshake, and this end version {VERSION}"
            raise errors.FailedPreconditionError(None, None, text)
        if has_token and credentials.token is None:
            raise missing_token(self.other, "this process")
        if not has_token and credentials.token is not None:
            raise missing_token("this process", self.other)
