"""A proxy for the frames between tasks, which spoils one of them; `wire_task` connects tasks through it."""

import contextlib
import json
import os
import secrets
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

from thalweg._src.cluster.distributed.data_plane import connect
from thalweg._src.cluster.distributed.frames import HEADER, FrameKind

DELAY = 1.5
_PREAMBLE = struct.Struct("<I")
_HELLO, _LENGTHS, _MAC, _VERDICT = 41, 3, 32, 33  # bytes of the messages of a handshake
_RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: closing the socket resets the connection
_DONE = (FrameKind.DONE, FrameKind.FAILED)
_REPLIES = {
    **{FrameKind.RUN_STEP: _DONE, FrameKind.RUN_PARTITIONS: _DONE},
    **{
        FrameKind.OFFER: (FrameKind.WANT,),
        FrameKind.WANT: (FrameKind.WANTED,),
        FrameKind.TENSOR: (FrameKind.CONSUMED, *_DONE),
    },
}


@dataclass(eq=False)
class Fault:
    """What happens to the first message that matches, or to a later one.

    what: the kind of a frame, or the name of a call of the control plane
    action: "lost", "reply lost", "twice", "delayed", "reset", "truncated", for calls also "reply truncated"
    sender: how the name of the task or client that sends it starts
    after: how many messages that match pass before
    """

    what: object
    action: str
    role: str = ""
    sender: str = ""
    after: int = 0
    happened: threading.Event = field(default_factory=threading.Event)

    def matches(self, what, role, sender):
        return (
            not self.happened.is_set()
            and self.what == what
            and role.startswith(self.role)
            and sender.startswith(self.sender)
        )


@dataclass(eq=False)
class _Stream:
    """One direction of a connection."""

    source: socket.socket
    sink: socket.socket
    sender: str
    role: str
    dropped: tuple = ()  # kinds of frames of which the next one is dropped


class Proxy:
    """Passes connections on, each by two threads."""

    def __init__(self):
        self.fault = None
        self.seen = set()  # kinds and roles of frames, and names of calls, that passed
        self._lock = threading.Lock()
        self._sockets = set()
        self._threads = []
        self._is_closed = False
        tcp = socket.create_server(("127.0.0.1", 0))
        unix = socket.socket(socket.AF_UNIX)
        name = f"thalweg-proxy-{secrets.token_hex(8)}"
        unix.bind(f"\0{name}")
        unix.listen(128)
        self.address = json.dumps([tcp.getsockname()[1], name])
        self._listening = [tcp, unix]
        for sock in self._listening:
            self._start(self._listen, sock)

    def arm(self, fault):
        """Sets the fault to come."""
        self.fault = fault

    def cut(self):
        """Ends all connections."""
        with self._lock:
            sockets = list(self._sockets)
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._is_closed = True
        for sock in self._listening:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def _start(self, function, *args):
        thread = threading.Thread(target=function, args=args, name="proxy", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _listen(self, listening):
        while not self._is_closed:
            with contextlib.suppress(OSError):
                sock, _ = listening.accept()
                self._start(self._serve, sock)

    def _serve(self, sock):
        with self._kept(sock), contextlib.suppress(OSError, EOFError):
            fields = json.loads(_read(sock, *_PREAMBLE.unpack(_read(sock, _PREAMBLE.size))))
            if "call" in fields:
                self.seen.add(fields["call"])
                fault = self._take(fields["call"], "call", fields["sender"])
                sock.sendall((fault.action if fault is not None else "pass").encode())
            else:
                with self._kept(connect(*fields["to"])) as server:
                    server.settimeout(None)
                    self._connect(sock, server)

    @contextlib.contextmanager
    def _kept(self, sock):
        with self._lock:
            self._sockets.add(sock)
        try:
            yield sock
        finally:
            with self._lock:
                self._sockets.discard(sock)
            sock.close()

    def _take(self, what, role, sender):
        with self._lock:
            fault = self.fault
            if fault is None or not fault.matches(what, role, sender):
                return None
            if fault.after:
                fault.after -= 1
                return None
            fault.happened.set()
            return fault

    def _connect(self, client, server):
        role, names = _pass_handshake(client, server)
        if role == "link" and client.family == socket.AF_UNIX:
            _pass_slab(client, server)
            _pass_slab(server, client)
        there = _Stream(client, server, names[0], role)
        back = _Stream(server, client, names[1], role)
        answers = threading.Thread(target=self._pump, args=(back, there), name="proxy", daemon=True)
        answers.start()
        self._pump(there, back)
        answers.join()

    def _pump(self, stream, reverse):
        with contextlib.suppress(OSError, EOFError):
            while True:
                head = _read(stream.source, HEADER.size)
                kind, _, _, _, length, _, size = HEADER.unpack(head)
                self._pass(stream, reverse, FrameKind(kind), head + _read(stream.source, length + size))
        for sock in (stream.source, stream.sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _pass(self, stream, reverse, kind, content):
        self.seen.add((kind, stream.role))
        if kind in stream.dropped:
            stream.dropped = ()
            return
        fault = self._take(kind, stream.role, stream.sender)
        action = None if fault is None else fault.action
        if action == "lost":
            return
        if action == "reply lost":
            reverse.dropped = _REPLIES.get(kind, tuple(FrameKind))
        elif action == "twice":
            content += content
        elif action == "delayed":
            time.sleep(DELAY)
        elif action == "reset":
            for sock in (stream.source, stream.sink):
                if sock.family != socket.AF_UNIX:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            raise EOFError
        elif action == "truncated":
            stream.sink.sendall(content[: len(content) // 2])
            raise EOFError
        stream.sink.sendall(content)


def _read(sock, size):
    content = bytearray()
    while len(content) < size:
        part = sock.recv(min(size - len(content), 1 << 20))
        if not part:
            raise EOFError
        content += part
    return bytes(content)


def _pass_handshake(client, server):
    """Passes the handshake of a connection; returns its role and the names of both ends."""
    head = _read(client, _HELLO + _LENGTHS)
    lengths = head[_HELLO:]
    names = _read(client, sum(lengths))
    server.sendall(head + names)
    client.sendall(_read(server, _HELLO))
    server.sendall(_read(client, _MAC))
    client.sendall(_read(server, _VERDICT))
    role, task, peer = (names[sum(lengths[:i]) : sum(lengths[: i + 1])].decode() for i in range(3))
    return role, (task, peer)


def _pass_slab(source, sink):
    said, fds, _, _ = socket.recv_fds(source, 1, 1)
    socket.send_fds(sink, [said], fds)
    for fd in fds:
        os.close(fd)


def open_through(address, is_tcp, **fields):
    """Opens a connection to the proxy, and says what it is for."""
    port, name = json.loads(address)
    sock = socket.socket(socket.AF_INET if is_tcp else socket.AF_UNIX)
    sock.connect(("127.0.0.1", port) if is_tcp else f"\0{name}")
    content = json.dumps(fields).encode()
    sock.sendall(_PREAMBLE.pack(len(content)) + content)
    return sock
