"""The gate of the data plane: strangers take no threads and make room, and whoever proves itself passes."""

import contextlib
import os
import queue
import socket
import sys
import threading

import pytest

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import data_plane, handshake
from thalweg._src.cluster.distributed.admission import State
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.gate import Gate, listen
from thalweg._src.cluster.distributed.handshake import Caller
from thalweg._src.cluster.distributed.limits import TaskConnections
from thalweg._src.cluster.distributed.refusals import Refusals

TOKEN = Credentials(b"0123456789abcdef")
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1"
FOREVER = 3600.0
HELLO = b"thalweg\1\2" + bytes(32)
STARTS = [b"", b"thalweg", HELLO, HELLO + b"\4\0\0li"]


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


class Opened:
    """A gate, and the connections that have passed it."""

    def __init__(self, stack, credentials=TOKEN, **limits):
        self._stack, self._passed = stack, queue.SimpleQueue()
        limits = TaskConnections(**{"header_seconds": FOREVER, **limits})
        self.gate = Gate("127.0.0.1", 0, PS, credentials, limits, Refusals(PS))
        stack.callback(self.gate.close)
        self.calls = queue.SimpleQueue()
        self.gate.start(lambda *passed: self._passed.put(passed), lambda *call: self.calls.put(call))

    def connect(self, use_tcp=True, content=b""):
        end = data_plane.connect(self.gate.unix_name, "127.0.0.1", self.gate.port, use_tcp)
        self._stack.enter_context(end)
        end.settimeout(60)
        end.sendall(content)
        return end

    def prove(self, end, credentials=TOKEN):
        """Has a connection prove itself; returns its end at the server, and who it says it is."""
        names = {"host": "127.0.0.1", "role": "link", "task": WORKER, "peer": PS}
        proved = self._stack.enter_context(contextlib.closing(handshake.connect(end, credentials, **names, seconds=60)))
        stream, peer = self._passed.get(timeout=60)
        self._stack.callback(stream.close)
        return proved, stream, peer

    def await_unproved(self, count):
        """Waits until so many connections are there that have not proved themselves."""
        while len(self.gate._admission.having(State.UNPROVED)) != count:
            threading.Event().wait(0.01)


def is_closed(end):
    """Waits for the end of a connection."""
    with contextlib.suppress(ConnectionError):
        while end.recv(1 << 16):
            pass
    return True


@pytest.mark.parametrize("use_tcp", [True, False])
@pytest.mark.parametrize("content", STARTS)
def test_a_client_passes_beside_strangers_that_stay(stack, use_tcp, content):
    opened = Opened(stack)
    strangers = [opened.connect(use_tcp, content) for _ in range(100)]
    opened.await_unproved(100)
    threads = [thread for thread in threading.enumerate() if thread.name == "thalweg connection"]
    assert not threads, "a stranger has no thread"
    client, server, peer = opened.prove(opened.connect(use_tcp))
    assert peer == Caller("link", WORKER)
    server.sendall(b"to the client")
    assert client.recv(100) == b"to the client"
    opened.await_unproved(100)
    assert all(end.fileno() >= 0 for end in strangers)


@pytest.mark.parametrize("use_tcp", [True, False])
def test_the_oldest_of_strangers_is_closed(stack, use_tcp):
    opened = Opened(stack, unproved_by_address=4)
    first = opened.connect(use_tcp)
    opened.prove(first)
    strangers = [opened.connect(use_tcp) for _ in range(7)]
    assert all(is_closed(end) for end in strangers[:3])
    opened.await_unproved(4)
    other = opened.connect(not use_tcp)  # is of another address, or of a user
    opened.prove(strangers[3])
    opened.prove(other)


def test_all_addresses_together_are_limited(stack):
    opened = Opened(stack, unproved=3)
    strangers = [opened.connect(use_tcp) for use_tcp in (True, False, True, False)]
    assert is_closed(strangers[0])
    opened.await_unproved(3)
    opened.prove(strangers[1])


@pytest.mark.parametrize("content", STARTS)
def test_a_stranger_has_a_deadline(stack, content):
    opened = Opened(stack, header_seconds=0.1)
    assert is_closed(opened.connect(content=content))
    opened.await_unproved(0)


@pytest.mark.parametrize("content", [b"thalwe!" + bytes(40), b"to whom it may concern" * 10])
def test_another_protocol_is_closed_at_once(stack, content):
    opened = Opened(stack)
    end = opened.connect()
    with contextlib.suppress(ConnectionError):
        end.sendall(content)
    assert is_closed(end)
    opened.prove(opened.connect())


def test_a_client_with_another_token_is_refused(stack):
    opened = Opened(stack)
    with pytest.raises(errors.UnauthenticatedError, match="another token"):
        opened.prove(opened.connect(), Credentials(b"fedcba9876543210"))
    opened.await_unproved(0)


def test_tls(stack, certificates):
    opened = Opened(stack, Credentials(tls=certificates("server")))
    strangers = [opened.connect(content=content) for content in (b"", b"thalweg\x16\x03\x01\x02\x00\x01", b"thal") * 10]
    client, server, _ = opened.prove(opened.connect(), Credentials(tls=certificates("client")))
    client.sendall(b"to the server")
    assert server.recv(100) == b"to the server"
    opened.await_unproved(len(strangers))
    assert is_closed(opened.connect(content=b"thalweg, and no TLS"))


def test_a_gate_closes_its_ports_and_what_is_unproved(stack):
    with contextlib.ExitStack() as inner:
        gate = Opened(inner).gate
        address = gate.unix_name, "127.0.0.1", gate.port
        ends = [stack.enter_context(data_plane.connect(*address, use_tcp)) for use_tcp in (True, False)]
    assert all(is_closed(end) for end in ends)
    for use_tcp in (True, False):
        with pytest.raises(ConnectionRefusedError):
            data_plane.connect(*address, use_tcp)


@pytest.mark.skipif(sys.platform != "linux", reason="the number of files is limited by the lowest free one")
def test_when_there_are_too_many_files_a_stranger_makes_room(stack):
    import resource

    opened = Opened(stack)
    stranger, client = opened.connect(), socket.socket()
    stack.enter_context(client)
    opened.await_unproved(1)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        client.connect(("127.0.0.1", opened.gate.port))
        assert is_closed(stranger)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    opened.prove(client)


@pytest.mark.parametrize("start", [b"PRI * HTTP/2.0", b"\x16\x03\x01"])
def test_what_does_not_begin_as_the_data_plane_is_for_grpc(stack, start):
    opened = Opened(stack)
    client = opened.connect(content=start)
    sock, group, address = opened.calls.get(timeout=60)
    stack.enter_context(sock)
    assert (group, address) == ("127.0.0.1", client.getsockname())
    assert sock.recv(100) == start, "nothing of it was read"
    opened.await_unproved(0)


def test_another_port_for_the_data_plane(stack, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv(data_plane.DATA_PORT, str(port))
    opened = Opened(stack)
    assert opened.gate.data_port == port != opened.gate.port
    client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    opened.prove(client)


@pytest.mark.parametrize("text", ["many", "-1", "65536"])
def test_a_port_that_is_none(monkeypatch, text):
    monkeypatch.setenv(data_plane.DATA_PORT, text)
    with pytest.raises(errors.InvalidArgumentError, match=f"DATA_PORT is '{text}', and not a port"):
        data_plane.own_port()


def test_a_refused_stranger_is_logged_once(stack, caplog):
    opened = Opened(stack)
    for _ in range(3):
        with pytest.raises(errors.UnauthenticatedError):
            opened.prove(opened.connect(), Credentials(b"another token, as long"))
    opened.await_unproved(0)
    (line,) = caplog.messages
    assert line.startswith(f"{PS} refused a connection of 127.0.0.1:")
    assert "has another token" in line


def test_a_port_in_use_is_named(stack):
    gate = Opened(stack).gate
    with pytest.raises(errors.UnknownError, match=f"127.0.0.1:{gate.port}: Address already in use; another server"):
        listen("127.0.0.1", gate.port)
