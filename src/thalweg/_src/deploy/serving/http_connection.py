"""A connection of HTTP/1.1: reads requests one by one and writes their answers, on a socket that never blocks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.admission import Admission, State
from thalweg._src.deploy.serving.http_request import Refusal, Request, head_end
from thalweg._src.deploy.serving.limits import BytesInFlight, Endpoint

Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]
WAITS = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_READ_HEAD, _READ_BODY = 1 << 16, 1 << 18  # bytes
_DISCARDED = 1 << 20  # bytes that are read after a refusal, so that the client comes to read the answer
_CHUNK_OVERHEAD = 8  # bytes that a chunk of one byte takes, and a little more
_STATUS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Application(Protocol):
    """What a server of HTTP serves."""

    def check(self, request: Request) -> bool:
        """Raises Refusal for a request that is not to be read further; returns whether it proves its connection."""

    async def answer(self, request: Request, content: bytes, start: float) -> Answer:
        """Returns the answer to a request whose headers arrived at a moment of the monotonic clock."""

    def refuse(self, refusal: Refusal) -> Answer:
        """Returns the answer instead."""


class Watch(Protocol):
    """What calls connections when they can be read or written."""

    def read_later(self, connection: Connection) -> None:
        """Has `read` called after those of proved connections."""

    def read_first(self, connection: Connection) -> None:
        """Has `read` called as soon as there is something to read."""

    def pause(self, connection: Connection) -> None:
        """Has `read` not called until further notice."""

    def write(self, connection: Connection) -> None:
        """Has `write` called as soon as something can be written."""

    def end_write(self, connection: Connection) -> None:
        """Has `write` not called any more."""

    def forget(self, connection: Connection) -> None:
        """Records that a connection has ended."""


@dataclass(slots=True)
class Port:
    """What all connections of a port share."""

    endpoint: Endpoint
    application: Application
    admission: Admission[Connection]
    bytes_in_flight: BytesInFlight
    watch: Watch
    tls: ssl.SSLContext | None
    is_stopping: bool = False


class Connection:
    """A connection that was accepted.

    Args:
        port: What it shares with others.
        end: The socket.
        address: The address of the client.
    """

    __slots__ = (
        *("_address", "_buffer", "_closes", "_discarded", "_handshakes", "_held", "_is_lingering", "_left", "_port"),
        *("_request", "_start", "_task", "_taken", "end", "is_first", "is_proved"),
    )

    def __init__(self, port: Port, end: socket.socket, address: str) -> None:
        self.end = end
        self.is_proved = False
        self.is_first: bool | None = None  # whether it is read before others, None while it is not read
        self._port, self._address = port, address
        self._buffer = b""  # what has arrived and was not looked at: a part of the headers, or the next request
        self._request: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._left = memoryview(b"")  # of the answer
        self._start = 0.0  # of the request, then of the answer
        self._held = self._taken = self._discarded = 0  # bytes
        self._closes = self._is_lingering = False
        self._handshakes = port.tls is not None

    def read(self) -> None:
        """Reads what has arrived."""
        if self.end.fileno() < 0:
            return  # was closed meanwhile
        try:
            self._read()
        except WAITS:
            pass
        except OSError:
            self.close()
        except Exception as error:  # a defect must not end the service of others
            logging.exception("a connection failed: %s", error)
            self.close()

    def _read(self) -> None:
        if self._handshakes:
            self._shake_hands()
        request = self._request
        if self._task is not None or self._left:
            self._port.watch.pause(self)  # nothing is read ahead of the answer
            return
        limit = _READ_HEAD
        if request is not None and not request.is_chunked:
            limit = min(_READ_BODY, request.length - request.body_bytes)
        elif not self.is_proved and not self._is_lingering:
            limit = self._port.endpoint.limits.header_bytes + 1 - len(self._buffer)
        content = self.end.recv(limit)
        if not content:
            self.close()
        elif self._is_lingering:
            self._discarded += len(content)
            if self._discarded > _DISCARDED:
                self.close()
        elif request is not None:
            self._take_body(request, content)
        else:
            start = len(self._buffer)
            self._buffer += content
            self._take_head(start)
        self._read_pending()

    def _read_pending(self) -> None:
        """Reads on what TLS has decrypted already, which the socket does not show."""
        if isinstance(self.end, ssl.SSLSocket) and self.end.fileno() >= 0 and self.end.pending():
            asyncio.get_running_loop().call_soon(self.read)

    def _shake_hands(self) -> None:
        assert self._port.tls is not None
        if not isinstance(self.end, ssl.SSLSocket):
            self._port.watch.pause(self)
            self.end = self._port.tls.wrap_socket(self.end, server_side=True, do_handshake_on_connect=False)
            self._port.watch.read_later(self)
        self.end.do_handshake()
        self._handshakes = False

    def _take_head(self, start: int) -> None:
        """Takes headers, if they have arrived; start: bytes of the buffer in which they do not end."""
        limits = self._port.endpoint.limits
        if not start:
            self._buffer = self._buffer.lstrip(b"\r\n")
        end = head_end(self._buffer, start)
        try:
            if (end or len(self._buffer)) > limits.header_bytes:
                raise Refusal(431, f"the headers have more than {limits.header_bytes} bytes")
            if not end:
                return
            request = Request(self._buffer[:end], limits)
            self._accept(request)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        content, self._buffer = self._buffer[end:], b""
        self._request, self._start = request, time.monotonic()
        if not request.is_chunked and not request.length:
            self._buffer = content
            self._answer(request)
        elif content:
            self._take_body(request, content)
        else:
            self._expect_body(request)
            if request.expects_continue:
                self.end.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _accept(self, request: Request) -> None:
        """Raises Refusal unless the request may be read further."""
        is_proof = self._port.application.check(request)
        limit = self._port.endpoint.max_request_bytes
        if request.length > limit:
            raise Refusal(413, f"the request has more than {limit} bytes")
        if not is_proof:
            request.keeps_alive = False
        elif not self.is_proved:
            try:
                victim = self._port.admission.prove(self)
            except errors.UnavailableError as error:
                raise Refusal(503, error.message) from None
            if victim is not None:
                victim.close()
            self.is_proved = True
            with contextlib.suppress(OSError):  # a socket of another family
                self.end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._port.watch.pause(self)
            self._port.watch.read_first(self)

    def _take_body(self, request: Request, content: bytes) -> None:
        try:
            self._hold(len(content))
            if request.is_chunked:
                self._take_chunks(request, content)
                is_whole = request.has_ended
            else:
                missing = request.length - request.body_bytes
                self._buffer = content[missing:]
                request.on_body(content[:missing])
                is_whole = request.body_bytes == request.length
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if is_whole:
            self._answer(request)
        else:
            self._expect_body(request)

    def _take_chunks(self, request: Request, content: bytes) -> None:
        endpoint = self._port.endpoint
        request.take(content)
        if request.body_bytes > endpoint.max_request_bytes:
            raise Refusal(413, f"the request has more than {endpoint.max_request_bytes} bytes")
        if request.chunked_bytes > endpoint.limits.header_bytes + _CHUNK_OVERHEAD * request.body_bytes:
            raise Refusal(400, "Malformed request: chunks have more extensions or trailers than content")

    def _hold(self, count: int) -> None:
        try:
            self._port.bytes_in_flight.take(count)
        except errors.UnavailableError as error:
            raise Refusal(503, error.message) from None
        self._held += count

    def _expect_body(self, request: Request) -> None:
        deadline = self._deadline(request.body_bytes)
        admission = self._port.admission
        if admission.state(self) is State.RECEIVING:
            admission.extend(self, deadline)
        else:
            admission.move(self, State.RECEIVING, deadline)

    def _deadline(self, count: int) -> float:
        """Returns until when a transfer has to go on of which some bytes have arrived."""
        limits = self._port.endpoint.limits
        return self._start + limits.transfer_seconds + count / limits.bytes_per_second

    def _answer(self, request: Request) -> None:
        if self.is_proved:
            self._port.admission.move(self, State.ANSWERING)
        content = request.parts[0] if len(request.parts) == 1 else b"".join(request.parts)
        request.parts.clear()
        self._task = asyncio.get_running_loop().create_task(self._compute(request, content))

    async def _compute(self, request: Request, content: bytes) -> None:
        try:
            answer = await self._port.application.answer(request, content, self._start)
        finally:
            self._task = None
        try:
            self._send(answer, request.method != "HEAD", not request.keeps_alive or request.has_excess)
        except OSError:
            self.close()

    def _refuse(self, refusal: Refusal) -> None:
        self._send(self._port.application.refuse(refusal), True, True, is_refusal=True)

    def _send(self, answer: Answer, has_body: bool, closes: bool, is_refusal: bool = False) -> None:
        """Writes an answer; is_refusal: of the request, there may be more to read."""
        if self.end.fileno() < 0:
            return  # was closed meanwhile
        status, headers, body = answer
        self._closes = closes or self._port.is_stopping
        self._is_lingering = is_refusal
        lines = [_STATUS[status], _date.line()]
        lines += [b"%b: %b\r\n" % header for header in headers]
        lines.append(b"connection: close\r\n" if self._closes else b"")
        lines.append(b"content-length: %d\r\n\r\n" % len(body))
        self._left = memoryview(b"".join([*lines, body if has_body else b""]))
        self._port.bytes_in_flight.add(len(self._left))
        self._held += len(self._left)
        self._start, self._taken = time.monotonic(), 0
        self._write()
        if self._left:
            if not self.is_proved:
                self.close()  # it does not even read a refusal
                return
            self._port.admission.move(self, State.SENDING, self._deadline(0))
            self._port.watch.write(self)

    def write(self) -> None:
        """Writes what the client takes of the answer."""
        try:
            self._write()
        except OSError:
            self.close()

    def _write(self) -> None:
        try:
            while self._left:
                count = self.end.send(self._left)
                self._left = self._left[count:]
                self._taken += count
        except WAITS:
            if self._taken and self._port.admission.state(self) is State.SENDING:
                self._port.admission.extend(self, self._deadline(self._taken))
            return
        self._end_answer()

    def _end_answer(self) -> None:
        """Reads the next request, or ends the connection."""
        admission, watch = self._port.admission, self._port.watch
        self._port.bytes_in_flight.give(self._held)
        self._held, self._request = 0, None
        watch.end_write(self)
        if self._is_lingering:
            self._linger()
        elif self._closes:
            self.close()
        else:
            admission.move(self, State.IDLE, time.monotonic() + self._port.endpoint.limits.idle_seconds)
            watch.read_first(self)
            self._read_pending()
            if self._buffer:
                self._take_head(0)

    def _linger(self) -> None:
        """Reads on for a while: with bytes that were not read, the end of the connection would discard the answer."""
        self._port.watch.pause(self)
        self._buffer = b""
        if self.is_proved:
            self.is_proved = False
            self._port.admission.close(self)
            victim = self._port.admission.open(self, self._address, time.monotonic())
            if victim is not None:
                victim.close()
        if not isinstance(self.end, ssl.SSLSocket):
            self.end.shutdown(socket.SHUT_WR)
        self._port.watch.read_later(self)

    def expire(self) -> None:
        """Ends the connection because its time is over."""
        if self._port.admission.state(self) is not State.RECEIVING:
            self.close()
            return
        try:
            self._refuse(Refusal(408, "the body of the request did not arrive in time"))
        except OSError:
            self.close()

    def close(self) -> None:
        """Ends the connection at once."""
        if self.end.fileno() < 0:
            return
        self._port.admission.close(self)
        self._port.watch.forget(self)
        self._port.bytes_in_flight.give(self._held)
        self._held = 0
        self._left = memoryview(b"")
        if self._task is not None:
            self._task.cancel()
        self.end.close()


class _Date:
    """The header with the current time, written once a second."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._second, self._line = 0, b""

    def line(self) -> bytes:
        second = int(self._clock())
        if second != self._second:
            self._second, self._line = second, f"date: {formatdate(second, usegmt=True)}\r\n".encode()
        return self._line


_date = _Date()
