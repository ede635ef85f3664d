"""Sessions at servers: callables, partial runs, traces, filters, placement, containers, several graphs and clients."""

import threading

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import free_ports
from tests.cluster.distributed.equivalence.comparison import LARGE, check, target_of

PS, PS1, WORKER, WORKER1 = (f"/job:{job}/task:{index}" for job in ("ps", "worker") for index in (0, 1))


def _two_tasks():
    """Returns a placeholder, and what two other tasks make of it."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device(PS):
        doubled = x * 2.0
    with tf.device(WORKER1):
        return x, doubled, doubled + 1.0


def test_callables(cluster):
    x, doubled, y = _two_tasks()
    with tf.Session(target_of(cluster)) as session:
        call = session.make_callable([y, {"doubled": doubled}], [x])
        for size in (1, LARGE, 0):
            fed = np.arange(size, dtype=np.float32)
            found, more = call(fed)
            np.testing.assert_array_equal(found, fed * 2 + 1)
            np.testing.assert_array_equal(more["doubled"], fed * 2)
        sparse = tf.sparse_placeholder(tf.float32)
        with tf.device(PS1):
            total = tf.sparse_reduce_sum(sparse)
        assert session.make_callable(total, [sparse])(tf.SparseTensorValue([[0, 1]], [2.0], [2, 2])) == 2.0


def test_partial_runs(cluster):
    a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
    with tf.device(PS):
        first = a + b
    with tf.device(WORKER1):
        second = first * c
    with tf.Session(target_of(cluster)) as session:
        for _ in range(2):
            handle = session.partial_run_setup([first, second], [a, b, c])
            assert session.partial_run(handle, first, {a: 1.0, b: 2.0}) == 3.0
            assert session.partial_run(handle, second, {c: 10.0}) == 30.0
        handle = session.partial_run_setup([first, second], [a, b, c])
        assert session.partial_run(handle, first, {a: 1.0, b: 2.0}) == 3.0


def test_traces_cover_all_tasks(cluster):
    x, _, y = _two_tasks()
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session(target_of(cluster)) as session:
        session.run(y, {x: [1.0]}, options, metadata)
        devices = {device.device.partition("/device:")[0] for device in metadata.step_stats.dev_stats}
        assert {"/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1"} <= devices
        session.run(y, {x: [1.0]}, tf.RunOptions(output_partition_graphs=True), metadata)
        if cluster.transport != "client":  # a client in another process gets no partitions
            assert len(metadata.partition_graphs) == 2


def test_a_graph_grows_and_is_edited_between_steps(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            total = tf.Variable(1.0)
        yield total.initializer
        value = total
        for number in range(5):
            with tf.device((tasks.ps1, tasks.worker1, tasks.worker)[number % 3]):
                value = value * 2.0 + float(number)
            yield value
        other = tf.constant(5.0)
        value.op._update_input(0, other)
        yield value
        yield other + total

    check(program, cluster)


def test_several_graphs_of_one_client(cluster):
    sessions = []
    for number in range(3):
        with tf.Graph().as_default():
            with tf.device(PS):
                v = tf.Variable(float(number), name=f"v{number}")
            with tf.device(WORKER1):
                y = v * 10.0
            sessions.append((tf.Session(target_of(cluster)), v, y))
    for session, v, _ in sessions:
        session.run(v.initializer)
    assert [session.run(y) for session, _, y in sessions] == [0.0, 10.0, 20.0]
    for session, *_ in sessions:
        session.close()


def test_concurrent_steps_of_several_clients(cluster):
    with tf.device(PS):
        count = tf.Variable(0, use_resource=True)
        add = count.assign_add(1, use_locking=True)
    x, _, y = _two_tasks()
    failures = []

    def work(session, number):
        try:
            for step in range(20):
                found = session.run([y, add], {x: np.full(100, number + step, np.float32)})[0]
                np.testing.assert_array_equal(found, 2.0 * (number + step) + 1)
        except Exception as error:
            failures.append(error)

    with tf.Session(target_of(cluster)) as one, tf.Session(target_of(cluster, "worker", 1)) as two:
        one.run(count.initializer)
        threads = [threading.Thread(target=work, args=(s, n)) for n, s in enumerate((one, two, one, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failures == []
        assert two.run(count) == 80


def test_device_filters(cluster):
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    x, _, y = _two_tasks()
    with tf.device(PS1):
        there = x + 1.0
    with tf.Session(target_of(cluster), config=config) as session:
        tasks = sorted({device.name.partition("/device")[0] for device in session.list_devices()})
        assert tasks == [f"/job:{j}/replica:0/task:{i}" for j, i in (("ps", 0), ("ps", 1), ("worker", 0))]
        assert session.run(there, {x: [1.0]}) == [2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="worker/task:1"):
            session.run(y, {x: [1.0]})
    only_self = tf.ConfigProto(device_filters=["/job:ps/task:0"])
    with tf.Session(target_of(cluster), config=only_self) as session:
        assert any(device.name.startswith("/job:worker/replica:0/task:0") for device in session.list_devices())


def test_placement_of_devices_that_do_not_exist(cluster):
    with tf.device("/job:ps/task:7"):
        missing = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
    with tf.device("/job:ps/task:1/device:GPU:7"):
        gpu = tf.square(tf.placeholder_with_default(3.0, []))
    with tf.Session(target_of(cluster)) as session:
        for fetch in (missing, gpu):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
                session.run(fetch)
    with tf.Session(target_of(cluster), config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run([missing, gpu]) == [2.0, 9.0]


def test_colocation(cluster):
    with tf.device(PS1):
        v = tf.Variable([1.0, 2.0])
    with tf.device(WORKER1), tf.colocate_with(v):
        y = v * 2.0
    with tf.Session(target_of(cluster)) as session:
        session.run(v.initializer)
        assert session.run(y).tolist() == [2.0, 4.0]
        if cluster.transport != "client":
            with tf.device(WORKER):
                after = y + 1.0
            rows = [line.split() for line in session.show_placement(after).splitlines()]
            placed = {row[0]: row[2].partition("/device")[0] for row in rows if len(row) > 2}
            assert placed[y.op.name] == "/job:ps/replica:0/task:1"
            assert placed[after.op.name] == "/job:worker/replica:0/task:0"


def test_isolated_sessions(cluster):
    with tf.device(PS):
        v = tf.Variable(1.0)
        queue = tf.FIFOQueue(3, [tf.float32], shared_name="q")
    isolated = tf.ConfigProto(isolate_session_state=True)
    target = target_of(cluster)
    with (
        tf.Session(target) as shared,
        tf.Session(target, config=isolated) as one,
        tf.Session(target, config=isolated) as two,
    ):
        for number, session in enumerate((shared, one, two)):
            session.run(v.initializer)
            session.run(v.assign_add(float(number)))
            session.run(queue.enqueue(float(number)))
        assert [session.run(v) for session in (shared, one, two)] == [1.0, 2.0, 3.0]
        assert [session.run(queue.dequeue()) for session in (shared, one, two)] == [0.0, 1.0, 2.0]
    with tf.Session(target) as later, tf.Session(target, config=isolated) as fresh:
        assert later.run(v) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            fresh.run(v)


def test_containers_are_reset(cluster):
    target = target_of(cluster)
    with tf.device(PS), tf.container("kept"):
        kept = tf.Variable(1.0, name="kept")
    with tf.device(PS1), tf.container("dropped"):
        dropped = tf.Variable(2.0, name="dropped")
    with tf.Session(target) as session:
        session.run([kept.initializer, dropped.initializer])
    tf.Session.reset(target, ["dropped"])
    with tf.Session(target) as session:
        assert session.run(kept) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(dropped)
        tf.Session.reset(target)
        with pytest.raises((tf.errors.OpError, RuntimeError)):
            session.run(kept)
    with tf.Session(target) as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(kept)


def test_state_outlives_a_session(cluster):
    with tf.device(PS):
        v = tf.Variable(3.0)
    with tf.Session(target_of(cluster)) as session:
        session.run(v.initializer)
    with tf.Session(target_of(cluster, "worker", 1)) as session:
        assert session.run(v) == 3.0
    with tf.Session(target_of(cluster, "ps", 0)) as session:
        assert session.run(v * 2.0) == 6.0


def test_sparse_task_numbers(transport):
    ports = free_ports(2)
    spec = tf.train.ClusterSpec({"ps": {3: f"localhost:{ports[0]}"}, "worker": {1: f"localhost:{ports[1]}"}})
    protocol = "inprocess" if transport == "inprocess" else "grpc"
    with (
        tf.train.Server(spec, "ps", 3, protocol=protocol),
        tf.train.Server(spec, "worker", 1, protocol=protocol) as server,
    ):
        with tf.device("/job:ps/task:3"):
            v = tf.Variable(1.0)
        with tf.device("/job:worker/task:1"):
            y = v + 1.0
        target = server.target.replace("localhost", "127.0.0.1") if transport == "client" else server.target
        with tf.Session(target) as session:
            session.run(v.initializer)
            assert session.run(y) == 2.0
            names = sorted(device.name for device in session.list_devices() if device.device_type == "CPU")
            assert names == ["/job:ps/replica:0/task:3/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"]


def test_a_cluster_that_the_client_propagates(transport):
    """Each server knows of itself alone; the client's configuration tells the master of the others."""
    if transport == "inprocess":
        pytest.skip("the tasks have no addresses")
    ports = free_ports(2)
    servers = [tf.train.Server({"worker": {i: f"localhost:{port}"}}, "worker", i) for i, port in enumerate(ports)]
    config = tf.ConfigProto()
    job = config.cluster_def.job.add()
    job.name = "worker"
    for index, port in enumerate(ports):
        job.tasks[index] = f"localhost:{port}"
    with tf.device(WORKER1):
        v = tf.Variable(1.0)
    with tf.device(WORKER):
        y = v + 1.0
    target = servers[0].target.replace("localhost", "127.0.0.1") if transport == "client" else servers[0].target
    try:
        with tf.Session(target, config=config) as one, tf.Session(target, config=config) as two:
            one.run(v.initializer)
            assert one.run(y) == 2.0
            with pytest.raises(tf.errors.FailedPreconditionError):
                two.run(y)  # such sessions are isolated
    finally:
        for server in servers:
            server.stop()


def test_errors_of_feeds_and_fetches(cluster):
    x, _, y = _two_tasks()
    with tf.Session(target_of(cluster)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value for placeholder"):
            session.run(y)
        with pytest.raises(ValueError, match="shape"):
            session.run(y, {x: [[1.0]]})
        with pytest.raises((TypeError, ValueError)):
            session.run("nothing:0")
        assert session.run(y, {x: [1.0]}) == [3.0]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(y, {x: [1.0]})


def test_timeouts(cluster):
    with tf.device(PS):
        queue = tf.FIFOQueue(1, [tf.float32], shared_name="slow")
    with tf.device(WORKER1):
        y = queue.dequeue() + 1.0
    with tf.Session(target_of(cluster)) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(y, options=tf.RunOptions(timeout_in_ms=200))
        session.run(queue.enqueue(1.0))
        assert session.run(y) == 2.0


def test_closing_a_session_cancels_its_steps(cluster):
    with tf.device(PS):
        queue = tf.FIFOQueue(1, [tf.float32], shared_name="closed")
    with tf.device(WORKER1):
        y = queue.dequeue() + 1.0
    ended = []
    session = tf.Session(target_of(cluster))
    session.run(queue.size())

    def wait():
        try:
            session.run(y)
        except tf.errors.OpError as error:
            ended.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while not session._running:
        pass
    session.close()
    thread.join(20)
    assert ended == [tf.errors.CancelledError]
    with tf.Session(target_of(cluster)) as other:
        assert other.run(queue.size()) == 0
        other.run(queue.enqueue(4.0))
        assert other.run(y) == 5.0
