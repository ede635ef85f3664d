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
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost, Frame
from thalweg._src.cluster.distributed.frames import Kind, TooLarge, pack, unpack, unpack_error
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.runtime.resources.rendezvous import Many

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

    def __init__(self, connection: Connection, link: Link | None, limit: int) -> None:
        self.connection = connection
        self._link = link
        self._limit = limit
        self._is_pinged = False

    def send(self, kind: Kind, request: StepRequest) -> None:
        """Asks for a step to be run."""
        put = self._link.put if self._link is not None and self._link.has_slab else None
        described, buffers = pack(request.feeds, put)
        head = _REQUEST.pack(request.handle, request.timeout_in_ms, request.is_traced, request.is_pumped)
        self.connection.send(kind, request.step, head + described, buffers, count=len(request.feeds))

    def ping(self) -> None:
        """Sends a PING to a task that takes long: if the request or its answer was lost, one of both ends notices then.

        There is one PING at a time, since the task reads it after the step.
        """
        if not self._is_pinged:
            self._is_pinged = True
            self.connection.send(Kind.PING)

    def handle(self, deliver: Callable[[str, Any], None]) -> tuple[list[Any], Any] | None:
        """Reads a message: delivers a tensor and returns None, or takes the answer.

        The answer is the fetched values and the trace; the error of a step is raised.
        """
        frame = self.connection.receive()
        if frame.kind in (Kind.PING, Kind.PONG):
            self._is_pinged = self._is_pinged and frame.kind != Kind.PONG
            return None
        if frame.kind != Kind.TENSOR or self._link is None:
            return self._result(frame)
        deliver(*reversed(self._link.read_value(frame, self.connection)))
        return None

    def _result(self, frame: Frame) -> tuple[list[Any], Any]:
        if frame.kind == Kind.FAILED:
            raise unpack_error(frame.description)
        if frame.kind != Kind.DONE:
            raise ValueError(f"a frame of kind {frame.kind} instead of the result of a step")
        view = self._link.view if self._link is not None else None
        try:
            values, used = unpack(self.connection, frame.description, frame.values, frame.size, self._limit, view)
        except TooLarge as error:
            raise errors.invalid(f"{self._link.task if self._link else 'the task'} returned {error}") from None
        rest = bytes(frame.description[used:])
        return values, json.loads(rest) if rest else None

    def drain(self) -> None:
        """Reads what has arrived on a connection that was shut down, so that its blocks of the slab are released."""
        if self._link is not None and self._link.has_slab:
            with contextlib.suppress(ConnectionLost, ValueError, errors.OpError):
                while self.handle(lambda key, value: None) is None:
                    pass

    def why_lost(self, error: Exception) -> str:
        """Returns why a connection that has ended did so: with the link, if that is lost."""
        return str(error) if self._link is None or self._link.is_open else self._link.why_closed

    def close(self) -> None:
        self.connection.close()


def read_request(connection: Connection, frame: Frame, link: Link | None, limit: int) -> StepRequest:
    """Reads the request of a frame, at the end that answers."""
    handle, timeout, is_traced, is_pumped = _REQUEST.unpack_from(frame.description)
    view = link.view if link is not None else None
    feeds, _ = unpack(connection, frame.description[_REQUEST.size :], frame.values, frame.size, limit, view)
    return StepRequest(handle, frame.step, feeds, timeout, is_traced, is_pumped)


class ReplyStream:
    """The way to the master that waits for a step on a channel, for tensors that it needs."""

    def __init__(self, connection: Connection, link: Link) -> None:
        self.task = link.task
        self._connection = connection
        self._link = link
        self._lock = threading.Lock()
        self._is_over = False

    def push(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor."""
        values = value.values if isinstance(value, Many) else [value]
        described, buffers = pack(values, self._link.put if self._link.has_slab else None)
        try:
            with self._lock:
                if self._is_over:
                    raise errors.CancelledError(None, None, "Step was cancelled.")
                self._connection.send(Kind.TENSOR, step, described + key.encode(), buffers, len(values))
        except ConnectionLost as error:
            raise errors.UnavailableError(None, None, f"{self.task} is lost: {error}") from None

    def ping(self) -> None:
        """Sends a heartbeat, by which the master notices that a tensor before it was lost."""
        if self._lock.acquire(blocking=False):
            try:
                if not self._is_over and self._connection.has_room:
                    self._connection.send(Kind.PING)
            except (ConnectionLost, ValueError):
                pass  # the thread of the channel notices too
            finally:
                self._lock.release()

    def end(self) -> None:
        """Leaves the connection to the thread that answers on it."""
        with self._lock:
            self._is_over = True


def reply(connection: Connection, step: int, values: Sequence[Any], link: Link | None, trace: Any = None) -> None:
    """Answers with the fetched values of a step."""
    put = link.put if link is not None and link.has_slab else None
    described, buffers = pack(values, put)
    extra = b"" if trace is None else json.dumps(trace).encode()
    connection.send(Kind.DONE, step, described + extra, buffers, count=len(values))
