"""Real time: what a bound on latency allows is measured, and what would take longer is refused."""

import itertools
import re
import time

import numpy as np
import pytest
from click.testing import CliRunner

from thalweg._src.base import errors
from thalweg._src.deploy.serving import plan
from thalweg._src.deploy.serving.batch_queue import Duration
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.config import BatchingParameters
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.measurement import Measurement, measure, zeros
from thalweg._src.deploy.serving.plan import choose, measure_load
from thalweg._src.deploy.serving.server import ModelServer
from thalweg._src.tools.cli.main import commands


@pytest.fixture
def signatures(server):
    with server.manager.use(Spec("m")) as (_, servable):
        yield servable.signatures


def test_inputs_of_zeros(signatures):
    assert zeros(signatures["serving_default"], 5)["x"].shape == (5, 3)
    assert zeros(signatures["two"], 5) is None  # has strings


def test_batches_are_measured_until_the_bound(signatures):
    ticks = itertools.count()
    found = measure(signatures["serving_default"], (1, 2, 4), runs=3, clock=lambda: float(next(ticks)))
    assert found == [Measurement(size, 1.0, 1.0) for size in (1, 2, 4)]
    assert len(measure(signatures["serving_default"], (1, 2, 4), runs=3, bound=0.0)) == 1
    assert measure(signatures["classify"], (1,)) == []


def test_a_request_may_wait_for_one_batch_and_is_computed_in_the_next():
    measurements = [Measurement(1, 0.001, 0.002), Measurement(8, 0.002, 0.0025), Measurement(64, 0.005, 0.006)]
    assert choose(measurements, 0.005).size == 8
    assert choose(measurements, 0.02).size == 64
    assert choose(measurements, 0.001) is None


def test_the_plan_is_printed(saved, monkeypatch):
    monkeypatch.setattr(plan, "measure_load", lambda *_: 7.0)
    options = ["--model", f"m={saved}", "--port", "0", "--rest_api_port", "0", "--plan"]
    result = CliRunner().invoke(commands, ["serve", *options, "--latency-bound", "10s"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert "m version 1 serving_default" in lines and "  batch  median ms  worst ms  examples/s" in lines
    assert sum("can be kept with batches of 128" in line for line in lines) == 1
    planned = [line for line in lines if re.match(r"  planned load: 7 requests/s for one example over gRPC", line)]
    assert len(planned) == sum("can be kept with batches" in line for line in lines)
    assert "  is not measured: its inputs are strings, or of unknown shape" in lines
    assert CliRunner().invoke(commands, ["serve", *options]).exit_code == 2


def test_the_load_of_a_server_is_measured(signatures, saved, monkeypatch):
    monkeypatch.setattr(plan, "_LOAD_SECONDS", 0.1)
    monkeypatch.setattr(plan, "_GROWTH", 1000.0)
    signature, batching = signatures["serving_default"], BatchingParameters(max_batch_size=8)
    assert measure_load(signature, str(saved / "1"), batching, bound=2.0) == 100.0
    assert measure_load(signature, str(saved / "1"), batching, bound=1e-9) is None


def test_what_would_take_longer_than_the_bound_is_refused(saved):
    with (
        ModelServer({"m": str(saved)}, port=0, rest_api_port=None, latency_bound=50.0) as server,
        Client(f"127.0.0.1:{server.port}") as client,
    ):
        request = {"x": np.ones((1, 3), np.float32)}
        assert client.predict("m", request)["y"].tolist() == [[9, 12]]
        with server.manager.use(Spec("m")) as (_, servable):
            signature = servable.signature("")
            assert 0 < signature.duration.seconds(1) < 50
            signature.duration = Duration()
            signature.duration.add(1, 60.0)
            signature.duration.measured = time.monotonic()
            signature.run = lambda *_: pytest.fail("computed")
        with pytest.raises(errors.DeadlineExceededError, match="the request is not computed"):
            client.predict("m", request)
