"""Handshake of the data plane: both ends of a socket prove that they know the token, which itself is never sent.

The client sends a nonce with its role, its name and the name of the task that it expects; the server answers with a
nonce. Then each end proves itself by a MAC of both messages, the client first, so that a stranger who connects receives
nothing to try guesses of a token with. The MACs of the two ends differ, which makes a reflected one useless, and the
nonces make a replayed one useless. With TLS, all of this is inside of it, after the name of the data plane.
"""

from __future__ import annotations

import hmac
import os
import secrets
import selectors
import socket
import ssl
import struct
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import TracebackType
from typing import Any, TypeVar

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.credentials import Credentials, missing_token
from thalweg._src.cluster.distributed.tls_socket import TlsSocket

VERSION = 2
MAGIC = b"thalweg"
_HELLO = struct.Struct("!7s?B32s")  # magic, whether there is a token, version, nonce
_LENGTHS = struct.Struct("!3B")  # of role, task and peer
_VERDICT = struct.Struct("!B32s")  # whether the server accepts, its MAC
_USER = struct.Struct("iII")  # pid, uid and gid of the other end of an AF_UNIX socket
_ACCEPTED, _WRONG_TOKEN, _WRONG_TASK = range(3)
_CLIENT, _SERVER = "data plane, client", "data plane, server"
_TLS_RECORD = b"\x16"  # where the hello has whether there is a token

Stream = socket.socket | TlsSocket
T = TypeVar("T")
Steps = Generator[int, None, T]  # yields the events of a selector that a handshake waits for


@dataclass(frozen=True, slots=True)
class Caller:
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
    return finish(_connect(sock, credentials, host, (role, task, peer), seconds), sock, seconds)


def finish(steps: Steps[T], sock: socket.socket, seconds: float) -> T:
    """Takes all steps of a handshake, which wait for a socket, and returns its result."""
    file, end = sock.fileno(), time.monotonic() + seconds
    with selectors.PollSelector() as selector:
        try:
            selector.register(file, next(steps))
            while True:
                selector.select(max(0.0, end - time.monotonic()))
                selector.modify(file, next(steps))
        except StopIteration as stop:
            result: T = stop.value
            return result


def _connect(
    sock: socket.socket, credentials: Credentials, host: str, names: Sequence[str], seconds: float
) -> Steps[Stream]:
    with _Wire(sock, f"the task {names[-1]} at {host}", seconds) as wire:
        yield from wire.start_tls(credentials, host)
        encoded = [name.encode() for name in names]
        hello = _hello(credentials) + _LENGTHS.pack(*map(len, encoded)) + b"".join(encoded)
        yield from wire.send(hello)
        answer = yield from wire.receive_hello()
        wire.check_hello(answer, credentials)
        yield from wire.send(credentials.mac(_CLIENT, hello, answer))
        verdict, proof = _VERDICT.unpack((yield from wire.receive(_VERDICT.size)))
        if verdict == _WRONG_TASK:
            raise errors.FailedPreconditionError(None, None, f"{wire.other} has another name: the cluster specs differ")
        if verdict != _ACCEPTED or not hmac.compare_digest(proof, credentials.mac(_SERVER, hello, answer)):
            raise credentials.other_token(wire.other)
        return wire.stream()


def accept(sock: socket.socket, credentials: Credentials, *, task: str, seconds: float) -> Steps[tuple[Stream, Caller]]:
    """Has the client of an accepted socket prove itself, and proves this end to it.

    Its steps never wait themselves, so that one thread can take those of many connections. The last one returns the
    socket, or TLS over it, and what the client says about itself.

    Args:
        sock: the socket, which is closed if the handshake fails.
        credentials: those of this process.
        task: the name of this end, which the client must expect.
        seconds: the time limit of the whole handshake.
    """
    # The server's nonce and what comes with it tell nothing of the token, so they are sent before anything is checked:
    # both ends can then say which of them has no token, or another version. Everything that depends on the token comes
    # after the client's proof, the name of this task too. The proof covers the roles and names, with their lengths, so
    # that none of them can be changed on the way, nor a letter be moved from one to the next.
    with _Wire(sock, "the client", seconds) as wire:
        yield from wire.start_tls(credentials, None)
        hello = yield from wire.receive_hello()
        lengths = yield from wire.receive(_LENGTHS.size)
        names = yield from wire.receive(sum(lengths))
        answer = _hello(credentials)
        yield from wire.send(answer)
        wire.check_hello(hello, credentials)
        transcript = hello + lengths + names
        if not hmac.compare_digest((yield from wire.receive(32)), credentials.mac(_CLIENT, transcript, answer)):
            yield from wire.send(_VERDICT.pack(_WRONG_TOKEN, b""))
            raise credentials.other_token(wire.other)
        role, client, expected = _split(names, lengths)
        if expected != task:
            yield from wire.send(_VERDICT.pack(_WRONG_TASK, b""))
            raise errors.FailedPreconditionError(
                None, None, f"{wire.other} expects the task {expected}, and this is {task}"
            )
        yield from wire.send(_VERDICT.pack(_ACCEPTED, credentials.mac(_SERVER, transcript, answer)))
        return wire.stream(), Caller(role, client)


def _hello(credentials: Credentials) -> bytes:
    return _HELLO.pack(MAGIC, credentials.token is not None, VERSION, secrets.token_bytes(32))


def _split(names: bytes, lengths: bytes) -> list[str]:
    starts = [0, *accumulate(lengths)]
    return [names[start:end].decode(errors="replace") for start, end in pairwise(starts)]


def user_of(sock: socket.socket) -> int | None:
    """Returns the user of the other end of an AF_UNIX socket, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    _, user, _ = _USER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _USER.size))
    return int(user)


class _Wire:
    """A socket during its handshake, with a time limit; errors close it, and say which end and why."""

    def __init__(self, sock: socket.socket, other: str, seconds: float) -> None:
        self.socket = sock
        self.other = other
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        sock.setblocking(False)

    def __enter__(self) -> _Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
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

    def stream(self) -> Stream:
        """Returns the socket for what follows the handshake."""
        stream = TlsSocket(self.socket) if isinstance(self.socket, ssl.SSLSocket) else self.socket
        stream.settimeout(None)
        return stream

    def _when_ready(self, event: int, call: Callable[..., T], *args: Any) -> Steps[T]:
        """Makes a call on the socket once that is ready for it."""
        while True:
            # The time is looked at before each call and not only while it waits: single bytes that come now and then
            # would otherwise extend the handshake.
            if time.monotonic() >= self._end:
                raise TimeoutError
            try:
                return call(*args)
            except BlockingIOError:
                yield event
            except ssl.SSLWantReadError:
                yield selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                yield selectors.EVENT_WRITE

    def start_tls(self, credentials: Credentials, host: str | None) -> Steps[None]:
        """Wraps the socket: as a client that expects a certificate for a host, as a server without one.

        An AF_UNIX socket stays as it is, since it passes file descriptors; the kernel knows the user of its other end.
        """
        if credentials.tls is None:
            return
        if self.socket.family == socket.AF_UNIX:
            if credentials.token is None:
                self._check_user(self.socket)
            return
        # The name of the data plane goes before TLS, since gRPC with TLS comes to the same port. A server reads the
        # files only for those that have sent it.
        if host is not None:
            yield from self.send(MAGIC)
        elif (yield from self.receive(len(MAGIC))) != MAGIC:
            raise errors.UnauthenticatedError(None, None, f"{self.other} speaks another protocol")
        context = credentials.tls.context(is_server=host is None)
        wrapped = context.wrap_socket(self.socket, host is None, do_handshake_on_connect=False, server_hostname=host)
        self.socket = wrapped
        yield from self._when_ready(selectors.EVENT_READ, wrapped.do_handshake)

    def _check_user(self, sock: socket.socket) -> None:
        user = user_of(sock)
        if user not in (None, os.geteuid(), 0):  # if it is unknown, only the permissions of its folder protect a socket
            text = f"{self.other} belongs to another user (uid {user}), and AF_UNIX sockets have no TLS to prove more"
            raise errors.UnauthenticatedError(None, None, text)

    def send(self, data: bytes) -> Steps[None]:
        while data:
            data = data[(yield from self._when_ready(selectors.EVENT_WRITE, self.socket.send, data)) :]

    def receive(self, size: int) -> Steps[bytes]:
        """Returns exactly as many bytes, however slowly they come: what follows belongs to the caller."""
        data = b""
        while len(data) < size:
            received = yield from self._when_ready(selectors.EVENT_READ, self.socket.recv, size - len(data))
            if not received:
                raise ConnectionError("the connection was closed")
            data += received
        return data

    def receive_hello(self) -> Steps[bytes]:
        start = yield from self.receive(len(MAGIC) + 1)
        if not start.startswith(MAGIC):
            raise errors.UnauthenticatedError(None, None, f"{self.other} speaks another protocol")
        if start.endswith(_TLS_RECORD):
            raise errors.UnauthenticatedError(None, None, f"{self.other} uses TLS, and this end does not")
        return start + (yield from self.receive(_HELLO.size - len(start)))

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
