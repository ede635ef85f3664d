"""Hostile requests: whatever bytes arrive, the answer is a typed error or a result, and the server goes on."""

import json
import random
import re
import socket

import numpy as np
import pytest

from tests.cluster.distributed import mutation
from tests.deploy.serving.conftest import asking
from tests.deploy.serving.recorded import recorded
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.grpc_server import Methods, handlers
from thalweg._src.deploy.serving.http_request import Request
from thalweg._src.deploy.serving.limits import BytesInFlight, Limits
from thalweg._src.deploy.serving.rest_server import RestApplication
from thalweg._src.deploy.serving.server import ModelServer

# The client is at fault, or what it asks for is not there; never the server.
STATUSES = {"INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED", "PERMISSION_DENIED"}
PREDICT = "/v1/models/m:predict"
REQUESTS = (
    (PREDICT, {"instances": [[1, 2, 3], [4.5, 5, 6]]}),
    (PREDICT, {"inputs": {"x": [[1, 2, 3]]}}),
    (PREDICT, {"signature_name": "two", "instances": [{"a": [1, 2, 3], "b": {"b64": "aGk="}}]}),
    (PREDICT, {"signature_name": "blobs", "inputs": ["a", "b"]}),
    ("/v1/models/m:classify", {"signature_name": "classify", "examples": [{"x": [1.0, 2.0, 3.0], "n": 3}]}),
    (
        "/v1/models/m:regress",
        {"signature_name": "regress", "context": {"x": [1.0, 2.0, 3.0]}, "examples": [{"s": "t"}]},
    ),
    ("/v2/models/m/infer", {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}),
)


class Refused(Exception):
    pass


class Context:
    """The context of a gRPC call, as far as handlers need one."""

    def time_remaining(self):
        return None

    def invocation_metadata(self):
        return ()

    def set_trailing_metadata(self, metadata):
        pass

    async def abort(self, code, details):
        raise Refused(code.name, details)


def _grpc_requests(chance, number):
    calls = [(name, content) for name, content, *_ in recorded()[0]]
    for _ in range(number):
        name, content = chance.choice(calls)
        if chance.random() < 0.1:
            name = chance.choice(calls)[0]
        yield name, mutation.bytes_like(chance, content)


def _fuzz_grpc(server, seed, number):
    loop = server._loop
    calls = handlers(Methods(server.service, loop), loop, BytesInFlight(1 << 26))
    methods = {path.rpartition("/")[2]: handle for path, handle in calls.items()}
    counts = {}
    for name, content in _grpc_requests(random.Random(seed), number):
        try:
            loop.call(methods[name](content, Context()))
            status = "OK"
        except Refused as error:
            status = error.args[0]
            assert status in STATUSES, (name, content, error.args)
        counts[status] = counts.get(status, 0) + 1
    return counts


# What no value of Python is written as: numbers of any size, and lists in lists of any depth.
_TOKENS = (
    b"1e400",
    b"-1e400",
    b"1e39",
    b"1e-400",
    b"NaN",
    b"-Infinity",
    b"9" * 19,
    b"9" * 400,
    b"9" * 5_000,
    b"9" * 100_000,
)
_DEPTHS = (2, 31, 33, 64, 65, 300, 900, 990, 1000, 1024)


def _numbers_like(chance, content):
    """Returns JSON text, some of it with another token in the place of a number or a string."""
    places = list(re.finditer(rb'-?\d+(?:\.\d+)?(?=[,\]} ])|"\w*"(?=[,\]}])', content))
    if not places or chance.random() < 0.6:
        return content
    place, depth = chance.choice(places), chance.choice(_DEPTHS)
    kinds = (
        chance.choice(_TOKENS),
        b"[" * depth + place[0] + b"]" * depth,
        b'{"b64":' * depth + place[0] + b"}" * depth,
    )
    return content[: place.start()] + chance.choice(kinds) + content[place.end() :]


def _fuzz_rest(server, seed, number):
    chance = random.Random(seed)
    application = RestApplication(server.service, Access(), None, server._loop)
    counts = {}
    for _ in range(number):
        path, body = chance.choice(REQUESTS)
        if chance.random() < 0.7:
            for _ in range(chance.choice((1, 1, 3))):
                body = mutation.fields_like(chance, body)
            content = _numbers_like(chance, mutation.as_json(body))
        else:
            content = mutation.bytes_like(chance, json.dumps(body).encode())
        if chance.random() < 0.05:
            path = chance.choice(REQUESTS)[0]
        if chance.random() < 0.05:
            path = mutation.bytes_like(chance, path.encode()).decode("latin-1")
        request = Request(b"POST / HTTP/1.1\r\nhost: localhost\r\n\r\n", Limits())
        request.method, request.target = chance.choice(("POST",) * 9 + ("GET",)), path
        status, _, answer = server._loop.call(application.answer(request, content, 0.0))
        assert status in (200, 400, 404, 501), (path, content, answer)
        assert (status == 200) == ("error" not in json.loads(answer) if answer[:1] == b"{" else True)
        counts[status] = counts.get(status, 0) + 1
    return counts


def _assert_served(server):
    with Client(f"127.0.0.1:{server.port}", timeout=60) as client:
        assert client.predict("m", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[9, 12]]
    assert asking(server)("/v1/models/m:predict", {"instances": [[1, 1, 1]]}) == (200, {"predictions": [[9, 12]]})


def test_malformed_calls(server):
    counts = _fuzz_grpc(server, 1, 1500)
    assert counts["OK"] > 50 and counts["INVALID_ARGUMENT"] > 500
    counts = _fuzz_rest(server, 1, 2000)
    assert counts[200] > 50 and counts[400] > 500
    _assert_served(server)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_many_malformed_calls(server, seed):
    _fuzz_grpc(server, 100 + seed, 5_000)
    _fuzz_rest(server, 100 + seed, 5_000)
    _assert_served(server)


@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_are_no_protocol(server, seed):
    chance = random.Random(seed)
    start = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n{}"
    for port in (server.port, server.rest_api_port):
        for content in (chance.randbytes(2000), mutation.bytes_like(chance, start), start[:30]):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(content)
    _assert_served(server)


def test_a_request_that_is_too_large_is_refused(saved):
    options = {"port": 0, "rest_api_port": 0, "max_request_bytes": 10_000}
    with ModelServer({"m": str(saved)}, **options) as server, Client(f"127.0.0.1:{server.port}") as client:
        status, answer = asking(server)("/v1/models/m:predict", b"[" * 20_000)
        assert (status, answer) == (413, {"error": "the request has more than 10000 bytes"})
        with pytest.raises(Exception, match="larger than max"):
            client.predict("m", {"x": np.ones((2000, 3), np.float32)})
        _assert_served(server)
