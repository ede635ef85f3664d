"""Connection: frames over a blocking socket."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from thalweg._src.cluster.distributed.frames import HEADER, POSITIONS, VERSION, FrameKind
from thalweg._src.cluster.distributed.limits import MAX_DESCRIPTION

_BUFFER = 1 << 16
_MAX_BUFFERS = 512  # of one sendmsg call
_SEND_BUFFER = 1 << 20  # of a unix socket
_TCP_INFO = struct.Struct("=148xI")  # tcpi_min_rtt, in microseconds


class ConnectionLost(Exception):
    """The other end closed the connection, or cannot be reached."""


class Frame(NamedTuple):
    """A frame whose description was read; the bytes of its values follow on the connection."""

    kind: int
    step: int
    values: int
    description: memoryview
    size: int


class Connection:
    """A socket that carries frames; one thread may send while another receives.

    The frames of each direction are numbered, so that one that a proxy or a bug loses or repeats ends the connection:
    an update must not be applied twice, and no step may wait for a message that is lost.
    """

    def __init__(self, sock: Any) -> None:
        self.socket = sock
        if sock.family == socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        else:  # whose buffer the system makes as large as the network needs, unless a size is set
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(_BUFFER))
        self._start = self._end = 0
        self._sent_frames = self._received_frames = 0
        self._poll: Any = None
        self._send_seconds = 0.0
        self.received = time.monotonic()  # when bytes arrived last

    def limit_sends(self, seconds: float) -> None:
        """Limits the time for which the other end may read nothing of what is sent."""
        self._send_seconds = seconds
        if hasattr(self.socket, "limit_sends"):  # TLS
            self.socket.limit_sends(seconds)
        else:
            limit = struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def send(
        self,
        kind: FrameKind,
        step: int = 0,
        description: bytes = b"",
        buffers: Sequence[Any] = (),
        count: int = 0,
        releases: bytes = b"",
    ) -> None:
        """Sends a frame; the caller makes sure that no other thread sends at the same time.

        releases: the description of a RELEASE frame that is sent first
        """
        size = sum(len(buffer) for buffer in buffers)
        # The frame that returns blocks is sent with the next one, whatever that is: it costs no system call of its own.
        head = b""
        if releases:
            head = HEADER.pack(FrameKind.RELEASE, VERSION, self._next_position(), 0, len(releases), 0, 0) + releases
        head += HEADER.pack(kind, VERSION, self._next_position(), count, len(description), step, size) + description
        try:
            if not buffers:
                self.socket.sendall(head)
            else:
                self._send_all([memoryview(head), *(memoryview(buffer) for buffer in buffers)])
        except BlockingIOError:
            raise ConnectionLost(f"it has read nothing for {self._send_seconds:g} seconds") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None

    def _next_position(self) -> int:
        position = self._sent_frames
        self._sent_frames = (position + 1) % POSITIONS
        return position

    def _send_all(self, pending: list[memoryview]) -> None:
        send = getattr(self.socket, "sendmsg", None)
        if send is None:  # TLS
            for buffer in pending:
                self.socket.sendall(buffer)
            return
        while pending:
            sent = send(pending[:_MAX_BUFFERS])
            while pending and sent >= len(pending[0]):
                sent -= len(pending.pop(0))
            if sent:
                pending[0] = pending[0][sent:]

    def receive(self) -> Frame:
        """Reads the next frame up to its description; the values must be read before the next frame."""
        self._fill(HEADER.size)
        kind, version, position, count, length, step, size = HEADER.unpack_from(self._buffer, self._start)
        self._start += HEADER.size
        if version != VERSION:
            raise ValueError(f"the other task uses version {version} of the data plane, this one {VERSION}")
        if position != self._received_frames:
            raise ValueError(
                f"frame {position} instead of {self._received_frames}: one was lost or repeated on the way"
            )
        self._received_frames = (position + 1) % POSITIONS
        if length > MAX_DESCRIPTION:
            raise ValueError(f"a frame with a description of {length} bytes, more than {MAX_DESCRIPTION}")
        if length <= _BUFFER:
            self._fill(length)
            description = self._buffer[self._start : self._start + length].toreadonly()
            self._start += length
            # A copy, since the values of the frame pass through the same buffer before the key after them is read.
            return Frame(kind, step, count, memoryview(bytes(description)), size)
        content = memoryview(bytearray(length))
        self.read_into(content)
        return Frame(kind, step, count, content, size)

    def _fill(self, count: int) -> None:
        """Reads until the buffer holds as many bytes as asked for."""
        have = self._end - self._start
        if have >= count:
            return
        if self._start and (have == 0 or self._start + count > _BUFFER):
            self._buffer[:have] = self._buffer[self._start : self._end]
            self._start, self._end = 0, have
        while self._end - self._start < count:
            self._end += self._receive(self._buffer[self._end :])

    def read_into(self, buffer: memoryview) -> None:
        """Fills a buffer with the bytes that follow."""
        have = min(self._end - self._start, len(buffer))
        if have:
            buffer[:have] = self._buffer[self._start : self._start + have]
            self._start += have
        while have < len(buffer):
            have += self._receive(buffer[have:])

    def skip(self, size: int) -> None:
        """Drops the bytes of values that nothing needs."""
        scratch = memoryview(bytearray(min(size, _BUFFER)))
        while size:
            chunk = scratch[: min(size, len(scratch))]
            self.read_into(chunk)
            size -= len(chunk)

    def _receive(self, buffer: memoryview) -> int:
        try:
            count: int = self.socket.recv_into(buffer)
        except OSError as error:
            raise ConnectionLost(str(error)) from None
        if count == 0:
            raise ConnectionLost("the connection was closed")
        self.received = time.monotonic()
        return count

    @property
    def has_bytes(self) -> bool:
        """Whether bytes were received that have not been read."""
        return self._end > self._start or (hasattr(self.socket, "pending") and bool(self.socket.pending()))

    def wait(self, seconds: float) -> bool:
        """Waits until something can be read; returns whether it can."""
        if self.has_bytes:
            return True
        # Only now: for bytes in the buffer of this object or of TLS, the descriptor need not become readable any more.
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self.socket, select.POLLIN)
        return bool(self._poll.poll(seconds * 1000))

    @property
    def round_trip(self) -> float:
        """The seconds that a message and its answer are on the way at least; 0 if the system does not say so."""
        if not hasattr(socket, "TCP_INFO") or self.socket.family == socket.AF_UNIX:
            return 0.0
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        return _TCP_INFO.unpack(info)[0] / 1e6 if len(info) == _TCP_INFO.size else 0.0

    @property
    def has_room(self) -> bool:
        """Whether a short frame can be sent without waiting for the other end to read."""
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT)
        return bool(poll.poll(0))

    def shutdown(self) -> None:
        """Ends the connection: threads that wait at it, at either end, are woken."""
        # The descriptor stays open: other threads may be in a call on it, and its number would be used for another
        # socket.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.shutdown()
        self.socket.close()
