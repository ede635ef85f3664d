"""Servers and sessions: a step runs over the tasks of a cluster, whatever connects them."""

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster, addresses, processes


def test_a_variable_at_another_task(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.device("/job:worker/task:0"):
        y = v + 2.0
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y) == 3.0
        assert session.run(v.assign_add(4.0)) == 5.0
        assert session.run(y) == 7.0


def test_the_devices_of_all_tasks_are_listed(cluster):
    with tf.Session(cluster.target()) as session:
        names = [device.name for device in session.list_devices() if device.device_type == "CPU"]
    assert names == [f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("worker", "ps")]


def test_the_incarnation_of_a_device_changes_with_its_variables():
    cluster = Cluster("sockets", ps=1, worker=1)

    def incarnations(target=None, **options):
        with tf.Session(target or cluster.target(), config=tf.ConfigProto(**options)) as session:
            found = {device.name: device.incarnation for device in session.list_devices()}
        return [found[f"/job:{job}/replica:0/task:0/device:CPU:0"] for job in ("worker", "ps")]

    try:
        worker, ps = before = incarnations()
        assert 0 not in before and worker != ps
        assert incarnations() == incarnations(cluster.target("ps")) == before
        assert incarnations(f"grpc://127.0.0.1:{cluster.spec['ps'][0].rpartition(':')[2]}") == before  # as a client
        assert not set(incarnations(isolate_session_state=True)) & set(before)
        cluster.servers["ps", 0].stop()
        cluster.start("ps", 0)
        restarted = incarnations()
        assert restarted[0] == worker and restarted[1] != ps
        tf.Session.reset(cluster.target())
        assert not set(incarnations()) & {*before, *restarted}
    finally:
        cluster.stop()


def test_operations_without_a_device_run_at_the_task_of_the_session(cluster):
    y = tf.constant(1.0) + tf.placeholder(tf.float32)
    config = tf.ConfigProto()
    with tf.Session(cluster.target("ps"), config=config) as session:
        assert "/job:ps/replica:0/task:0" in session.show_placement(y, {y.op.inputs[1]: 1.0})


@pytest.mark.parametrize("size", [1, 1000, 1_000_000])
def test_large_values_in_both_directions(cluster, size):
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/job:ps/task:0"):
        doubled = x * 2.0
    with tf.device("/job:worker/task:0"):
        y = doubled + 1.0
    fed = np.arange(size, dtype=np.float32)
    with tf.Session(cluster.target()) as session:
        for _ in range(3):
            found, back = session.run([y, doubled], {x: fed})
            np.testing.assert_array_equal(found, fed * 2 + 1)
            np.testing.assert_array_equal(back, fed * 2)


def test_sessions_share_variables(start_cluster):
    cluster = start_cluster(ps=1, worker=2)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.Session(cluster.target("worker", 0)) as one, tf.Session(cluster.target("worker", 1)) as two:
        one.run(v.initializer)
        two.run(v.assign_add(1.0))
        assert one.run(v) == 2.0


def test_isolated_sessions_share_nothing(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with (
        tf.Session(cluster.target()) as one,
        tf.Session(cluster.target(), config=tf.ConfigProto(isolate_session_state=True)) as two,
    ):
        one.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            two.run(v)


def test_a_loop_over_two_tasks(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(2.0)

    def body(i, x):
        with tf.device("/job:ps/task:0"):
            x = x * v
        with tf.device("/job:worker/task:0"):
            return i + 1, x + 1.0

    _, y = tf.while_loop(lambda i, x: i < 5, body, [0, 1.0])
    slope = tf.gradients(y, v)[0]
    with tf.Session(cluster.target()) as session:
        session.run(v.initializer)
        assert session.run([y, slope]) == [63.0, 129.0]


def test_an_error_names_the_task_the_node_and_the_line(cluster):
    x = tf.placeholder(tf.float32, [None, None])
    with tf.device("/job:ps/task:0"):
        product = tf.matmul(x, tf.ones([3, 3]), name="product")
    with tf.Session(cluster.target()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(product, {x: np.ones((2, 2), np.float32)})
        assert session.run(product, {x: np.ones((1, 3), np.float32)}).tolist() == [[3.0] * 3]
    assert "product" in str(caught.value) and "/job:ps/replica:0/task:0" in str(caught.value)
    assert "test_server.py" in str(caught.value)


def test_a_server_starts_again_at_its_port(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.Session(cluster.target()) as session:
        session.run(v.initializer)
    cluster.servers.pop(("ps", 0)).stop()
    cluster.start("ps", 0)
    with tf.Session(cluster.target()) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(v)
        session.run(v.initializer)
        assert session.run(v) == 1.0


def test_operations_that_reach_outside_are_refused_unless_the_server_allows_them(tmp_path):
    """Both in the partitions of a step and in the graph of a client in another process."""
    path = tmp_path / "file"
    path.write_text("contents")
    spec = addresses(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        contents = tf.read_file(str(path))
    for allowed in ({}, {"THALWEG_CLUSTER_ALLOW": "files"}):
        with processes(spec, ["ps"], **allowed), tf.train.Server(spec, "worker", 0) as worker:
            filters = tf.ConfigProto(device_filters=["/job:ps"])
            for target in (worker.target, f"grpc://{spec['ps'][0]}"):
                with tf.Session(target, config=filters) as session:
                    if allowed:
                        assert session.run(contents) == b"contents"
                        continue
                    with pytest.raises(tf.errors.PermissionDeniedError) as caught:
                        session.run(contents)
                    assert "ReadFile 'ReadFile' reads files" in str(caught.value)
                    assert "THALWEG_CLUSTER_ALLOW" in str(caught.value)
