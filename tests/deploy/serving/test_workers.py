"""Several processes that serve together: they share ports, load, reloads and metrics, and are started again."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.deploy.serving import models
from thalweg._src.base import errors
from thalweg._src.deploy.serving import supervisor
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.supervisor import ServingWorkers, reserved
from thalweg._src.deploy.serving.tensors import as_array, read_tensor, write_tensor

LIMIT = 60
CONNECTIONS = 16  # of which all reach the same worker once in 32,768 runs
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


class Served:
    """A server of two workers, its processes and its addresses."""

    def __init__(self, process, told, host, port, rest_port):
        self.process, self.told, self.host, self.port, self.rest_port = process, told, host, port, rest_port

    def workers(self):
        return set(map(int, Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()))

    def await_listeners(self, count):
        while listeners(self.rest_port) != count or listeners(self.port) != count:
            time.sleep(0.02)

    def metric(self, name="request_count"):
        connection = http.client.HTTPConnection(self.host, self.rest_port, timeout=LIMIT)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f":tensorflow:serving:{name}{{"))


def sockets(port, state):
    """Returns the sockets of this machine at a port that are in a state, such as 0A for those that listen."""
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == state and int(row[1].rpartition(":")[2], 16) == port}


def listeners(port):
    return len(sockets(port, "0A"))


def connections(worker, port):
    """Returns how many connections a worker has accepted at a port."""
    files = set()
    for file in Path(f"/proc/{worker}/fd").iterdir():
        with suppress(FileNotFoundError):  # was closed meanwhile
            files.add(os.readlink(file))
    return len({f"socket:[{number}]" for number in sockets(port, "01")} & files)


def await_line(process, words):
    while words not in (line := process.stderr.readline()):
        assert line


@pytest.fixture
def serve(start_child):
    def serve(*arguments):
        command = [sys.executable, "-m", "thalweg", "serve", "--workers", "2", "--port", "0", "--rest_api_port", "0"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "forked": True}
        process = start_child([*command, *arguments], env=children.environment(OMP_NUM_THREADS="1"), **streams)
        told = []
        while not (line := process.stdout.readline()).startswith("serving gRPC at"):
            assert line, process.stderr.read()
            told.append(line.strip())
        (host, port), (_, rest_port) = (word.split(":") for word in line.replace(",", "").split() if ":" in word)
        return Served(process, told, host, int(port), int(rest_port))

    return serve


class RestConnection:
    """A connection of its own, on which a model is called."""

    def __init__(self, served):
        self._connection = http.client.HTTPConnection(served.host, served.rest_port, timeout=LIMIT)
        self.close = self._connection.close

    def predict(self, model="a", **inputs):
        inputs = inputs or {"x": [[1, 1, 1]]}
        self._connection.request("POST", f"/v1/models/{model}:predict", json.dumps({"inputs": inputs}))
        response = self._connection.getresponse()
        found = json.loads(response.read())
        assert response.status == 200, found
        return found["outputs"]


class GrpcConnection:
    """The same for gRPC, whose channels to one address otherwise share a connection."""

    def __init__(self, served):
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channel = grpc.insecure_channel(f"{served.host}:{served.port}", options)
        self.close = self._channel.close

    def predict(self, model="a", **inputs):
        request = message_class("PredictRequest")()
        request.model_spec.name = model
        for name, value in (inputs or {"x": np.ones((1, 3), np.float32)}).items():
            write_tensor(as_array(value), request.inputs[name])
        call = self._channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        content = call(request.SerializeToString(), timeout=LIMIT)
        (output,) = message_class("PredictResponse").FromString(content).outputs.values()
        return read_tensor("output", output).tolist()

    def reload(self, config):
        request = message_class("ReloadConfigRequest")()
        request.config.model_config_list.config.add(name=config[0], base_path=str(config[1]))
        call = self._channel.unary_unary("/tensorflow.serving.ModelService/HandleReloadConfigRequest")
        call(request.SerializeToString(), timeout=LIMIT)


def connect(served, stack, count=CONNECTIONS):
    """Returns connections of both protocols, to be closed with a stack."""
    made = [kind(served) for kind in (RestConnection, GrpcConnection) for _ in range(count)]
    for connection in made:
        stack.callback(connection.close)
    return made


def test_a_worker_that_is_killed_is_replaced_while_the_other_goes_on(serve, tmp_path):
    served = serve("--model", f"a={models.save(tmp_path / 'a' / '3').parent}")
    assert served.told == ["a: version 3 AVAILABLE"]
    before = served.workers()
    with ExitStack() as stack:
        made = connect(served, stack)
        assert all(connection.predict() == [[9, 12]] for connection in made)
        assert served.metric() == 2 * CONNECTIONS
        for port in (served.port, served.rest_port):
            assert sum(connections(worker, port) for worker in before) >= CONNECTIONS
            assert all(connections(worker, port) for worker in before)
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        await_line(served.process, "was killed by signal 9 (SIGKILL); starting it again in 1 s")
        alive = []
        for connection in made:
            try:
                connection.predict()
                alive.append(connection)
            except (grpc.RpcError, OSError, http.client.HTTPException):
                pass
        assert 0 < sum(isinstance(each, RestConnection) for each in alive) < CONNECTIONS  # gRPC connects again
        while len(workers := served.workers()) < 2 or listeners(served.rest_port) < 2:
            assert all(connection.predict() == [[9, 12]] for connection in alive)
        assert len(workers & before) == 1 and victim not in workers
        served.await_listeners(2)
        assert all(connection.predict() == [[9, 12]] for connection in connect(served, stack))
        assert served.metric() >= 4 * CONNECTIONS  # those of the worker that was killed are not forgotten


def test_the_workers_of_a_supervisor_that_is_killed_end(serve, tmp_path):
    served = serve("--model", f"a={models.save(tmp_path / 'a' / '1').parent}")
    workers = served.workers()
    assert len(workers) == 2
    served.process.kill()
    served.process.wait()
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        time.sleep(0.02)


def test_all_workers_take_another_configuration(serve, tmp_path):
    for name, scale in (("a", 1), ("b", 2), ("c", 3)):
        models.save(tmp_path / name / "1", scale)
    config = tmp_path / "models.config"
    config.write_text(f'model_config_list {{ config {{ name: "a" base_path: "{tmp_path / "a"}" }} }}')
    served = serve("--model_config_file", str(config), "--reload-below", str(tmp_path / "b"))
    with ExitStack() as stack:
        made = connect(served, stack)
        made[-1].reload(("b", tmp_path / "b"))
        assert all(connection.predict("b") == [[18, 24]] for connection in made)
        with pytest.raises(grpc.RpcError, match="did not become available"):
            made[-1].reload(("absent", tmp_path / "b" / "absent"))
        with pytest.raises(grpc.RpcError, match="--reload-below"):
            made[-1].reload(("c", tmp_path / "c"))
        assert all(connection.predict("b") == [[18, 24]] for connection in made)
        config.write_text("models {")
        served.process.send_signal(signal.SIGHUP)
        await_line(served.process, "stays as it was")
        config.write_text(f'model_config_list {{ config {{ name: "c" base_path: "{tmp_path / "c"}" }} }}')
        served.process.send_signal(signal.SIGHUP)
        assert served.process.stdout.readline() == "the configuration was read again\n"
        for connection in made:
            while (found := _until_known(connection, "c")) is None:
                time.sleep(0.02)
            assert found == [[27, 36]]
        os.kill(min(served.workers()), signal.SIGKILL)
        await_line(served.process, "starting it again")
        served.await_listeners(2)
        assert all(connection.predict("c") == [[27, 36]] for connection in connect(served, stack))
    children.interrupt(served.process)
    assert served.process.returncode == 130


def _until_known(connection, model):
    try:
        return connection.predict(model)
    except (grpc.RpcError, AssertionError) as error:
        assert "not found" in str(error)
        return None


def test_requests_that_are_being_computed_are_answered_before_the_end(serve, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        path = tf.placeholder(tf.string, [])
        tf.saved_model.simple_save(session, tmp_path / "a" / "1", {"path": path}, {"text": tf.read_file(path)})
    served = serve("--model", f"a={tmp_path / 'a'}", "--drain_seconds", str(LIMIT), "--trusted")
    workers = served.workers()
    with ExitStack() as stack, ThreadPoolExecutor(8, thread_name_prefix="thalweg test") as pool:
        answers, pipes = [], []
        for number, connection in enumerate(connect(served, stack, 4)):
            os.mkfifo(tmp_path / f"pipe{number}")
            answers.append(pool.submit(connection.predict, path=str(tmp_path / f"pipe{number}")))
        for number in range(len(answers)):  # a pipe opens once the model reads it
            pipes.append(stack.enter_context(open(tmp_path / f"pipe{number}", "w")))
        served.process.terminate()
        served.await_listeners(0)
        assert not any(answer.done() for answer in answers)
        for pipe in pipes:
            pipe.write("read")
            pipe.close()
        assert [answer.result() for answer in answers] == ["read"] * 4 + [b"read"] * 4
    assert served.process.wait(LIMIT) == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def _save_table(folder, version, rows):
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.placeholder(tf.int32, [None])
        table = tf.get_variable("table", [rows, 128], initializer=tf.constant_initializer(version))
        session.run(tf.global_variables_initializer())
        rows = tf.nn.embedding_lookup(table, ids)
        tf.saved_model.simple_save(session, folder / "new", {"ids": ids}, {"sum": tf.reduce_sum(rows, 1)})
    (folder / "a").mkdir(exist_ok=True)
    (folder / "new").rename(folder / "a" / str(version))


def _memory(worker, *fields, file="smaps_rollup"):
    """Returns fields of a file about the memory of a process, in bytes."""
    rows = [row.split() for row in Path(f"/proc/{worker}/{file}").read_text().splitlines()]
    return [sum(int(row[1]) for row in rows if row[0] == f"{field}:") << 10 for field in fields]


def test_workers_hold_a_large_table_once(serve, tmp_path):
    rows = 1 << 16
    size = rows * 128 * 4
    _save_table(tmp_path, 1, rows)
    served = serve("--model", f"a={tmp_path / 'a'}", "--file_system_poll_wait_seconds", "0.1")
    ids = np.arange(0, rows, 1000, dtype=np.int32)
    with ExitStack() as stack:
        made = connect(served, stack)

        def predict():
            return {each.predict(ids=ids if isinstance(each, GrpcConnection) else ids.tolist())[0] for each in made}

        assert predict() == {128}
        before = [_memory(worker, "Rss", "Pss", "Private_Dirty") for worker in sorted(served.workers())]
        for rss, pss, _ in before:
            assert rss - pss > 0.4 * size  # each has the table in memory, and counts for half of it
        _save_table(tmp_path, 2, rows)
        while predict() != {256}:
            time.sleep(0.02)
        for worker, (rss, _, dirty) in zip(sorted(served.workers()), before):
            (peak,) = _memory(worker, "VmHWM", file="status")
            assert peak < rss + 1.3 * size
            assert _memory(worker, "Private_Dirty")[0] < dirty + 0.5 * size


def test_a_worker_that_dies_again_and_again_is_started_less_often(monkeypatch):
    delays, lines = [], []
    workers = ServingWorkers(1, [], {}, 0.0, lines.append)

    async def run(started):
        if not started.done():
            started.set_result([])
        return "ended with exit code 1"

    async def wait_for(stopped, delay):
        stopped.close()
        delays.append(delay)
        if len(delays) < 7:
            raise TimeoutError

    monkeypatch.setattr(workers, "_run", run)
    monkeypatch.setattr(supervisor.asyncio, "wait_for", wait_for)

    async def keep():
        await workers.start()
        await asyncio.gather(*workers._supervising)

    asyncio.run(keep())
    assert delays == [1, 2, 4, 8, 16, 30, 30]
    assert lines[0] == "worker 0 ended with exit code 1; starting it again in 1 s"


def test_a_reserved_port():
    with reserved("127.0.0.1", 0) as port, socket.create_server(("127.0.0.1", port), reuse_port=True) as listener:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT):
            listener.accept()[0].close()
        with pytest.raises(errors.UnavailableError, match="cannot listen at"), reserved("127.0.0.1", port):
            pass
    with reserved("127.0.0.1", None) as port:
        assert port is None
