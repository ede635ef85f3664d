"""Connections of the REST port: what strangers may take, and that clients with the token are served before them."""

import socket
import ssl
import time
from contextlib import ExitStack

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.conftest import certificates  # noqa: F401
from tests.deploy.serving.conftest import asking
from thalweg._src.base import errors
from thalweg._src.cluster.distributed.admission import State
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.limits import Limits
from thalweg._src.deploy.serving.server import ModelServer

TOKEN = "0123456789abcdef"
WITH_TOKEN = f"Authorization: Bearer {TOKEN}\r\n"
BODY = '{"instances": [[1, 1, 1]]}'
ANSWER = b'{"predictions":[[9.0,12.0]]}'
FOREVER = 3600.0


def request(fields="", body=BODY, method="POST", path="/v1/models/m:predict"):
    """Returns the bytes of a request, with the token if `fields` has it."""
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {len(body)}\r\n\r\n{body}".encode()


class Peer:
    """A connection on which bytes are sent and answers are read."""

    def __init__(self, server, stack):
        self.end = stack.enter_context(socket.create_connection(("127.0.0.1", server.rest_api_port)))
        self._file = stack.enter_context(self.end.makefile("rb"))

    def send(self, content):
        self.end.sendall(content)
        return self

    def answer(self, has_body=True):
        """Returns status, headers and body; None if the server has closed the connection."""
        try:
            line = self._file.readline()
            if not line:
                return None
            headers = {}
            while field := self._file.readline().strip():
                name, _, value = field.partition(b": ")
                headers[name.decode()] = value.decode()
            body = self._file.read(int(headers.get("content-length", 0)) if has_body else 0)
        except ConnectionError:
            return None
        return int(line.split()[1]), headers, body

    def is_closed(self):
        try:
            return self._file.read(1) == b""
        except ConnectionError:
            return True


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(saved, stack, monkeypatch):
    """Returns a function that starts a server; those with a token are open to nobody else."""

    def serve(has_token=True, path=saved, max_request_bytes=1 << 20, origins=(), hosts=(), **limits):
        if has_token:
            monkeypatch.setenv("THALWEG_SERVING_TOKEN", TOKEN)
        options = {"allowed_origins": origins, "allowed_hosts": hosts, "max_request_bytes": max_request_bytes}
        limits = Limits(**{"header_seconds": FOREVER, "idle_seconds": FOREVER, "transfer_seconds": FOREVER, **limits})
        return stack.enter_context(ModelServer({"m": str(path)}, port=None, rest_api_port=0, limits=limits, **options))

    return serve


def test_a_stranger_is_refused_before_the_body_is_read(serve, stack):
    server = serve()
    for fields in ("", "Authorization: Bearer 0123456789abcdeF\r\n"):
        peer = Peer(server, stack).send(request(fields, "x" * 1000)[:-500])
        status, headers, body = peer.answer()
        assert (status, headers["www-authenticate"], headers["connection"]) == (401, "Bearer", "close")
        assert b"this server has a token" in body
        peer.send(b"x" * 500)  # is read, so that the end of the connection does not discard the answer
        assert peer.is_closed()
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert Peer(server, stack).send(chunked).answer()[0] == 401
    assert Peer(server, stack).send(request("Expect: 100-continue\r\n")).answer()[0] == 401
    for path in ("/v2/health/live", "/v2/health/ready"):
        peer = Peer(server, stack).send(request("", "", "GET", path))
        assert peer.answer()[0] == 200 and peer.is_closed()
        assert Peer(server, stack).send(request("", BODY, "GET", path)).answer()[0] == 401
    assert Peer(server, stack).send(request(WITH_TOKEN)).answer()[2] == ANSWER


def test_a_client_is_served_whatever_the_number_of_strangers(serve, stack):
    server = serve(unproved=4)
    client = Peer(server, stack).send(request(WITH_TOKEN))
    assert client.answer()[2] == ANSWER
    silent = [Peer(server, stack) for _ in range(4)]
    half = [Peer(server, stack).send(request()[:40]) for _ in range(4)]
    assert all(peer.is_closed() for peer in silent)
    assert Peer(server, stack).send(request(WITH_TOKEN)).answer()[2] == ANSWER
    assert half[0].is_closed() and half[1].send(request()[40:]).answer()[0] == 401
    assert client.send(request(WITH_TOKEN)).answer()[2] == ANSWER


def test_an_idle_client_makes_room_for_another_one(serve, stack):
    server = serve(connections=2)
    peers = [Peer(server, stack) for _ in range(3)]
    for peer in peers:
        assert peer.send(request(WITH_TOKEN)).answer()[2] == ANSWER
    assert peers[0].is_closed()
    assert all(peer.send(request(WITH_TOKEN)).answer()[2] == ANSWER for peer in peers[1:])


def test_headers_are_limited(serve, stack):
    server = serve(header_bytes=1000, headers=10)
    assert Peer(server, stack).send(request(WITH_TOKEN + "X: 1\r\n" * 7)).answer()[0] == 200
    assert Peer(server, stack).send(request(WITH_TOKEN + "X: 1\r\n" * 8)).answer()[0] == 431
    assert Peer(server, stack).send(request(WITH_TOKEN + f"X: {'a' * 1000}\r\n")).answer()[0] == 431
    assert Peer(server, stack).send(b"GET /" + b"a" * 2000).answer()[0] == 431
    client = Peer(server, stack).send(request(WITH_TOKEN))
    assert client.answer()[0] == 200
    assert client.send(request(WITH_TOKEN + f"X: {'a' * 1000}\r\n")).answer()[0] == 431


def test_bodies_are_limited(serve, stack):
    server = serve(max_request_bytes=1000)
    peer = Peer(server, stack).send(request(WITH_TOKEN, "[" * 1001))
    assert peer.answer()[::2] == (413, b'{"error":"the request has more than 1000 bytes"}')
    start = request(WITH_TOKEN + "Transfer-Encoding: chunked\r\n", "").replace(b"Content-Length: 0\r\n", b"")
    assert Peer(server, stack).send(start + b"3e9\r\n" + b"[" * 1001).answer()[0] == 413
    assert Peer(server, stack).send(start + b"1;" + b"a" * 20_000).answer()[0] == 400
    content = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY.encode())
    assert Peer(server, stack).send(start + content + b"0\r\n\r\n").answer()[2] == ANSWER


def test_pipelined_requests_are_read_after_the_answers(serve, stack):
    client = Peer(serve(), stack).send(request(WITH_TOKEN) * 100 + b"\r\n" + request(WITH_TOKEN)[:50])
    assert [client.answer()[2] for _ in range(100)] == [ANSWER] * 100
    assert client.send(request(WITH_TOKEN)[50:]).answer()[2] == ANSWER


def test_what_follows_a_chunked_request_ends_the_connection(serve, stack):
    start = request(WITH_TOKEN + "Transfer-Encoding: chunked\r\n", "").replace(b"Content-Length: 0\r\n", b"")
    whole = start + b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY.encode())
    client = Peer(serve(), stack).send(whole)
    assert client.answer()[2] == ANSWER
    assert client.send(whole + request(WITH_TOKEN)).answer()[2] == ANSWER
    assert client.is_closed()


@pytest.mark.parametrize("limit", ["header_seconds", "idle_seconds", "transfer_seconds"])
def test_what_does_not_come_in_time_ends_the_connection(serve, stack, limit):
    server = serve(**{limit: 0.1})
    peer = Peer(server, stack)
    if limit == "header_seconds":
        peer.send(request(WITH_TOKEN)[:40])
    elif limit == "idle_seconds":
        assert peer.send(request(WITH_TOKEN)).answer()[2] == ANSWER
    else:
        status, headers, _ = peer.send(request(WITH_TOKEN)[:-5]).answer()
        assert (status, headers["connection"]) == (408, "close")
    assert peer.is_closed()


def test_an_answer_that_is_not_read_ends_the_connection(serve, stack, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.placeholder(tf.int32, [1])
        tf.saved_model.simple_save(session, tmp_path / "1", {"count": count}, {"zeros": tf.zeros(count)})
    server = serve(path=tmp_path, transfer_seconds=0.1)
    peer = Peer(server, stack).send(request(WITH_TOKEN, '{"inputs": [10000000]}'))
    connections = server._servers[0]._admission
    while not connections.having(State.SENDING):
        time.sleep(0.01)
    while len(connections):
        time.sleep(0.01)
    status, headers, body = peer.answer()
    assert status == 200 and len(body) < int(headers["content-length"])


def test_bytes_in_flight_are_limited(serve, stack):
    server = serve(bytes_in_flight=1000)
    first = Peer(server, stack).send(request(WITH_TOKEN, "[" * 900)[:-100])
    second = Peer(server, stack)
    while (answer := second.send(request(WITH_TOKEN, "[" * 300)).answer())[0] == 400:
        pass  # the first one has not arrived
    assert answer[0] == 503 and answer[1]["retry-after"] == "1"
    first.send(b"[" * 100)
    assert first.answer()[0] == 400
    assert Peer(server, stack).send(request(WITH_TOKEN)).answer()[2] == ANSWER


def test_web_pages_are_refused_unless_they_are_allowed(serve, stack):
    server = serve(has_token=False, origins=("https://a.example",), hosts=("Proxy.example",))
    answer = Peer(server, stack).send(request("Origin: http://evil.example\r\n")).answer()
    assert answer[0] == 403 and b"may not call this server" in answer[2]
    assert Peer(server, stack).send(request("Origin: null\r\n")).answer()[0] == 403
    status, headers, body = Peer(server, stack).send(request("Origin: https://a.example\r\n")).answer()
    assert (status, headers["access-control-allow-origin"], body) == (200, "https://a.example", ANSWER)
    status, headers, _ = Peer(server, stack).send(request("Origin: https://a.example\r\n", "", "OPTIONS")).answer()
    assert (status, headers["access-control-allow-headers"]) == (200, "authorization, content-type")
    for host in ("localhost", "LOCALHOST.:8501", "127.0.0.1", "[::1]:80", "10.0.0.1:8501", "proxy.example:1"):
        assert Peer(server, stack).send(request().replace(b"localhost", host.encode())).answer()[2] == ANSWER, host
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8501", "", "[", "evil.example:"):
        content = request().replace(b"localhost", host.encode())
        assert Peer(server, stack).send(content).answer()[0] == 403, host


def test_a_page_asks_whether_it_may_call_before_it_has_the_token(serve, stack):
    server = serve(origins=("https://a.example",))
    asked = "Access-Control-Request-Method: POST\r\n"
    peer = Peer(server, stack).send(request("Origin: https://a.example\r\n" + asked, "", "OPTIONS"))
    assert peer.answer()[0] == 200
    assert Peer(server, stack).send(request(asked, "", "OPTIONS")).answer()[0] == 401
    assert Peer(server, stack).send(request(WITH_TOKEN).replace(b"localhost", b"any.example")).answer()[2] == ANSWER


def test_methods(serve, stack):
    client = Peer(serve(), stack)
    status, headers, body = client.send(request(WITH_TOKEN, "", "HEAD", "/v1/models/m")).answer(has_body=False)
    assert status == 200 and int(headers["content-length"]) > 0
    status, _, body = client.send(request(WITH_TOKEN, "", "GET", "/v1/models/m")).answer()
    assert len(body) == int(headers["content-length"])
    client.send(request(WITH_TOKEN + "Expect: 100-continue\r\n")[: -len(BODY)])
    assert client.answer()[0] == 100
    assert client.send(BODY.encode()).answer()[2] == ANSWER
    status, headers, _ = client.send(request(WITH_TOKEN, "", "OPTIONS")).answer()
    assert (status, headers["allow"]) == (200, "GET, HEAD, POST, OPTIONS")
    assert client.send(request(WITH_TOKEN, "", "DELETE")).answer()[0] == 400


def test_a_request_that_ends_early(serve, stack):
    server = serve()
    for end in (0, 10, 100, -1):
        peer = Peer(server, stack).send(request(WITH_TOKEN)[:end])
        peer.end.shutdown(socket.SHUT_WR)
        assert peer.answer() is None
    peer = Peer(server, stack).send(request(WITH_TOKEN))
    peer.end.shutdown(socket.SHUT_WR)
    assert peer.answer()[2] == ANSWER


def test_tls_has_the_same_limits(serve, stack, certificates, monkeypatch):  # noqa: F811
    for name, path in zip(("CERT", "KEY", "CA"), _files(certificates("server"))):
        monkeypatch.setenv(f"THALWEG_SERVING_TLS_{name}", path)
    server = serve(unproved=4, max_request_bytes=1 << 26)
    for name, path in zip(("CERT", "KEY", "CA"), _files(certificates("client"))):
        monkeypatch.setenv(f"THALWEG_SERVING_TLS_{name}", path)
    with Client(f"https://localhost:{server.rest_api_port}", timeout=60) as client:
        large = np.ones((100_000, 3), np.float32)
        assert client.predict("m", {"x": large})["y"].tolist() == [[9, 12]] * len(large)
        silent = [Peer(server, stack) for _ in range(4)]
        half = [Peer(server, stack).send(b"\x16\x03\x01\x02\x00") for _ in range(5)]
        assert all(peer.is_closed() for peer in [*silent, half[0]])
        assert client.predict("m", {"x": large[:1]})["y"].tolist() == [[9, 12]]
    monkeypatch.setenv("THALWEG_SERVING_TOKEN", "another token 123")
    with Client(f"https://localhost:{server.rest_api_port}") as client, pytest.raises(errors.UnauthenticatedError):
        client.status("m")
    assert Peer(server, stack).send(request(WITH_TOKEN)).answer() is None  # without TLS
    context = ssl.create_default_context(cafile=certificates("client").authority)
    plain = stack.enter_context(socket.create_connection(("localhost", server.rest_api_port)))
    with pytest.raises(ssl.SSLError), context.wrap_socket(plain, server_hostname="localhost") as end:
        end.sendall(request(WITH_TOKEN))  # without a certificate
        end.recv(1)


def _files(tls):
    return tls.certificate, tls.key, tls.authority


def test_many_connections_at_once(serve, stack):
    server = serve(unproved=50)
    for _ in range(5):
        peers = [Peer(server, stack).send(request()[:30]) for _ in range(100)]
        assert asking(server)("/v1/models/m", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
        for peer in peers:
            peer.end.close()
