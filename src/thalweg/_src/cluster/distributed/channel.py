"""Channel: a connection that runs one step at a time; the thread that asks is the one that waits for the answer."""

from __future__ import annotations

import contextlib
import json
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.codec import Codec
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost, Frame
from thalweg._src.cluster.distributed.frames import FrameKind, TooLarge, unpack_error
from thalweg._src.cluster.distributed.link import Link

_REQUEST = struct.Struct("<QI??")  # handle, time limit in milliseconds, whether it is traced, and pumped


@dataclass(slots=True)
class StepRequest:
    """A step to run: what was registered or prepared under a handle, with the values of its feeds."""

    handle: int
    step: int
    feeds: Sequence[Any]
    timeout_in_ms: int = 0
    is_traced: bool = False
    is_pumped: bool = False


class Channel:
    """The end of a channel that asks.

    link: the link to the same task, whose slabs carry large values
    """

    def __init__(self, connection: Connection, link: Link) -> None:
        self.connection = connection
        self.link = link
        self._is_pinged = False

    def send(self, kind: FrameKind, request: StepRequest) -> None:
        """Asks for a step to be run."""
        feeds = self.link.codec.pack(request.feeds)
        head = _REQUEST.pack(request.handle, request.timeout_in_ms, request.is_traced, request.is_pumped)
        self.connection.send(kind, request.step, head + feeds.description, feeds.buffers, feeds.num_values)

    def ping(self) -> None:
        """Sends a PING to a task that takes long: if the request or its answer was lost, one of both ends notices then.

        There is one PING at a time, since the task reads it after the step.
        """
        # The frames of each direction are numbered, so a frame after a lost one shows the loss: the PING if the request
        # was lost, the PONG if the answer was. A task that is busy reads none of them, so more than one at a time could
        # fill the socket.
        if not self._is_pinged:
            self._is_pinged = True
            self.connection.send(FrameKind.PING)

    def handle(self, deliver: Callable[[str, Any], None]) -> tuple[list[Any], Any] | None:
        """Reads a message: delivers a tensor and returns None, or takes the answer.

        The answer is the fetched values and the trace; the error of a step is raised.
        """
        frame = self.connection.receive()
        if frame.kind in (FrameKind.PING, FrameKind.PONG):
            self._is_pinged = self._is_pinged and frame.kind != FrameKind.PONG
            return None
        if frame.kind != FrameKind.TENSOR:
            return self._result(frame)
        deliver(*self.link.codec.read_tensor(self.connection, frame))
        return None

    def _result(self, frame: Frame) -> tuple[list[Any], Any]:
        if frame.kind == FrameKind.FAILED:
            raise unpack_error(frame.description)
        if frame.kind != FrameKind.DONE:
            raise ValueError(f"a frame of kind {frame.kind} instead of the result of a step")
        try:
            values, trace = self.link.codec.read(self.connection, frame)
        except TooLarge as error:
            raise errors.invalid(f"{self.link.task} returned {error}") from None
        return values, json.loads(bytes(trace)) if trace else None

    def drain(self) -> None:
        """Reads what has arrived on a connection that was shut down, so that its blocks of the slab are released."""
        if self.link.has_slab:
            with contextlib.suppress(ConnectionLost, ValueError, errors.OpError):
                while self.handle(lambda key, value: None) is None:
                    pass

    def why_lost(self, error: Exception) -> str:
        """Returns why a connection that has ended did so: with the link, if that is lost."""
        return str(error) if self.link.is_open else self.link.why_closed

    def close(self) -> None:
        self.connection.close()


def read_request(connection: Connection, frame: Frame, codec: Codec) -> StepRequest:
    """Reads the request of a frame, at the end that answers."""
    handle, timeout, is_traced, is_pumped = _REQUEST.unpack_from(frame.description)
    feeds, _ = codec.read(connection, frame, _REQUEST.size)
    return StepRequest(handle, frame.step, feeds, timeout, is_traced, is_pumped)


class ReplyStream:
    """The tensors that a worker sends to the master of a step, on the channel where the master waits for its reply."""

    def __init__(self, connection: Connection, link: Link) -> None:
        self.task = link.task
        self._connection = connection
        self.link = link
        # Threads of the step send tensors here, the thread of the channel the answer. The flag is set under the lock
        # before the answer is sent, so that no tensor follows it: the master would take it for a message of its next
        # step.
        self._lock = threading.Lock()
        self._is_over = False

    def push(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor."""
        packed = self.link.codec.pack_tensor(key, value)
        try:
            with self._lock:
                if self._is_over:
                    raise errors.CancelledError(None, None, "Step was cancelled.")
                self._connection.send(FrameKind.TENSOR, step, packed.description, packed.buffers, packed.num_values)
        except ConnectionLost as error:
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error}") from None

    def ping(self) -> None:
        """Sends a heartbeat, by which the master notices that a tensor before it was lost."""
        if self._lock.acquire(blocking=False):
            try:
                if not self._is_over and self._connection.has_room:
                    self._connection.send(FrameKind.PING)
            except (ConnectionLost, ValueError):
                pass  # the thread of the channel notices too
            finally:
                self._lock.release()

    def end(self) -> None:
        """Leaves the connection to the thread that answers on it."""
        with self._lock:
            self._is_over = True


def reply(connection: Connection, step: int, values: Sequence[Any], codec: Codec, trace: Any = None) -> None:
    """Answers with the fetched values of a step."""
    packed = codec.pack(values)
    extra = b"" if trace is None else json.dumps(trace).encode()
    connection.send(FrameKind.DONE, step, packed.description + extra, packed.buffers, packed.num_values)
