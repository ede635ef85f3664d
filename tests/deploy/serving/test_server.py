"""Whole servers: models of TensorFlow 2, configurations by call, missing packages, and the end of the service."""

import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest

from tests.deploy.saved_model.tensorflow_2 import FIXTURES
from tests.deploy.serving import models
from thalweg._src.base import errors
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.server import ModelServer


@pytest.mark.parametrize("name", ["dense", "convolutional", "vocabulary"])
def test_models_of_tensorflow_2(name, tmp_path):
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    kept = np.load(tmp_path / f"{name}.npz")
    (tmp_path / "models").mkdir()
    (tmp_path / name).rename(tmp_path / "models" / "1")
    with ModelServer({name: str(tmp_path / "models")}, port=0, rest_api_port=0) as server:
        for address in (f"127.0.0.1:{server.port}", f"http://127.0.0.1:{server.rest_api_port}"):
            with Client(address, timeout=60) as client:
                given = {key.removeprefix("0/in/"): kept[key] for key in kept if key.startswith("0/in/")}
                found = client.predict(name, given)
                expected = {key.removeprefix("0/out/"): kept[key] for key in kept if key.startswith("0/out/")}
                assert found.keys() == expected.keys()
                for key, value in expected.items():
                    np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)


def _config(name, path):
    config = message_class("ModelServerConfig")()
    config.model_config_list.config.add(name=name, base_path=str(path))
    return config


def test_another_configuration_by_a_call(saved, tmp_path):
    models.save(tmp_path / "other" / "4", 2)
    with (
        ModelServer({"m": str(saved)}, port=0, rest_api_port=None, reload_below=[str(tmp_path)]) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        Client(f"127.0.0.1:{server.port}", timeout=60) as client,
    ):
        request = message_class("ReloadConfigRequest")(metric_names=["/tensorflow/serving/request_count"])
        entry = request.config.model_config_list.config.add(name="other", base_path=str(tmp_path / "other"))
        call = channel.unary_unary("/tensorflow.serving.ModelService/HandleReloadConfigRequest")
        response = message_class("ReloadConfigResponse").FromString(call(request.SerializeToString()))
        assert (response.status.error_code, response.metric[0].int64_value_increase) == (errors.OK, 0)
        assert client.predict("other", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[18, 24]]
        with pytest.raises(errors.NotFoundError):
            client.predict("m", {"x": np.ones((1, 3), np.float32)})
        with pytest.raises(grpc.RpcError, match="did not become available"):
            call(
                message_class("ReloadConfigRequest")(config=_config("absent", tmp_path / "absent")).SerializeToString()
            )
        entry.model_platform = "other"
        with pytest.raises(grpc.RpcError, match="expected model_platform tensorflow"):
            call(request.SerializeToString())


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_requests_that_are_being_computed_are_answered_when_the_server_stops(saved, protocol):
    server = ModelServer({"m": str(saved)}, port=0, rest_api_port=0)
    assert server.start()
    address = f"127.0.0.1:{server.port}" if protocol == "grpc" else f"http://127.0.0.1:{server.rest_api_port}"
    gate, entered = threading.Event(), threading.Event()
    with server.manager.use(Spec("m")) as (_, servable):
        servable.signature("").run = lambda inputs, _: (entered.set(), gate.wait(), {"y": inputs["x"]})[-1]
    with ThreadPoolExecutor(2, thread_name_prefix="thalweg test") as pool, Client(address, timeout=60) as client:
        answer = pool.submit(client.predict, "m", {"x": np.ones((1, 3), np.float32)})
        entered.wait()
        stopped = pool.submit(server.stop, 60)
        assert not stopped.done()
        gate.set()
        assert answer.result()["y"].tolist() == [[1, 1, 1]]
        stopped.result()
        with pytest.raises(errors.UnavailableError):
            client.status("m")


def test_rest_without_its_package(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "httptools", None)
    with pytest.raises(errors.FailedPreconditionError, match=r"pip install thalweg\[serving\]"):
        ModelServer({"m": str(saved)}, port=None, rest_api_port=0)
    with ModelServer({"m": str(saved)}, port=0, rest_api_port=None) as server:
        assert server.rest_api_port is None


def test_a_taken_port(server, saved):
    for taken in ({"port": server.port, "rest_api_port": None}, {"port": None, "rest_api_port": server.rest_api_port}):
        with pytest.raises(errors.UnavailableError, match="cannot listen at"):
            ModelServer({"m": str(saved)}, **taken)
