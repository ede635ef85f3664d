"""Sessions at servers of other processes: the graph, feeds, fetches, errors and partial runs travel."""

import gc
import threading
import time

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.cluster.distributed.clusters import addresses, processes
from thalweg._src.cluster.distributed import client, control
from thalweg._src.cluster.distributed.channel import StepRequest
from thalweg._src.cluster.distributed.client import GRPC, PartialStep, RemoteBackend
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.runtime.resources.step import Step


@pytest.fixture(scope="module")
def target():
    spec = addresses(ps=1, worker=1)
    with processes(spec):
        yield "grpc://" + spec["worker"][0]


@pytest.fixture
def session(target):
    with tf.Session(target, config=tf.ConfigProto(isolate_session_state=True)) as session:
        yield session


def at(job):
    return tf.device(f"/job:{job}/task:0")


def test_a_graph_that_grows(session):
    with at("ps"):
        v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    assert session.run(v).tolist() == [1.0, 2.0]
    with at("worker"):
        y = tf.reduce_sum(v * 3.0)
    assert session.run(y) == 9.0
    assert session.run(tf.gradients(y, v)[0]).tolist() == [3.0, 3.0]


def test_an_edited_graph_is_sent_again(session):
    x = tf.constant(1.0) + 1.0
    y = tf.multiply(x, 2.0)
    assert session.run(y) == 4.0
    y.op._update_input(1, tf.constant(5.0))
    assert session.run(y) == 10.0


def test_feeds_and_fetches(session):
    x = tf.placeholder(tf.float32, [None, 3])
    names = tf.placeholder(tf.string, [None])
    with at("ps"):
        sparse = tf.SparseTensor(tf.constant([[0, 1]], tf.int64), tf.constant([2.0]), tf.constant([2, 2], tf.int64))
        joined = tf.string_join([names, names])
    with at("worker"):
        y = tf.matmul(x, tf.ones([3, 2]))
    fed = np.ones((200_000, 3), np.float32)
    result = session.run({"y": y, "s": sparse, "n": [joined, tf.no_op()]}, {x: fed, names: ["a", b"\xff"]})
    np.testing.assert_array_equal(result["y"], np.full((200_000, 2), 3.0))
    assert result["s"].values.tolist() == [2.0] and result["n"][0].tolist() == [b"aa", b"\xff\xff"]
    assert session.make_callable(y, [x])(fed[:1]).tolist() == [[3.0, 3.0]]


def test_control_flow(session):
    with at("ps"):
        limit = tf.Variable(10.0)
    _, total = tf.while_loop(lambda i, s: s < limit, lambda i, s: (i + 1, s + tf.to_float(i)), [0, 0.0])
    chosen = tf.cond(total > 5.0, lambda: limit * 2.0, lambda: limit)
    session.run(limit.initializer)
    assert session.run([total, chosen]) == [10.0, 20.0]


def test_errors_name_the_operation_and_the_line_of_this_process(session):
    x = tf.placeholder(tf.float32, [None, None])
    with at("ps"):
        product = tf.matmul(x, tf.ones([3, 3]), name="product")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"product[\s\S]*test_client.py") as caught:
        session.run(product, {x: np.ones((2, 2), np.float32)})
    assert caught.value.op is product.op
    assert str(caught.value).count("defined at") == 1  # the server has no lines of its own


def test_partial_runs(session):
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with at("ps"):
        x = a * 2.0
    with at("worker"):
        y = x + b
        done = tf.group(y)
    handle = session.partial_run_setup([x, y, done], [a, b])
    assert session.partial_run(handle, x, {a: 3.0}) == 6.0
    assert session.partial_run(handle, [y, done], {b: 1.0}) == [7.0, None]
    until = time.monotonic() + 10
    while session._running and time.monotonic() < until:
        time.sleep(0.01)
    assert not session._running


def test_the_feeds_of_a_partial_run_must_have_the_type_of_the_graph(session, monkeypatch):
    """Compiled kernels rely on it; only a client that does not follow the protocol sends another one."""
    send = PartialStep.send
    monkeypatch.setattr(PartialStep, "send", lambda step, key, _: send(step, key, torch.ones(2, dtype=torch.int8)))
    with at("worker"):
        x = tf.placeholder(tf.float64, [4])
        y = tf.reduce_sum(x * 2.0)
    handle = session.partial_run_setup([y], [x])
    with pytest.raises(tf.errors.OpError):
        session.partial_run(handle, y, {x: np.ones(4)})
    monkeypatch.undo()
    client.disconnect()


def test_a_failed_partial_run(session):
    a = tf.placeholder(tf.float32, [None, None])
    with at("ps"):
        x = tf.matmul(a, tf.ones([2, 2]))
    handle = session.partial_run_setup([x], [a])
    with pytest.raises(tf.errors.InvalidArgumentError, match="MatMul"):
        session.partial_run(handle, x, {a: np.ones((3, 3), np.float32)})


def test_a_trace_has_the_times_of_all_tasks(session):
    with at("ps"):
        x = tf.random_normal([10]) * 2.0
    with at("worker"):
        y = tf.reduce_sum(x)
    metadata = tf.RunMetadata()
    session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = {stats.device: {node.node_name for node in stats.node_stats} for stats in metadata.step_stats.dev_stats}
    assert any("job:ps" in device and "mul" in nodes for device, nodes in names.items())
    assert any("job:worker" in device and "Sum" in nodes for device, nodes in names.items())


def test_python_functions_and_files_are_refused(session, tmp_path):
    y = tf.py_func(lambda: np.float32(1.0), [], tf.float32)
    with pytest.raises(tf.errors.PermissionDeniedError, match="PyFunc"):
        session.run(y)
    with tf.Graph().as_default(), tf.Session(session.sess_str) as other:
        text = tf.read_file(str(tmp_path / "secret"))
        with pytest.raises(tf.errors.PermissionDeniedError, match="reads files"):
            other.run(text)


def test_a_step_that_the_client_drops_is_dropped_at_the_server(monkeypatch):
    """The server of this test runs in this process, behind its address, so that its tables can be counted."""
    server = tf.train.Server.create_local_server()
    task = server._require()
    monkeypatch.setattr(client, "find_server", lambda target: None)
    with tf.Session(server.target) as session:
        x = tf.placeholder(tf.float32)
        for i in range(5):
            session.run(x + float(i), {x: 1.0})
        handle = session.partial_run_setup([x * 2.0], [x])
        assert session.partial_run(handle, session.graph.get_tensor_by_name("mul:0"), {x: 1.0}) == 2.0
        session._plans.clear()
        until = time.monotonic() + 10
        while (task.service.master._prepared or task.worker.waiting()) and time.monotonic() < until:
            gc.collect()
            time.sleep(0.05)
        assert not task.service.master._prepared and not task.worker.waiting()
    server.stop()


class Connected:
    """A server of this process, and a client that uses it as one of another process would."""

    def __init__(self, server):
        self.service = server._require().service
        self._address = server.target.removeprefix(GRPC)
        self.backend = self.connect()

    def connect(self):
        return RemoteBackend(self._address, tf.get_default_graph(), tf.ConfigProto())

    def run(self, *operations, backend=None):
        (backend or self.backend).compile([], [], operations).run(Step(), [])


@pytest.fixture
def connected():
    with tf.train.Server.create_local_server() as server:
        found = Connected(server)
        yield found
        found.backend.close()


def test_an_abort_may_arrive_before_its_step(connected):
    v = tf.Variable(1.0, use_resource=True)
    connected.run(v.initializer)
    step = connected.backend.compile([], [], [v.assign_add(1.0).op])
    connected.service.abort(77, tf.errors.CancelledError(None, None, "interrupted"))
    reply = step._peer.start(StepRequest(step._handle, 77, []), FrameKind.RUN_STEP)
    with pytest.raises(tf.errors.CancelledError, match="interrupted"):
        reply.receive()
    reply.discard()
    value = connected.backend.compile([], [v.value()], []).run(Step(), [])
    assert float(value[0]) == 1.0


def test_a_closed_session_leaves_no_step_at_the_server(connected):
    queue = tf.FIFOQueue(1, [tf.float32], shared_name="left")
    taken, put = queue.dequeue().op, queue.enqueue(4.0)
    ended = []

    def wait():
        try:
            connected.run(taken)
        except tf.errors.CancelledError as error:
            ended.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while not connected.service._worker.waiting():
        time.sleep(0.001)
    backend = connected.backend
    backend._peer.end(control.CloseSessionRequest(session=backend.session))
    thread.join()
    assert len(ended) == 1 and "closed" in ended[0]
    with pytest.raises(tf.errors.AbortedError):
        connected.run(put)
    connected.backend = connected.connect()
    connected.run(put)
    connected.run(taken)


def test_a_step_ends_when_its_channel_is_lost(connected):
    queue = tf.FIFOQueue(1, [tf.float32], shared_name="lost")
    taken = queue.dequeue().op
    ended = []

    def wait():
        try:
            connected.run(taken)
        except tf.errors.UnavailableError as error:
            ended.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while not connected.service._worker.waiting():
        time.sleep(0.001)
    (connections,) = connected.service._channels.values()
    for connection in list(connections):
        connection.shutdown()
    thread.join()
    assert len(ended) == 1 and "lost" in ended[0]
    while connected.service._worker.waiting():
        time.sleep(0.001)
    connected.run(queue.enqueue(4.0))
    connected.run(taken)


def test_a_channel_that_is_given_back_late_serves_no_step_of_another_link(connected):
    v = tf.Variable(1.0, use_resource=True)
    connected.run(v.initializer)
    step = connected.backend.compile([], [v.value()], [])
    peer = step._peer
    assert float(step.run(Step(), [])[0]) == 1.0
    (late,) = peer._idle
    peer.link().close("as if it was lost")
    fresh = connected.connect()
    try:
        peer.give_back(late)
        other = fresh.compile([], [], [tf.constant(1.0).op])
        other.run(Step(), [])
        assert late not in peer._idle and late.connection.socket.fileno() == -1
    finally:
        fresh.close()


def test_a_step_that_was_prepared_too_late_is_not_kept(connected, monkeypatch):
    master = connected.service.master
    session = next(iter(master._sessions.values()))
    compile_step = session.session.compile

    def late(*args):
        executable = compile_step(*args)
        connected.backend.close()
        return executable

    monkeypatch.setattr(session.session, "compile", late)
    with pytest.raises(tf.errors.AbortedError, match="is not found"):
        connected.backend.compile([], [], [tf.constant(1.0).op])
    assert not master._prepared
