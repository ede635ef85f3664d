"""Handshake of the data plane over real sockets: right, wrong, replayed, reflected, truncated and stalling peers."""

import contextlib
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import handshake
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.cluster.distributed.handshake import Caller
from thalweg._src.cluster.distributed.tls_socket import TlsSocket

TOKEN = Credentials(b"0123456789abcdef", origin="THALWEG_CLUSTER_TOKEN")
OTHER = Credentials(b"fedcba9876543210")
OPEN = Credentials(insecure=True)
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1"
HELLO, VERDICT = 41, 33


def tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0]


@pytest.fixture(params=[tcp_pair, socket.socketpair], ids=["tcp", "unix"])
def pair(request):
    ends = request.param()
    yield ends
    for end in ends:
        end.close()


@pytest.fixture
def tcp():
    ends = tcp_pair()
    yield ends
    for end in ends:
        end.close()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def connect(sock, credentials=TOKEN, peer=PS, seconds=60, host="127.0.0.1"):
    return handshake.connect(sock, credentials, host=host, role="link", task=WORKER, peer=peer, seconds=seconds)


def accept(sock, credentials=TOKEN, task=PS, seconds=60):
    return handshake.finish(handshake.accept(sock, credentials, task=task, seconds=seconds), sock, seconds)


def shake(pool, ends, client=TOKEN, server=TOKEN):
    """Returns what the client and the server return, or their errors."""
    made = [pool.submit(connect, ends[0], client), pool.submit(accept, ends[1], server)]
    return [call.exception() or call.result() for call in made]


@pytest.mark.parametrize("credentials", [TOKEN, OPEN], ids=["token", "insecure"])
def test_both_ends_go_on_with_the_socket(pair, pool, credentials):
    client, (server, peer) = shake(pool, pair, credentials, credentials)
    assert (client, server) == pair and peer == Caller("link", WORKER)
    assert client.gettimeout() is None and server.gettimeout() is None
    client.sendall(b"to the server")
    server.sendall(b"to the client")
    assert (server.recv(100), client.recv(100)) == (b"to the server", b"to the client")


def test_what_follows_the_handshake_is_left_in_the_socket(pair, pool):
    def serve():
        server, _ = accept(pair[1])
        server.sendall(b"frame")

    serving = pool.submit(serve)
    client = connect(pair[0])
    serving.result()
    assert client.recv(100) == b"frame"


@pytest.mark.parametrize(
    ("client", "server", "client_text", "server_text"),
    [
        (OTHER, TOKEN, "has another token", "the client has another token"),
        (TOKEN, OTHER, "here the token of THALWEG_CLUSTER_TOKEN", "the client has another token"),
        (OPEN, TOKEN, "and this process has none", "and the client has none"),
        (TOKEN, OPEN, "this process has a token", "the client has a token"),
    ],
)
def test_both_ends_say_which_token_is_wrong(pair, pool, client, server, client_text, server_text):
    errors_of_both = shake(pool, pair, client, server)
    for error, text in zip(errors_of_both, (client_text, server_text)):
        assert isinstance(error, errors.UnauthenticatedError)
        assert text in str(error) and "THALWEG_CLUSTER_TOKEN" in str(error)
    assert pair[0].fileno() == pair[1].fileno() == -1


def test_a_task_of_another_name_is_refused(pair, pool):
    serving = pool.submit(accept, pair[1], task="/job:ps/replica:0/task:1")
    with pytest.raises(errors.FailedPreconditionError, match=f"{PS} .* has another name"):
        connect(pair[0])
    with pytest.raises(errors.FailedPreconditionError, match=f"expects the task {PS}, and this is .*task:1"):
        serving.result()


class Tap:
    """A connection between two sockets that keeps what passes, in both directions."""

    def __init__(self, pool):
        (self.client, inner), (outer, self.server) = socket.socketpair(), socket.socketpair()
        self.sent, self.answered = bytearray(), bytearray()
        self._all = (self.client, inner, outer, self.server)
        pool.submit(self._pass_on, inner, outer, self.sent)
        pool.submit(self._pass_on, outer, inner, self.answered)

    def _pass_on(self, source, sink, kept):
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                kept += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        for end in self._all:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def heard(pool):
    """Returns what both ends send in a handshake that succeeds."""
    with contextlib.closing(Tap(pool)) as tap:
        shake(pool, (tap.client, tap.server))
        return bytes(tap.sent), bytes(tap.answered)


def test_a_handshake_is_short_and_without_the_token(heard):
    sent, answered = heard
    assert TOKEN.token not in sent + answered
    assert len(sent) + len(answered) < 300


def test_a_replayed_client_is_refused(heard, pair, pool):
    sent, _ = heard
    serving = pool.submit(accept, pair[1])
    pair[0].sendall(sent)
    with pytest.raises(errors.UnauthenticatedError, match="another token"):
        serving.result()
    answer = receive_all(pair[0])
    assert len(answer) == HELLO + VERDICT and answer[HELLO:] == b"\1" + b"\0" * 32


def test_a_replayed_server_is_refused(heard, pair, pool):
    _, answered = heard
    pair[1].sendall(answered)
    with pytest.raises(errors.UnauthenticatedError, match="another token"):
        connect(pair[0])


def receive_all(sock):
    data = b""
    while part := sock.recv(4096):
        data += part
    return data


def receive(sock, size):
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        assert part
        data += part
    return data


def test_a_client_whose_messages_are_reflected_refuses_them(pair, pool):
    """The other end has no token: it sends the client's own nonce and proof back."""

    def reflect():
        hello = receive(pair[1], HELLO)
        receive(pair[1], 3 + len("link" + WORKER + PS))
        pair[1].sendall(hello)
        pair[1].sendall(b"\0" + receive(pair[1], 32))

    reflecting = pool.submit(reflect)
    with pytest.raises(errors.UnauthenticatedError, match="another token"):
        connect(pair[0])
    reflecting.result()


@pytest.mark.parametrize("part", range(3), ids=["role", "task", "nonce"])
def test_what_a_client_says_about_itself_cannot_be_changed(part, pair, pool):
    """A program in between changes one byte of the client's first message."""
    position = {0: HELLO + 3, 1: HELLO + 3 + len("link") + 5, 2: HELLO - 1}[part]
    client, inner = socket.socketpair()

    def change():
        hello = bytearray(receive(inner, HELLO + 3 + len("link" + WORKER + PS)))
        hello[position] ^= 1
        pair[0].sendall(hello)
        inner.sendall(receive(pair[0], HELLO))
        pair[0].sendall(receive(inner, 32))
        inner.sendall(receive(pair[0], VERDICT))

    serving, changing = pool.submit(accept, pair[1]), pool.submit(change)
    with client, inner:
        with pytest.raises(errors.UnauthenticatedError):
            connect(client)
        changing.result()
    with pytest.raises(errors.UnauthenticatedError):
        serving.result()


def test_a_truncated_client_is_an_error(heard, pool):
    sent, _ = heard
    for size in range(len(sent)):
        client, server = socket.socketpair()
        with client, server:
            client.sendall(sent[:size])
            client.shutdown(socket.SHUT_WR)
            with pytest.raises(errors.UnavailableError, match="the client broke off the handshake"):
                accept(server)
            assert server.fileno() == -1


def test_a_truncated_server_is_an_error(heard):
    _, answered = heard
    for size in range(len(answered)):
        client, server = socket.socketpair()
        with client, server:
            server.sendall(answered[:size])
            server.shutdown(socket.SHUT_WR)
            with pytest.raises((errors.UnavailableError, errors.UnauthenticatedError)) as caught:
                connect(client)
            assert client.fileno() == -1
            assert "broke off the handshake" in str(caught.value)


@pytest.mark.parametrize("size", [0, 5, HELLO, HELLO + 2])
@pytest.mark.parametrize("is_client", [False, True])
def test_a_stalling_peer_is_given_up(pair, heard, size, is_client):
    """The peer sends a part, and then neither more nor the end."""
    with pytest.raises(errors.DeadlineExceededError, match=r"did not finish the handshake within 0\.1 s"):
        if is_client:
            pair[1].sendall(heard[1][:size])
            connect(pair[0], seconds=0.1)
        else:
            pair[0].sendall(heard[0][:size])
            accept(pair[1], seconds=0.1)


def test_a_peer_that_sends_byte_by_byte_does_not_extend_the_time_limit(pair, heard, pool):
    stop = threading.Event()

    def trickle():
        with contextlib.suppress(OSError):
            for byte in heard[0]:
                pair[0].sendall(bytes([byte]))
                if stop.wait(0.05):
                    return

    trickling = pool.submit(trickle)
    with pytest.raises(errors.DeadlineExceededError):
        accept(pair[1], seconds=0.3)
    stop.set()
    trickling.result()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100, "speaks another protocol"),
        (b"thalweg\x16\x03\x01\x02\x00" + b"x" * 100, "uses TLS, and this end does not"),
        (b"\0" * 4096, "speaks another protocol"),
    ],
)
def test_another_protocol_is_refused(pair, data, why):
    pair[0].sendall(data)
    with pytest.raises(errors.UnauthenticatedError, match=f"the client {why}"):
        accept(pair[1])


def test_another_version_is_named(pair, heard, pool):
    sent = bytearray(heard[0])
    sent[8] = 7
    pair[0].sendall(sent)
    with pytest.raises(errors.FailedPreconditionError, match=r"the client has version 7 .* this end version 2"):
        accept(pair[1])


def test_random_bytes_never_raise_another_error(heard):
    for number in range(300):
        sent = bytearray(heard[0])
        sent[number % len(sent)] ^= 1 << number % 8
        client, server = socket.socketpair()
        with client, server:
            client.sendall(bytes(sent) if number % 3 else os.urandom(200))
            client.shutdown(socket.SHUT_WR)
            with pytest.raises(errors.OpError):
                accept(server)


def test_tls_encrypts_both_directions_at_once(tcp, pool, certificates):
    both = Credentials(tls=certificates("client")), Credentials(tls=certificates("server"))
    client, (server, peer) = shake(pool, tcp, *both)
    assert isinstance(client, TlsSocket) and isinstance(server, TlsSocket) and peer == Caller("link", WORKER)
    assert dict(item[0] for item in server.getpeercert()["subject"])["commonName"] == "client"
    data = os.urandom(4 << 20)

    def read(sock):
        received = bytearray(len(data))
        position = 0
        while position < len(data):
            position += sock.recv_into(memoryview(received)[position:])
        return bytes(received)

    reading = [pool.submit(read, sock) for sock in (client, server)]
    writing = [pool.submit(sock.sendall, data) for sock in (client, server)]
    for call in writing:
        call.result()
    assert [call.result() for call in reading] == [data, data]
    client.close()
    server.close()


def test_a_tls_socket_that_is_shut_down_wakes_its_reader(tcp, pool, certificates):
    both = Credentials(tls=certificates("client")), Credentials(tls=certificates("server"))
    client, (server, _) = shake(pool, tcp, *both)
    server.sendall(b"last")
    assert client.recv(100) == b"last"
    reading = pool.submit(client.recv, 100)
    client.shutdown(socket.SHUT_RDWR)
    assert reading.result() == b""
    client.close()
    server.close()


def test_a_tls_socket_keeps_a_time_limit_and_shows_what_it_has_decrypted(tcp, pool, certificates):
    both = Credentials(tls=certificates("client")), Credentials(tls=certificates("server"))
    client, (server, _) = shake(pool, tcp, *both)
    client.settimeout(0.05)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.settimeout(None)
    server.sendall(b"three")
    assert client.recv(2) == b"th" and client.pending() == 3 and client.recv(10) == b"ree"
    client.close()
    server.close()


@pytest.mark.parametrize("transport", ["tcp", "unix", "tls"])
def test_the_other_end_must_read_what_is_sent(transport, pool, certificates):
    """A task that sends heartbeats and reads nothing would block those that push tensors to it."""
    ends = socket.socketpair() if transport == "unix" else tcp_pair()
    both = [Credentials(tls=certificates(name)) if transport == "tls" else TOKEN for name in ("client", "server")]
    client, (server, _) = shake(pool, ends, *both)
    with contextlib.closing(client), contextlib.closing(server):
        connection = Connection(client)
        connection.limit_sends(0.3)
        assert connection.has_room
        with pytest.raises(ConnectionLost, match=r"read nothing for 0.3 seconds"):
            connection.send(FrameKind.TENSOR, buffers=[bytes(1 << 26)])
        assert not connection.has_room


def test_a_token_inside_of_tls(tcp, pool, certificates):
    tls = certificates("client"), certificates("server")
    client, server = shake(pool, tcp, *(Credentials(each.token, tls) for each, tls in zip((TOKEN, OTHER), tls)))
    assert isinstance(client, errors.UnauthenticatedError) and isinstance(server, errors.UnauthenticatedError)


def test_unix_sockets_need_no_tls(pool, certificates):
    ends = socket.socketpair()
    tls = Credentials(tls=certificates("client"))
    client, (server, _) = shake(pool, ends, tls, tls)
    assert (client, server) == ends
    client.close()
    server.close()


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="only root can become another user")
def test_with_tls_a_unix_socket_of_another_user_is_refused(certificates):
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind("")  # a free abstract name, which all users can connect to
        listener.listen()
        os.seteuid(65534)
        try:
            client.connect(listener.getsockname())
        finally:
            os.seteuid(0)
        with pytest.raises(errors.UnauthenticatedError, match=r"the client belongs to another user \(uid 65534\)"):
            accept(listener.accept()[0], Credentials(tls=certificates("server")))


@pytest.mark.parametrize("client", ["another authority", "no TLS"])
def test_tls_refuses_other_clients(tcp, pool, certificates, client):
    others = {"another authority": Credentials(tls=certificates("client", "stranger")), "no TLS": OPEN}
    refused, server = shake(pool, tcp, others[client], Credentials(tls=certificates("server")))
    assert isinstance(refused, errors.UnauthenticatedError | errors.UnavailableError)
    assert isinstance(server, errors.UnauthenticatedError) and "TLS with the client failed" in str(server)


def test_a_client_with_tls_refuses_a_server_without(tcp, pool, certificates):
    client, server = shake(pool, tcp, Credentials(tls=certificates("client")), OPEN)
    assert isinstance(client, errors.UnauthenticatedError | errors.UnavailableError)
    assert isinstance(server, errors.UnauthenticatedError) and "uses TLS, and this end does not" in str(server)


def test_a_certificate_must_name_the_host(tcp, pool, certificates):
    tls = Credentials(tls=certificates("server"))
    serving = pool.submit(accept, tcp[1], tls)
    with pytest.raises(errors.UnauthenticatedError, match=r"Hostname mismatch.*ps0\.example\.com"):
        connect(tcp[0], tls, host="ps0.example.com")
    assert isinstance(serving.exception(), errors.OpError)


def test_a_peer_that_stalls_in_tls_is_given_up(tcp, certificates):
    with pytest.raises(errors.DeadlineExceededError):
        accept(tcp[1], Credentials(tls=certificates("server")), seconds=0.1)
