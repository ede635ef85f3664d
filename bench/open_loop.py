"""Calls of a gRPC server at random times: `open_loop.py PORT FILE RATE SECONDS`.

A call does not wait for the answers of earlier ones. FILE is the body of a request. Arrivals are a Poisson
process of RATE per second, over a few connections. Writes a line for each call to standard output: when it was sent, in
seconds on the monotonic clock, the milliseconds until its answer, and 1 if that is a result or 0 if it is an error.
h2load sends the requests of its clients in bursts, and does not tell errors of gRPC from results; so HTTP/2 is written
here, as far as it is needed.
"""

from __future__ import annotations

import contextlib
import os
import random
import selectors
import socket
import struct
import sys
import time
from collections import deque
from pathlib import Path

CONNECTIONS, LAST_SECONDS, HIGH_PRIORITY = 4, 2.0, -10
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
END_STREAM, ACKNOWLEDGED, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE, WINDOW, LARGEST_WINDOW, FRAME = 4, (1 << 16) - 1, (1 << 31) - 1, 1 << 14
FIELDS = {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/tensorflow.serving.PredictionService/Predict",
    ":authority": "localhost",
    "te": "trailers",
    "content-type": "application/grpc",
}


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content


def literal(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


BLOCK = b"".join(b"\0" + literal(name) + literal(value) for name, value in FIELDS.items())


class Connection:
    """A connection, and the calls that wait for an answer on it."""

    def __init__(self, port: int, body: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        increment = struct.pack(">I", LARGEST_WINDOW - WINDOW)
        start = frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, increment)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + start)
        self.socket.setblocking(False)
        self._body = memoryview(body)
        self._next = 1
        self._sent: dict[int, float] = {}
        self._has_data: set[int] = set()
        self._windows = {0: WINDOW}
        self._initial_window = WINDOW
        self._waiting: deque[tuple[int, int]] = deque()  # streams, and how much of their bodies was sent
        self._out, self._in = bytearray(), bytearray()
        self.answers: list[tuple[float, float, int]] = []

    def call(self) -> None:
        """Starts a call."""
        stream, self._next = self._next, self._next + 2
        self._sent[stream] = time.monotonic()
        self._windows[stream] = self._initial_window
        self._out += frame(HEADERS, END_HEADERS, stream, BLOCK)
        self._waiting.append((stream, 0))
        self.send()

    def send(self) -> None:
        """Sends what the windows of the server and the buffers of the system take."""
        while self._waiting:
            stream, done = self._waiting[0]
            size = min(FRAME, len(self._body) - done, self._windows[stream], self._windows[0])
            if size <= 0:
                break
            end = done + size
            self._out += frame(DATA, END_STREAM if end == len(self._body) else 0, stream, bytes(self._body[done:end]))
            for each in (0, stream):
                self._windows[each] -= size
            self._waiting.popleft()
            if end < len(self._body):
                self._waiting.appendleft((stream, end))
        with contextlib.suppress(BlockingIOError):
            while self._out:
                del self._out[: self.socket.send(self._out)]

    @property
    def is_blocked(self) -> bool:
        return bool(self._out)

    def receive(self) -> None:
        """Reads what has arrived."""
        content = self.socket.recv(1 << 18)
        assert content, "the server closed a connection"
        self._in += content
        while len(self._in) >= 9 and len(self._in) >= (end := 9 + int.from_bytes(self._in[:3], "big")):
            kind, flags, stream = struct.unpack(">BBI", self._in[3:9])
            self._take(kind, flags, stream, bytes(self._in[9:end]))
            del self._in[:end]
        self.send()

    def _take(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        assert kind != GOAWAY, content
        if kind == SETTINGS and not flags & ACKNOWLEDGED:
            for name, value in struct.iter_unpack(">HI", content):
                if name == INITIAL_WINDOW_SIZE:
                    for each in self._windows.keys() - {0}:
                        self._windows[each] += value - self._initial_window
                    self._initial_window = value
            self._out += frame(SETTINGS, ACKNOWLEDGED, 0)
        elif kind == PING and not flags & ACKNOWLEDGED:
            self._out += frame(PING, ACKNOWLEDGED, 0, content)
        elif kind == WINDOW_UPDATE and stream in self._windows:
            self._windows[stream] += struct.unpack(">I", content)[0]
        elif kind == DATA and content:
            self._has_data.add(stream)
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            sent = self._sent.pop(stream)
            self._windows.pop(stream)
            self.answers.append((sent, 1e3 * (time.monotonic() - sent), int(stream in self._has_data)))
            self._has_data.discard(stream)

    @property
    def is_idle(self) -> bool:
        return not self._sent


def run(port: int, body: bytes, rate: float, seconds: float) -> list[tuple[float, float, int]]:
    """Returns all calls of some seconds."""
    connections = [Connection(port, body) for _ in range(CONNECTIONS)]
    selector = selectors.SelectSelector()  # others round waits up to milliseconds
    for each in connections:
        selector.register(each.socket, selectors.EVENT_READ, each)
    arrivals, count = random.Random(0), 0
    due = start = time.monotonic()
    while (now := time.monotonic()) < start + seconds + LAST_SECONDS:
        if now >= start + seconds and all(each.is_idle for each in connections):
            break
        while due <= now and due < start + seconds:
            connections[count % CONNECTIONS].call()
            count, due = count + 1, due + arrivals.expovariate(rate)
        for each in connections:
            selector.modify(each.socket, selectors.EVENT_READ | selectors.EVENT_WRITE * each.is_blocked, each)
        wait = due - time.monotonic() if due < start + seconds else 1e-3
        for key, mask in selector.select(max(0.0, wait)):
            (key.data.receive if mask & selectors.EVENT_READ else key.data.send)()
    assert all(each.is_idle for each in connections), "calls without an answer"
    return sorted(answer for each in connections for answer in each.answers)


def main(port: str, file: str, rate: str, seconds: str) -> None:
    with contextlib.suppress(PermissionError):  # clients are on other machines, and do not wait for this one's cores
        os.setpriority(os.PRIO_PROCESS, 0, HIGH_PRIORITY)
    for sent, milliseconds, is_result in run(int(port), Path(file).read_bytes(), float(rate), float(seconds)):
        sys.stdout.write(f"{sent:.6f} {milliseconds:.3f} {is_result}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
