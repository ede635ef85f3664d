"""Authentication of gRPC calls: which calls a server accepts, with real servers and channels on loopback."""

import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from thalweg._src.base.errors import UnauthenticatedError, UnknownError
from thalweg._src.cluster.distributed import authentication
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.gate import Gate
from thalweg._src.cluster.distributed.limits import TaskConnections
from thalweg._src.cluster.distributed.refusals import Refusals
from thalweg._src.cluster.distributed.relay import Relay
from thalweg._src.cluster.distributed.rpc import UnixSocket

TOKEN = Credentials(b"0123456789abcdef", origin="THALWEG_CLUSTER_TOKEN")
OTHER = Credentials(b"fedcba9876543210")
OPEN = Credentials(insecure=True)
LIMIT = 1 << 20


class Handlers(grpc.GenericRpcHandler):
    """Calls of all four forms, which count what reaches them."""

    def __init__(self):
        self.read = []
        self.calls = {
            "/test/unary_unary": grpc.unary_unary_rpc_method_handler(lambda one, _: one, self._parse),
            "/test/unary_stream": grpc.unary_stream_rpc_method_handler(lambda one, _: iter([one, one]), self._parse),
            "/test/stream_unary": grpc.stream_unary_rpc_method_handler(lambda all, _: b"".join(all), self._parse),
            "/test/stream_stream": grpc.stream_stream_rpc_method_handler(lambda all, _: all, self._parse),
        }

    def _parse(self, message):
        self.read.append(message)
        return message

    def service(self, details):
        return self.calls.get(details.method)


@pytest.fixture
def handlers():
    return Handlers()


@pytest.fixture
def serve(handlers):
    """Starts servers, which stop with the test."""
    with contextlib.ExitStack() as ends:

        def start(credentials, port=0, **limits):
            running = ends.enter_context(contextlib.ExitStack())
            pool = running.enter_context(ThreadPoolExecutor(4))
            limits, refusals, sock = TaskConnections(**limits), Refusals("task"), UnixSocket()
            running.callback(sock.close)
            gate = Gate("127.0.0.1", port, "task", credentials, limits, refusals)
            running.callback(gate.close)
            relay = Relay(sock.connect, limits, refusals)
            running.callback(relay.stop)
            server = authentication.server(
                sock.address, gate.port, credentials, [handlers], pool=pool, max_message_bytes=LIMIT, connections=relay
            )
            running.callback(lambda: server.stop(None).wait())
            sock.hide()
            server.start()
            gate.start(lambda *_: None, relay.take)
            return running, gate.port

        yield start


@pytest.fixture
def dial():
    """Makes channels, which are closed with the test."""
    with contextlib.ExitStack() as ends:

        def make(address, credentials, **options):
            made = authentication.channel(address, credentials, max_message_bytes=LIMIT, **options)
            return ends.enter_context(made)

        yield make


FORMS = {
    "unary_unary": lambda channel: [channel.unary_unary("/test/unary_unary")(b"one", 60)],
    "future": lambda channel: [channel.unary_unary("/test/unary_unary").future(b"one", 60).result()],
    "unary_stream": lambda channel: list(channel.unary_stream("/test/unary_stream")(b"one", 60)),
    "stream_unary": lambda channel: [channel.stream_unary("/test/stream_unary")(iter([b"one", b"two"]), 60)],
    "stream_stream": lambda channel: list(channel.stream_stream("/test/stream_stream")(iter([b"one", b"two"]), 60)),
}
ANSWERS = {
    "unary_unary": [b"one"],
    "future": [b"one"],
    "unary_stream": [b"one", b"one"],
    "stream_unary": [b"onetwo"],
    "stream_stream": [b"one", b"two"],
}


def refusal(channel, form="unary_unary"):
    """Returns the text of the error of a call that is not authenticated."""
    with pytest.raises((grpc.RpcError, UnauthenticatedError)) as caught:
        FORMS[form](channel)
    if isinstance(caught.value, UnauthenticatedError):
        return caught.value.message
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    return caught.value.details()


@pytest.mark.parametrize("form", FORMS)
def test_calls_with_the_token_are_served(form, serve, dial):
    _, port = serve(TOKEN)
    channel = dial(f"localhost:{port}", TOKEN)
    for _ in range(2):
        assert FORMS[form](channel) == ANSWERS[form]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("client", [OTHER, OPEN], ids=["another token", "no token"])
def test_calls_without_the_token_are_refused_unread(form, client, serve, dial, handlers):
    _, port = serve(TOKEN)
    text = refusal(dial(f"localhost:{port}", client), form)
    assert ("another token" if client is OTHER else "the client sent none") in text
    assert "THALWEG_CLUSTER_TOKEN" in text
    assert not handlers.read


def test_a_client_with_a_token_refuses_a_server_without(serve, dial, handlers):
    _, port = serve(OPEN)
    text = refusal(dial(f"localhost:{port}", TOKEN))
    assert "the client has a token of the cluster, and the server has none" in text
    assert not handlers.read


def test_without_tokens_calls_are_served(serve, dial):
    _, port = serve(OPEN)
    assert FORMS["unary_unary"](dial(f"localhost:{port}", OPEN)) == [b"one"]


def test_unknown_calls_are_refused_before_they_are_looked_up(serve, dial):
    _, port = serve(TOKEN)
    with pytest.raises(grpc.RpcError) as caught:
        dial(f"localhost:{port}", OPEN).unary_unary("/test/unknown")(b"", 60)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with pytest.raises(grpc.RpcError) as caught:
        dial(f"localhost:{port}", TOKEN).unary_unary("/test/unknown")(b"", 60)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("credential", [b"", b"x", b"\0" * 32, TOKEN.token])
def test_invented_credentials_are_refused(credential, serve, dial, handlers):
    _, port = serve(TOKEN)
    plain = dial(f"localhost:{port}", OPEN)
    with pytest.raises(grpc.RpcError) as caught:
        plain.unary_unary("/test/unary_unary")(b"one", 60, [("thalweg-credential-bin", credential)])
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    sent = [(f"thalweg-{name}-bin", credential) for name in ("credential", "nonce", "port")]
    with pytest.raises(grpc.RpcError) as caught:
        plain.unary_unary(authentication.PROVE)(b"", 60, sent)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert not handlers.read


class Eavesdropper:
    """A listener that passes all bytes on to a server and keeps them."""

    def __init__(self, target):
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.heard = bytearray()
        self._sockets, self._threads = [self._listener], []
        self._start(self._accept)

    def _start(self, *call):
        thread = threading.Thread(target=call[0], args=call[1:])
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                behind = socket.create_connection(self._target)
                self._sockets += [client, behind]
                self._start(self._pass_on, client, behind)
                self._start(self._pass_on, behind, client)

    def _pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.heard += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()


@pytest.fixture
def eavesdrop():
    with contextlib.ExitStack() as ends:

        def start(port):
            return ends.enter_context(contextlib.closing(Eavesdropper(("127.0.0.1", port))))

        yield start


def test_the_token_is_never_sent(serve, dial, eavesdrop):
    _, port = serve(TOKEN)
    between = eavesdrop(port)
    channel = dial(f"127.0.0.1:{between.port}", TOKEN)
    refusal(channel)
    channel.close()
    assert b"thalweg" in between.heard and TOKEN.token not in between.heard


def test_a_program_at_another_port_cannot_pass_proofs_on(serve, dial, eavesdrop, handlers):
    _, port = serve(TOKEN)
    assert "port of the same number" in refusal(dial(f"localhost:{eavesdrop(port).port}", TOKEN))
    assert not handlers.read


def test_a_server_that_cannot_prove_itself_receives_nothing(dial, handlers):
    class Impostor(Handlers):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(lambda *_: b"\0" * 32, self._parse)

    impostor = Impostor()
    with ThreadPoolExecutor(2) as pool:
        made = grpc.server(pool, [impostor])
        port = made.add_insecure_port("127.0.0.1:0")
        made.start()
        channel = dial(f"localhost:{port}", TOKEN)
        for form in FORMS:
            text = refusal(channel, form)
            assert "another token" in text and "here the token of THALWEG_CLUSTER_TOKEN" in text
        made.stop(None).wait()
    assert set(impostor.read) == {b""}


def test_a_server_of_another_kind_is_named(dial):
    with ThreadPoolExecutor(2) as pool:
        made = grpc.server(pool)
        port = made.add_insecure_port("127.0.0.1:0")
        made.start()
        assert "is not one of a cluster of thalweg" in refusal(dial(f"localhost:{port}", TOKEN))
        made.stop(None).wait()


@pytest.mark.parametrize("form", FORMS)
def test_a_channel_outlives_a_restart_of_the_server(form, serve, dial):
    first, port = serve(TOKEN)
    channel = dial(f"localhost:{port}", TOKEN, options=[("grpc.initial_reconnect_backoff_ms", 100)])
    assert FORMS[form](channel) == ANSWERS[form]
    first.close()
    serve(TOKEN, port)
    grpc.channel_ready_future(channel).result(60)
    if form.startswith("unary_unary"):
        assert FORMS[form](channel) == ANSWERS[form]
    else:  # the next call is served
        with contextlib.suppress(grpc.RpcError):
            FORMS[form](channel)
        assert FORMS[form](channel) == ANSWERS[form]


def test_a_channel_refuses_a_server_with_another_token_after_a_restart(serve, dial, handlers):
    first, port = serve(TOKEN)
    channel = dial(f"localhost:{port}", TOKEN, options=[("grpc.initial_reconnect_backoff_ms", 100)])
    FORMS["unary_unary"](channel)
    handlers.read.clear()
    first.close()
    serve(OTHER, port)
    grpc.channel_ready_future(channel).result(60)
    assert "another token" in refusal(channel)
    assert not handlers.read


def test_a_call_to_a_missing_server_keeps_its_time_limit(dial):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # without listen: connections are refused
        channel = dial(f"127.0.0.1:{unused.getsockname()[1]}", TOKEN)
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/test/unary_unary")(b"one", 0.2, wait_for_ready=True)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/test/unary_unary")(b"one", 60)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


def test_messages_are_limited(serve, dial, handlers):
    _, port = serve(TOKEN)
    large = b"x" * (LIMIT + 1)
    with pytest.raises(grpc.RpcError) as caught:
        dial(f"localhost:{port}", TOKEN).unary_unary("/test/unary_unary")(large, 60)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not handlers.read


def test_a_port_in_use_is_an_error(serve):
    _, port = serve(TOKEN)
    with pytest.raises(UnknownError, match=f"Could not start gRPC server at 127.0.0.1:{port}"):
        serve(TOKEN, port)


def test_mutual_tls(serve, dial, certificates, eavesdrop):
    _, port = serve(Credentials(tls=certificates("server")))
    between = eavesdrop(port)
    channel = dial(f"localhost:{between.port}", Credentials(tls=certificates("client")))
    assert FORMS["unary_unary"](channel) == [b"one"]
    channel.close()
    assert b"unary_unary" not in between.heard


def test_a_token_inside_of_tls(serve, dial, certificates):
    _, port = serve(Credentials(TOKEN.token, certificates("server")))
    address = f"127.0.0.1:{port}"
    assert FORMS["unary_unary"](dial(address, Credentials(TOKEN.token, certificates("client")))) == [b"one"]
    assert "the client sent none" in refusal(dial(address, Credentials(tls=certificates("client"))))


@pytest.mark.parametrize("client", ["another authority", "no TLS"])
def test_tls_refuses_others(client, serve, dial, certificates, handlers):
    _, port = serve(Credentials(tls=certificates("server")))
    others = {"another authority": Credentials(tls=certificates("client", "stranger")), "no TLS": OPEN}
    with pytest.raises(grpc.RpcError) as caught:
        FORMS["unary_unary"](dial(f"localhost:{port}", others[client]))
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert not handlers.read


def test_a_client_without_a_certificate_is_refused(serve, certificates, handlers):
    tls = certificates("server")
    _, port = serve(Credentials(tls=tls))
    with open(tls.authority, "rb") as file:
        known = grpc.ssl_channel_credentials(file.read())
    with grpc.secure_channel(f"localhost:{port}", known) as channel, pytest.raises(grpc.RpcError):
        FORMS["unary_unary"](channel)
    assert not handlers.read


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes(3) + b"\4" + bytes(5)
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


def strange(port, ends, content=b""):
    end = ends.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    end.sendall(content)
    return end


def is_closed(end):
    """Waits for the end of a connection."""
    with contextlib.suppress(ConnectionError):
        while end.recv(1 << 16):
            pass
    return True


@pytest.mark.parametrize("form", FORMS)
def test_a_client_is_served_whatever_the_number_of_strangers(form, serve, dial):
    _, port = serve(TOKEN, unproved=2, header_seconds=3600.0)
    client = dial(f"localhost:{port}", TOKEN)
    assert FORMS[form](client) == ANSWERS[form]
    with contextlib.ExitStack() as ends:
        starts = (b"", PREFACE, PREFACE + SETTINGS)
        strangers = [strange(port, ends, content) for content in starts for _ in range(4)]
        assert all(is_closed(end) for end in strangers[:2] + strangers[4:10]), "two silent ones stay, and two others"
        assert FORMS[form](client) == ANSWERS[form]
        assert FORMS[form](dial(f"localhost:{port}", TOKEN)) == ANSWERS[form]


def test_a_connection_that_has_proved_itself_may_be_idle(serve, dial):
    _, port = serve(TOKEN, header_seconds=0.1)
    client, states = dial(f"localhost:{port}", TOKEN), []
    assert FORMS["unary_unary"](client) == [b"one"]
    client.subscribe(states.append)

    def slowly():
        yield b"one"
        with contextlib.ExitStack() as ends:
            assert all(is_closed(strange(port, ends, content)) for content in (b"", PREFACE, PREFACE + SETTINGS))
        yield b"two"

    assert client.stream_unary("/test/stream_unary")(slowly(), 60) == b"onetwo"
    assert set(states) <= {grpc.ChannelConnectivity.IDLE, grpc.ChannelConnectivity.READY}
    assert states[-1] is grpc.ChannelConnectivity.READY


def test_the_connection_of_a_refused_call_is_closed(serve, dial):
    _, port = serve(TOKEN, header_seconds=3600.0)
    stranger, is_lost = dial(f"localhost:{port}", OPEN), threading.Event()
    assert "the client sent none" in refusal(stranger)
    stranger.subscribe(lambda state: state is not grpc.ChannelConnectivity.READY and is_lost.set())
    assert is_lost.wait(60)


def test_metadata_are_limited(serve, dial, handlers):
    _, port = serve(TOKEN)
    with pytest.raises(grpc.RpcError) as caught:
        dial(f"localhost:{port}", TOKEN).unary_unary("/test/unary_unary")(b"one", 60, (("x", "a" * 20_000),))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not handlers.read


def test_a_stranger_that_only_asks_is_closed(serve):
    _, port = serve(TOKEN, header_seconds=3600.0)
    with grpc.insecure_channel(f"127.0.0.1:{port}", OWN_CONNECTION) as stranger:
        ask, is_lost = stranger.unary_unary(authentication.PROVE), threading.Event()
        assert len(ask(b"", 60)) == 32
        stranger.subscribe(lambda state: state is not grpc.ChannelConnectivity.READY and is_lost.set())
        while not is_lost.is_set():
            with contextlib.suppress(grpc.RpcError):
                ask(b"", 60)
