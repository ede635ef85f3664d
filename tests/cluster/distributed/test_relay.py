"""The relay of gRPC's connections: bytes, slow readers, ends, and what makes no call that is accepted."""

import contextlib
import itertools
import os
import socket
import threading

import pytest

from thalweg._src.cluster.distributed.limits import TaskConnections
from thalweg._src.cluster.distributed.refusals import Refusals
from thalweg._src.cluster.distributed.relay import Relay

FOREVER = 3600.0


class Relayed:
    """A relay with a server that is this test."""

    def __init__(self, stack, **limits):
        self._stack = stack
        self._listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.servers, self._server_numbers = {}, itertools.count(1)
        self.relay = Relay(self._connect, TaskConnections(**{"header_seconds": FOREVER, **limits}), Refusals("task"))
        stack.callback(self.relay.stop)

    def _connect(self, number):
        ours, its = socket.socketpair()
        self.servers[number] = self._stack.enter_context(its)
        return ours

    def connect(self):
        """Returns the ends of a connection at the client and at the server, and its peer."""
        client = self._stack.enter_context(socket.create_connection(self._listening.getsockname(), timeout=60))
        accepted, address = self._listening.accept()
        self.relay.take(accepted, address[0], address)
        number = next(self._server_numbers)
        while number not in self.servers:
            threading.Event().wait(0.01)
        self.servers[number].settimeout(60)
        return client, self.servers[number], f"unix:/somewhere/{number}"


@pytest.fixture
def start():
    with contextlib.ExitStack() as stack:
        yield lambda **limits: Relayed(stack, **limits)


def receive(sock, size):
    content = b""
    while len(content) < size:
        content += sock.recv(1 << 20)
    return content


def is_closed(sock):
    """Waits for the end of a connection."""
    with contextlib.suppress(ConnectionError):
        while sock.recv(1 << 16):
            pass
    return True


def test_bytes_pass_in_both_directions_whoever_reads_late(start):
    client, server, _ = start().connect()
    contents = os.urandom(1 << 24), os.urandom(1 << 24)  # more than all buffers on the way
    senders = [
        threading.Thread(target=sock.sendall, args=(content,))
        for sock, content in zip((client, server), contents, strict=True)
    ]
    for sender in senders:
        sender.start()
    threading.Event().wait(0.1)
    assert receive(server, 1 << 24) == contents[0]
    assert receive(client, 1 << 24) == contents[1]
    for sender in senders:
        sender.join()


@pytest.mark.parametrize("end", [0, 1])
def test_the_end_of_one_side_ends_the_other(start, end):
    relayed = start()
    pair, others = relayed.connect()[:2], relayed.connect()[:2]
    pair[end].sendall(b"last words")
    pair[end].close()
    assert receive(pair[1 - end], 10) == b"last words"
    assert is_closed(pair[1 - end])
    others[0].sendall(b"still")
    assert receive(others[1], 5) == b"still"


def test_what_makes_no_accepted_call_is_closed(start):
    relayed = start(header_seconds=0.2)
    (accepted, _, peer), (silent, _, _) = relayed.connect(), relayed.connect()
    relayed.relay.accept(peer)
    assert is_closed(silent)
    accepted.sendall(b"more")
    assert receive(relayed.servers[1], 4) == b"more"


def test_a_refused_connection_has_time_to_read_why_and_is_closed(start, caplog):
    relayed = start()
    client, server, peer = relayed.connect()
    relayed.relay.refuse(peer, "it has no token")
    server.sendall(b"why")
    assert receive(client, 3) == b"why"
    assert is_closed(client)
    (line,) = caplog.messages
    host, port = client.getsockname() if client.fileno() >= 0 else ("", 0)
    assert line == f"task refused a connection of {host}:{port}: it has no token"


def test_a_call_that_is_accepted_after_a_refusal_counts(start):
    """The first call of a client may have the credential of an earlier server."""
    relayed = start()
    (client, server, peer), (other, _, refused) = relayed.connect(), relayed.connect()
    relayed.relay.refuse(peer, "outdated")
    relayed.relay.accept(peer)
    relayed.relay.refuse(refused, "no token")
    assert is_closed(other), "it was refused later"
    client.sendall(b"call")
    assert receive(server, 4) == b"call"


def test_one_that_only_asks_is_closed(start):
    relayed = start()
    client, _, peer = relayed.connect()
    for _ in range(100):
        relayed.relay.ask(peer)
    assert is_closed(client)


def test_when_there_are_too_many_strangers_the_oldest_is_closed(start):
    relayed = start(unproved=2)
    connections = [relayed.connect() for _ in range(3)]
    relayed.relay.accept(connections[1][2])
    assert is_closed(connections[0][0])
    newer = [relayed.connect() for _ in range(2)]
    assert is_closed(connections[2][0])
    for client, server, _ in (connections[1], *newer):
        client.sendall(b"here")
        assert receive(server, 4) == b"here"


def test_peers_that_are_unknown_are_nobody(start):
    relayed = start()
    for peer in ("ipv4:127.0.0.1:80", "unix:", "unix:/somewhere/17"):
        relayed.relay.accept(peer)
        relayed.relay.ask(peer)
        relayed.relay.refuse(peer, "unknown")
