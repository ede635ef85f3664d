"""Connections of the gRPC port: strangers make room for clients, and what makes no call is closed."""

import socket
import sys
from contextlib import ExitStack

import grpc
import numpy as np
import pytest

from tests.deploy.serving.conftest import asking
from thalweg._src.base import errors
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.limits import Limits
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.server import ModelServer

TOKEN = "0123456789abcdef"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes(3) + b"\4" + bytes(5)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sockets are told apart by their inodes")


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(saved, stack, monkeypatch):
    """Returns a function that starts a server with a token."""

    def serve(**limits):
        monkeypatch.setenv("THALWEG_SERVING_TOKEN", TOKEN)
        limits = Limits(**{"header_seconds": 3600.0, **limits})
        return stack.enter_context(ModelServer({"m": str(saved)}, port=0, rest_api_port=0, limits=limits))

    return serve


def connect(server, stack, content=b""):
    end = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
    end.sendall(content)
    return end


def is_closed(end):
    """Waits for the end of a connection."""
    try:
        while end.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


def call(server, stack, method, content, metadata=()):
    channel = stack.enter_context(
        grpc.insecure_channel(f"127.0.0.1:{server.port}", [("grpc.use_local_subchannel_pool", 1)])
    )
    return channel.unary_unary(method)(content, metadata=metadata)


def test_a_client_is_served_whatever_the_number_of_strangers(serve, stack):
    server = serve(unproved=4)
    client = stack.enter_context(Client(f"127.0.0.1:{server.port}", timeout=60))
    ones = {"x": np.ones((1, 3), np.float32)}
    assert client.predict("m", ones)["y"].tolist() == [[9, 12]]
    strangers = [connect(server, stack, content) for content in (b"", PREFACE, PREFACE + SETTINGS) for _ in range(4)]
    assert all(is_closed(end) for end in strangers[:8])
    assert client.predict("m", ones)["y"].tolist() == [[9, 12]]


def test_connections_without_a_call_are_closed(serve, stack):
    server = serve(header_seconds=0.1)
    assert all(is_closed(connect(server, stack, content)) for content in (b"", PREFACE, PREFACE + SETTINGS))


def test_a_stranger_is_refused_before_its_message_is_read(serve, stack):
    server = serve()
    predict = "/tensorflow.serving.PredictionService/Predict"
    for content in (b"", bytes(50_000_000)):
        with pytest.raises(grpc.RpcError) as caught:
            call(server, stack, predict, content)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    check = "/grpc.health.v1.Health/Check"
    request = message_class("HealthCheckRequest")(service="unknown").SerializeToString()
    assert message_class("HealthCheckResponse").FromString(call(server, stack, check, request)).status == 1
    with pytest.raises(grpc.RpcError) as caught:
        call(server, stack, check, request, (("authorization", f"Bearer {TOKEN}"),))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_metadata_are_limited(serve, stack):
    server = serve(header_bytes=1000)
    with pytest.raises(grpc.RpcError) as caught:
        call(server, stack, "/grpc.health.v1.Health/Check", b"", (("x", "a" * 2000),))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_bytes_in_flight_are_those_of_both_protocols(serve, stack):
    server = serve(bytes_in_flight=10_000)
    fields = f"Authorization: Bearer {TOKEN}\r\nContent-Length: 9000\r\n"
    rest = stack.enter_context(socket.create_connection(("127.0.0.1", server.rest_api_port)))
    rest.sendall(f"POST /v1/models/m:predict HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode() + bytes(8000))
    client = stack.enter_context(Client(f"127.0.0.1:{server.port}", timeout=60))
    with pytest.raises(errors.UnavailableError, match="bytes of other requests"):
        while True:  # the other one may not have arrived
            client.predict("m", {"x": np.ones((300, 3), np.float32)})
    rest.close()
    assert asking(server)("/v1/models/m", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
