"""Clients over gRPC and REST get the same answers and errors, and so do coroutines."""

import asyncio

import numpy as np
import pytest

from tests.deploy.serving.models import example
from thalweg._src.base import errors
from thalweg._src.deploy.serving.client import AsyncClient, Client


@pytest.fixture(params=["grpc", "rest"])
def address(server, request):
    return f"127.0.0.1:{server.port}" if request.param == "grpc" else f"http://127.0.0.1:{server.rest_api_port}"


@pytest.fixture
def client(address):
    with Client(address, timeout=60) as client:
        yield client


def test_predict(client):
    found = client.predict("m", {"x": np.eye(3, dtype=np.float32)})
    assert found.keys() == {"y"} and found["y"].dtype == np.float32
    np.testing.assert_array_equal(found["y"], [[1, 2], [3, 4], [5, 6]])
    inputs = {"a": np.ones((2, 3), np.float32), "b": ["text", b"\xff"]}
    found = client.predict("m", inputs, "two", version=1)
    assert found["sum"].tolist() == [21, 21] and found["words"].tolist() == [b"text", b"\xff"]
    assert client.predict("m", inputs, "two", outputs=["sum"]).keys() == {"sum"}


def test_outputs_without_dimensions(client):
    assert client.predict("m", {"x": np.ones((1, 3), np.float32)}, "total")["total"].item() == 21
    assert client.predict("m", {"words": ["one", "two"]}, "joined")["text"].item() == b"onetwo"


def test_classify_and_regress(client):
    examples = [example(1, 2, 3), example(0, 0, 1).SerializeToString()]
    assert client.classify("m", examples, "classify") == [[("low", 22), ("high", 28)], [("low", 5), ("high", 6)]]
    assert client.regress("m", examples, "regress", version=1) == [22, 5]


def test_states_and_signatures(client):
    assert client.status("m") == client.status("m", 1) == {1: "AVAILABLE"}
    signatures = client.signatures("m")
    assert signatures["two"].inputs["b"].name == "words:0"
    assert signatures["classify"].method_name == "tensorflow/serving/classify"


def test_errors_have_their_types(client):
    with pytest.raises(errors.NotFoundError, match=r"Latest\(other\)"):
        client.predict("other", {"x": np.ones((1, 3), np.float32)})
    with pytest.raises(errors.InvalidArgumentError, match=r"expected shape \(\?, 3\), received \(1, 2\)"):
        client.predict("m", {"x": np.ones((1, 2), np.float32)})
    with pytest.raises(errors.InvalidArgumentError, match="label: canary"):
        client.predict("m", {"x": np.ones((1, 3), np.float32)}, version_label="canary")
    with pytest.raises(TypeError, match="numbers or strings"):
        client.predict("m", {"x": [None]})


def test_coroutines(address):
    async def run():
        async with AsyncClient(address, timeout=60) as client:
            calls = [client.predict("m", {"x": np.full((1, 3), n, np.float32)}) for n in range(10)]
            found = await asyncio.gather(*calls, client.status("m"))
            return [each["y"].tolist() for each in found[:-1]], found[-1]

    assert asyncio.run(run()) == ([[[9.0 * n, 12.0 * n]] for n in range(10)], {1: "AVAILABLE"})


@pytest.mark.parametrize("address", ["127.0.0.1:1", "http://127.0.0.1:1"], indirect=False)
def test_an_absent_server(address):
    with Client(address) as client, pytest.raises(errors.UnavailableError):
        client.status("m")


def test_a_malformed_address():
    with pytest.raises(errors.InvalidArgumentError, match="expected http://HOST:PORT"):
        Client("http://")
