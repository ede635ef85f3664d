"""Requests are computed together: padded, split, isolated from each other's errors, and refused when they are late."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.deploy.serving.conftest import asking
from thalweg._src.base import errors
from thalweg._src.deploy.serving.batch_queue import Duration
from thalweg._src.deploy.serving.batching import Batcher
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.config import BatchingParameters, read_batching
from thalweg._src.deploy.serving.event_loop import EventLoop
from thalweg._src.deploy.serving.inference import Inference
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.metrics import Metrics
from thalweg._src.deploy.serving.server import ModelServer


class FakeSignature:
    """Doubles its input; records the batches; refuses negative numbers; may wait for an event."""

    model, key, is_batched = "m", "serving_default", True

    def __init__(self):
        self.batches, self.gate, self.started = [], None, threading.Event()
        self.duration = Duration()
        self.duration.is_short = lambda size: False  # so that threads compute

    def run(self, inputs, outputs):
        self.started.set()
        if self.gate is not None:
            self.gate.wait()
        self.batches.append(inputs["x"].copy())
        if (inputs["x"] < 0).any():
            raise errors.invalid("negative")
        return dict.fromkeys(outputs, inputs["x"] * 2)


@pytest.fixture
def batching():
    """Returns a function that makes a batcher, which ends with the test."""
    made, loop = [], EventLoop(4, 4)

    def make(clock=time.monotonic, **parameters):
        made.append(Batcher(BatchingParameters(**parameters), Metrics(), loop, clock))
        return made[-1]

    yield make
    for each in made:
        loop.call(each.close())
    loop.close()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16, thread_name_prefix="thalweg test") as pool:
        yield pool


def _submit(pool, batcher, signature, *values, deadline=None):
    array = np.array(values, np.float32)
    return pool.submit(batcher._loop.call, batcher.run(Inference(signature, {"x": array}, ("y",), deadline)))


def _blocked(pool, batcher, signature):
    """Occupies the only thread of a batcher, until the gate of the signature opens."""
    signature.gate = threading.Event()
    first = _submit(pool, batcher, signature, 0.0)
    signature.started.wait()
    return first


def _wait_for(batcher, count):
    while sum(len(queue.requests) for queue in list(batcher._queues._queues.values())) < count:
        time.sleep(0.001)


def test_requests_that_wait_are_computed_together_and_padded(batching, pool):
    batcher, signature = batching(max_batch_size=4, num_batch_threads=1, allowed_batch_sizes=(1, 4)), FakeSignature()
    first = _blocked(pool, batcher, signature)
    others = [_submit(pool, batcher, signature, 1.0), _submit(pool, batcher, signature, 2.0, 3.0)]
    _wait_for(batcher, 2)
    signature.gate.set()
    assert [each.result()["y"].tolist() for each in (first, *others)] == [[0], [2], [4, 6]]
    sizes = [len(batch) for batch in signature.batches]
    assert sizes == [1, 4]


def test_a_large_request_is_split(batching, pool):
    batcher, signature = batching(max_batch_size=4, num_batch_threads=1), FakeSignature()
    found = _submit(pool, batcher, signature, *range(10)).result()
    assert found["y"].tolist() == [2 * n for n in range(10)]
    assert [len(batch) for batch in signature.batches] == [4, 4, 2]


def test_one_bad_request_does_not_fail_the_others(batching, pool):
    batcher, signature = batching(max_batch_size=4, num_batch_threads=1), FakeSignature()
    _blocked(pool, batcher, signature)
    good, bad = _submit(pool, batcher, signature, 1.0), _submit(pool, batcher, signature, -1.0)
    _wait_for(batcher, 2)
    signature.gate.set()
    assert good.result()["y"].tolist() == [2]
    with pytest.raises(errors.InvalidArgumentError, match="negative"):
        bad.result()


def test_inputs_of_other_shapes_are_in_other_batches_or_padded(batching, pool):
    for pads in (False, True):
        parameters = {"max_batch_size": 4, "num_batch_threads": 1, "pad_variable_length_inputs": pads}
        batcher, signature = batching(**parameters), FakeSignature()
        _blocked(pool, batcher, signature)
        waiting = [_submit(pool, batcher, signature, [1.0]), _submit(pool, batcher, signature, [2.0, 3.0])]
        _wait_for(batcher, 2)
        signature.gate.set()
        found = [each.result()["y"].tolist() for each in waiting]
        assert sorted(found) == ([[[2, 2]], [[4, 6]]] if pads else [[[2]], [[4, 6]]])
        assert [batch.shape for batch in signature.batches[1:]].count((2, 2)) == pads


def test_a_request_whose_deadline_passes_in_the_queue_is_never_computed(batching, pool):
    clock = [0.0]
    batcher = batching(lambda: clock[0], max_batch_size=1, num_batch_threads=1)
    signature = FakeSignature()
    first = _blocked(pool, batcher, signature)
    late = _submit(pool, batcher, signature, 5.0, deadline=50.0)
    _wait_for(batcher, 1)
    clock[0] = 100.0
    signature.gate.set()
    with pytest.raises(errors.DeadlineExceededError, match="not computed"):
        late.result()
    first.result()
    assert [batch.tolist() for batch in signature.batches] == [[0]]


def test_a_stopped_server_computes_what_waits_and_takes_nothing_else(batching, pool):
    batcher, signature = batching(max_batch_size=8, batch_timeout_micros=10**9), FakeSignature()
    waiting = _submit(pool, batcher, signature, 1.0)
    _wait_for(batcher, 1)
    batcher._loop.call(batcher.close())
    assert waiting.result()["y"].tolist() == [2]
    with pytest.raises(errors.UnavailableError, match="being stopped"):
        batcher._loop.call(batcher.run(Inference(signature, {"x": np.ones(1)}, ("y",))))


def test_a_server_with_batches_answers_as_one_without(saved, pool):
    text = """
        max_batch_size { value: 8 } batch_timeout_micros { value: 2000 } num_batch_threads { value: 2 }
        max_enqueued_batches { value: 1000 } allowed_batch_sizes: 2 allowed_batch_sizes: 8
    """
    parameters = read_batching(text, "text")
    with (
        ModelServer({"m": str(saved)}, port=0, rest_api_port=0, batching=parameters) as server,
        Client(f"127.0.0.1:{server.port}") as client,
    ):
        arrays = [np.random.default_rng(n).random((n % 11 + 1, 3), np.float32) for n in range(40)]
        weights = client.predict("m", {"x": np.eye(3, dtype=np.float32)})["y"]
        found = list(pool.map(lambda array: client.predict("m", {"x": array})["y"], arrays))
        for array, each in zip(arrays, found):
            np.testing.assert_allclose(each, array @ weights, rtol=1e-5)
        total = client.predict("m", {"x": arrays[3]}, "total")["total"]  # has no row for each example: alone
        np.testing.assert_allclose(total, (arrays[3] @ weights).sum(), rtol=1e-5)
        text = asking(server)("/metrics", raw=True)[1]
    assert 'batching_session:processed_batch_size_bucket{model_name="m",le="8.0"}' in text


def test_a_full_queue_tells_clients_when_to_repeat(saved):
    parameters = BatchingParameters(max_batch_size=1, num_batch_threads=1, max_enqueued_batches=1)
    with ModelServer({"m": str(saved)}, port=None, rest_api_port=0, batching=parameters) as server:
        gate, entered = threading.Event(), threading.Event()
        with server.manager.use(Spec("m")) as (_, servable):
            signature = servable.signature("")
            signature.duration.is_short = lambda size: False
            signature.run = lambda inputs, outputs: (entered.set(), gate.wait(), {"y": inputs["x"]})[-1]
        ask = asking(server)
        with ThreadPoolExecutor(2, thread_name_prefix="thalweg test") as pool:
            body = {"instances": [[1, 2, 3]]}
            running = pool.submit(ask, "/v1/models/m:predict", body)
            entered.wait()
            waiting = pool.submit(ask, "/v1/models/m:predict", body)
            _wait_for(server._batcher, 1)
            status, answer = ask("/v1/models/m:predict", body)
            gate.set()
            assert running.result()[0] == waiting.result()[0] == 200
    assert status == 503 and "1 batches are enqueued" in answer["error"]


@pytest.mark.parametrize("text", ["max_batch_size: 3", "nonsense", "max_batch_size { value: -1 }"])
def test_wrong_files(text):
    with pytest.raises(errors.InvalidArgumentError, match=r"file\.txt is not a BatchingParameters|expected 1 or more"):
        read_batching(text, "file.txt")


def test_a_request_whose_client_is_gone_is_never_computed(batching, pool):
    batcher, signature = batching(max_batch_size=1, num_batch_threads=1), FakeSignature()
    first = _blocked(pool, batcher, signature)

    async def leave():
        task = asyncio.ensure_future(batcher.run(Inference(signature, {"x": np.ones(1)}, ("y",))))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert batcher._loop.call(leave())
    signature.gate.set()
    first.result()
    assert _submit(pool, batcher, signature, 3.0).result()["y"].tolist() == [6]
    assert [batch.tolist() for batch in signature.batches] == [[0], [3]]


def test_short_batches_of_requests_that_come_one_by_one_are_computed_in_the_event_loop(batching, pool):
    batcher, signature, names = batching(max_batch_size=4, num_batch_threads=1), FakeSignature(), []
    signature.duration = Duration()
    signature.duration.add(1, 1e-5)
    compute = signature.run
    signature.run = lambda *arguments: (names.append(threading.current_thread().name), compute(*arguments))[1]
    assert [_submit(pool, batcher, signature, x).result()["y"].item() for x in (1.0, 2.0)] == [2, 4]
    assert set(names) == {"thalweg serving loop"}
    batcher._last_concurrent = time.monotonic()
    assert _submit(pool, batcher, signature, 3.0).result()["y"].item() == 6
    assert names[-1].startswith("thalweg serving batch")


def test_what_is_short_only_at_times_is_left_to_threads(batching, pool):
    batcher, signature, names = batching(max_batch_size=4, num_batch_threads=1), FakeSignature(), []
    signature.duration = Duration()
    for seconds in (1e-5, *[1.0] * 40):
        signature.duration.add(1, seconds)
    compute = signature.run
    signature.run = lambda *arguments: (names.append(threading.current_thread().name), compute(*arguments))[1]
    assert _submit(pool, batcher, signature, 1.0).result()["y"].item() == 2
    assert names[0].startswith("thalweg serving batch")


def test_a_short_request_that_would_be_late_is_never_computed(batching, pool):
    batcher, signature = batching(lambda: 0.0, max_batch_size=4, num_batch_threads=1), FakeSignature()
    signature.duration = Duration()
    signature.duration.add(1, 1e-4)
    signature.duration.measured = 0.0
    with pytest.raises(errors.DeadlineExceededError, match="not computed"):
        _submit(pool, batcher, signature, 1.0, deadline=1e-5).result()
    assert not signature.batches
