"""Connections of a gRPC server, which gRPC itself does not show: sockets of this process whose own end has its port.

gRPC accepts connections on threads of its own, before it knows anything of them. From time to time the files of the
process are looked through, and what has made no call that was accepted, or is too much, is shut down as if the client
had done so.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.admission import Admission, State, group_of
from thalweg._src.cluster.distributed.background import with_pauses
from thalweg._src.cluster.distributed.limits import ConnectionLimits

_FILES = "/dev/fd"
_SECONDS = 0.25  # between two looks
_SOON_SECONDS = 0.05  # if a call was refused meanwhile
_AT_ONCE = 16  # connections that are looked at without a pause
_REST = 10  # times the time of a look that pass before the next one
_QUESTIONS = 8  # calls without a proof that a connection may make between two looks, on behalf of several channels
Client = tuple[str, int]  # address and port


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A socket of this process with the client at its other end; other sockets may get its file later, but no inode."""

    client: Client
    file: int
    inode: int


class GrpcConnections:
    """Closes connections at limits, and those that make no call that is accepted, on a thread of its own.

    Args:
        limits: How many there may be, and for how long.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self._admission: Admission[Link] = Admission(limits)
        self._called: dict[str, bool] = {}
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._is_refused = threading.Event()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    def call(self, peer: str, is_accepted: bool) -> None:
        """Takes a call of a peer."""
        with self._lock:
            self._called[peer] = is_accepted or self._called.get(peer, False)
        if not is_accepted:
            self._is_refused.set()

    def ask(self, peer: str) -> None:
        """Takes a call of a peer that everybody may make, and that proves nothing; too many of them are refused."""
        with self._lock:
            self._asked[peer] += 1
            is_accepted = self._asked[peer] <= _QUESTIONS
        if not is_accepted:
            self.call(peer, False)

    def start(self, port: int) -> None:
        """Begins to look for connections to close; where files do not show them, it does nothing."""
        if sys.platform == "linux":
            self._thread = threading.Thread(target=self._watch, args=(port,), name="thalweg gRPC", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._ends.set()
        self._is_refused.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, port: int) -> None:
        links: dict[int, Link | None] = {}
        refused: dict[str, bool] = {}  # before the last look: they have had the time to read why
        rest = _SOON_SECONDS
        while not self._ends.wait(rest):
            if not refused:
                self._is_refused.wait(_SECONDS - rest)
            self._is_refused.clear()
            start = time.thread_time()
            links, calls = links_of(port, links), self.calls()
            accepted = {peer: True for peer, is_accepted in calls.items() if is_accepted}
            shut_down(self.look(filter(None, links.values()), refused | accepted, time.monotonic()))
            refused = dict.fromkeys(calls.keys() - accepted.keys(), False)
            rest = min(max(_SOON_SECONDS, _REST * (time.thread_time() - start)), _SECONDS)

    def calls(self) -> dict[str, bool]:
        """Returns the peers that have made calls since the last time, and whether one was accepted."""
        with self._lock:
            calls, self._called = self._called, {}
            self._asked.clear()
        return calls

    def look(self, links: Iterable[Link], calls: Mapping[str, bool], now: float) -> list[Link]:
        """Takes the connections that there are, and the calls since the last time; returns the ones to close."""
        called = {_client(peer): is_accepted for peer, is_accepted in calls.items()}
        admission, victims = self._admission, list[Link]()
        present, admitted = set(links), set(admission.having(*State))
        for link in admitted - present:
            admission.close(link)
        # Those that have proved themselves go first: they become the youngest of the idle ones, which are then not
        # closed for those that prove themselves now.
        callers = [link for link in admission.having(*State) if link.client in called]
        for link in sorted(callers, key=lambda link: admission.state(link) is State.UNPROVED):  # the others stay
            if admission.state(link) is not None:
                victims += self._take_call(link, called[link.client])
        for link in sorted(present - admitted, key=lambda link: link.inode):  # the order in which they were opened
            victims += filter(None, [admission.open(link, group_of(link.client[0]), now)])
            if link.client in called:  # now, since one that was opened later may take its place
                victims += self._take_call(link, called[link.client])
        for link in admission.expired(now):
            admission.close(link)
            victims.append(link)
        return victims

    def _take_call(self, link: Link, is_accepted: bool) -> list[Link]:
        if is_accepted:
            with contextlib.suppress(errors.UnavailableError):
                victim = self._admission.prove(link)
                self._admission.move(link, State.IDLE)  # gRPC ends those that are idle
                return [] if victim is None else [victim]
        elif self._admission.state(link) is State.IDLE:
            return []
        self._admission.close(link)
        return [link]


def _client(peer: str) -> Client:
    """Returns the address and port of a peer such as ipv4:127.0.0.1:80 or ipv6:%5B::1%5D:80."""
    host, _, port = unquote(peer.partition(":")[2]).rpartition(":")
    return _plain(host.strip("[]")), int(port) if port.isdigit() else 0


def _plain(host: str) -> str:
    """Returns an address in its shortest form, without a scope."""
    host = host.partition("%")[0]
    if ":" not in host:
        return host
    packed = socket.inet_pton(socket.AF_INET6, host)
    is_mapped = packed.startswith(bytes(10) + b"\xff\xff")
    return socket.inet_ntop(socket.AF_INET, packed[12:]) if is_mapped else socket.inet_ntop(socket.AF_INET6, packed)


def links_of(port: int, before: Mapping[int, Link | None]) -> dict[int, Link | None]:
    """Returns the sockets of this process by their inodes, None for those that were not accepted at the port.

    before: the result of an earlier call, from which those that are still there are taken
    """
    links: dict[int, Link | None] = {}
    for name in with_pauses(os.listdir(_FILES), _AT_ONCE):
        with contextlib.suppress(OSError):  # the file was closed meanwhile
            file = int(name)
            status = os.fstat(file)
            if stat.S_ISSOCK(status.st_mode):
                inode = status.st_ino
                link = before.get(inode)
                is_same = inode in before and (link is None or link.file == file)
                links[inode] = link if is_same else _ask(file, port)
    return links


def _ask(file: int, port: int) -> Link | None:
    """Returns the connection behind a file, by a copy of it that nobody else closes."""
    with socket.socket(fileno=os.dup(file)) as end:
        if end.family not in (socket.AF_INET, socket.AF_INET6) or end.getsockname()[1] != port:
            return None
        try:
            host, client_port = end.getpeername()[:2]
        except OSError:  # it listens, or has ended
            return None
        return Link((_plain(host), client_port), file, os.fstat(end.fileno()).st_ino)


def shut_down(links: Iterable[Link]) -> None:
    """Ends connections, as if their clients had done so; gRPC then closes the sockets."""
    for link in with_pauses(links, _AT_ONCE):
        # gRPC may close the file at any time, and its number then is another file's. The copy cannot change: if it has
        # the inode of the connection, that is what is shut down.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(link.file)) as end:
            if os.fstat(end.fileno()).st_ino == link.inode:
                end.shutdown(socket.SHUT_RDWR)
