"""CUDA graphs, on a fake accelerator that computes on the CPU and captures calls as a CUDA graph does."""

import threading

import numpy as np
import pytest

import thalweg as tf
from tests.runtime.execute.recorded_calls import record
from thalweg._src.runtime.resources.accelerators import Accelerator

RECORDS = []


@pytest.fixture(autouse=True)
def fake(register):
    RECORDS.clear()
    register(Accelerator("FAKE", "cpu", lambda: 2, capture=lambda function, _: record(function, RECORDS)))


def model():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    with tf.device("/device:FAKE:0"):
        w = tf.get_variable("w", [4, 3], initializer=tf.constant_initializer(0.5))
        b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - 0.25))
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return x, w, loss, train


def losses(runs, device, data):
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, loss, train = model()
        if device == "CPU":
            for op in session.graph.get_operations():
                op._set_device("/device:CPU:0")
        session.run(tf.global_variables_initializer())
        values = [session.run([loss, train], {x: data[i]})[0] for i in range(runs)]
        return values, session.run(w)


def test_a_captured_step_equals_an_eager_one(rng=np.random.default_rng(1)):
    data = [rng.standard_normal((5, 4)).astype(np.float32) for _ in range(12)]
    plain, weights = losses(12, "CPU", data)
    fake, others = losses(12, "FAKE", data)
    np.testing.assert_allclose(fake, plain, rtol=1e-6)
    np.testing.assert_allclose(others, weights, rtol=1e-6)
    assert max(notes.count for notes in RECORDS) == 12 - 3


def test_each_shape_is_captured_separately(rng=np.random.default_rng(2)):
    data = [rng.standard_normal((5 + i % 2, 4)).astype(np.float32) for i in range(16)]
    plain, _ = losses(16, "CPU", data)
    fake, _ = losses(16, "FAKE", data)
    np.testing.assert_allclose(fake, plain, rtol=1e-6)
    assert sorted(notes.count for notes in RECORDS) == [5, 5]


def test_signatures_beyond_the_limit_run_eagerly(rng=np.random.default_rng(7)):
    data = [rng.standard_normal((2 + i % 7, 4)).astype(np.float32) for i in range(49)]
    plain, _ = losses(49, "CPU", data)
    fake, _ = losses(49, "FAKE", data)
    np.testing.assert_allclose(fake, plain, rtol=1e-5)
    assert [notes.count for notes in RECORDS] == [7 - 3] * 4


def test_a_moved_variable_returns_to_the_captured_buffer(rng=np.random.default_rng(3)):
    data = [rng.standard_normal((5, 4)).astype(np.float32) for _ in range(12)]
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, loss, train = model()
        session.run(tf.global_variables_initializer())
        for i in range(6):
            session.run(train, {x: data[i]})
        assign = w.assign(tf.zeros([4, 3]))
        session.run(assign)
        np.testing.assert_array_equal(session.run(w), np.zeros((4, 3)))
        before = session.run(loss, {x: data[6]})
        assert session.run([loss, train], {x: data[6]})[0] == pytest.approx(before, rel=1e-6)
        assert not np.array_equal(session.run(w), np.zeros((4, 3)))


def test_an_assigned_and_fetched_variable_keeps_its_buffer():
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/device:FAKE:0"):
            v = tf.get_variable("v", [5], initializer=tf.zeros_initializer())
            change = v.assign(tf.tanh(v * 0.5 + 1.0) + 0.1 * v)
            other = v.assign_add(tf.ones([5]))
        session.run(tf.global_variables_initializer())
        wanted = np.zeros(5, np.float32)
        for i in range(20):
            wanted = np.tanh(wanted * 0.5 + 1) + 0.1 * wanted
            np.testing.assert_allclose(session.run(change), wanted, rtol=1e-5)
            if i % 7 == 3:
                session.run(other)
                wanted = wanted + 1
            np.testing.assert_allclose(session.run(v), wanted, rtol=1e-5)
    assert max(notes.count for notes in RECORDS) == 20 - 3


def test_host_values_are_part_of_the_signature():
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        with tf.device("/device:FAKE:0"):
            x = tf.random_uniform([6, 4], seed=1)
            y = tf.reduce_sum(tf.exp(tf.reshape(x, [n, -1])) * 2.0, axis=1)
        shapes = [session.run(y, {n: size}).shape for size in [2, 3] * 8]
    assert shapes == [(2,), (3,)] * 8


def test_synchronizing_nodes_are_not_captured():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/device:FAKE:0"):
            y = tf.exp(tf.boolean_mask(x * 2.0, x > 0.0)) + 1.0
        for size in range(8):
            data = np.linspace(-1, 1, 5 + size, dtype=np.float32)
            np.testing.assert_allclose(session.run(y, {x: data}), np.exp(data[data > 0] * 2) + 1, rtol=1e-6)


def test_threads_share_a_captured_step(rng=np.random.default_rng(4)):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        with tf.device("/device:FAKE:0"):
            w = tf.get_variable("w", [4, 4], initializer=tf.constant_initializer(0.5))
            y = tf.tanh(tf.matmul(tf.tanh(tf.matmul(x, w)), w)) + 1.0
        session.run(tf.global_variables_initializer())
        graph.finalize()
        bad = []

        def work():
            mine = np.random.default_rng(threading.get_ident())
            for _ in range(60):
                data = mine.standard_normal((3, 4)).astype(np.float32)
                wanted = np.tanh(np.tanh(data @ np.full((4, 4), 0.5)) @ np.full((4, 4), 0.5)) + 1
                if not np.allclose(session.run(y, {x: data}), wanted, rtol=1e-5):
                    bad.append(data)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert not bad
    assert RECORDS


def test_loops_with_constant_trip_counts_are_captured():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        with tf.device("/device:FAKE:0"):
            y = tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v) * 1.5), [0, x])[1]
            z = tf.exp(y) + tf.sin(y) * 2.0 - 1.0
        for scale in range(8):
            data = np.array([0.1, 0.2, 0.3], np.float32) * scale
            wanted = data
            for _ in range(4):
                wanted = np.tanh(wanted) * np.float32(1.5)
            np.testing.assert_allclose(session.run(z, {x: data}), np.exp(wanted) + np.sin(wanted) * 2 - 1, rtol=1e-5)


def test_a_custom_device_type():
    with tf.Graph().as_default(), tf.Session() as session:
        names = [device.name for device in session.list_devices()]
        assert [name for name in names if "FAKE" in name] == [
            "/job:localhost/replica:0/task:0/device:FAKE:0",
            "/job:localhost/replica:0/task:0/device:FAKE:1",
        ]
        with tf.device("/device:FAKE:0"):
            a = tf.constant([1.0, 2.0]) * 3.0
        with tf.device("/device:FAKE:1"):
            b = tf.exp(a)
        with tf.device("/cpu:0"):
            c = tf.reduce_sum(b)
        assert session.run(c) == pytest.approx(np.exp(3) + np.exp(6), rel=1e-6)


def test_a_fed_value_used_before_and_inside_the_capture(rng=np.random.default_rng(8)):
    x, training = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.bool, [])
    with tf.device("/device:FAKE:0"):
        normal = tf.layers.batch_normalization(tf.layers.dense(x, 5), training=training)
        loss = tf.reduce_mean(tf.square(tf.tanh(normal) + tf.cast(training, tf.float32)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        data = rng.standard_normal((3, 4))
        losses = [session.run(loss, {x: data, training: i % 2 == 0}) for i in range(16)]
    np.testing.assert_allclose(losses, losses[:2] * 8, rtol=1e-6)
    assert sorted(notes.count for notes in RECORDS)[-2:] == [5, 5]


def test_a_copy_to_the_device_that_is_used_after_the_capture_too():
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.device("/device:FAKE:0"):
        y = tf.concat([tf.exp(tf.tanh(tf.exp(tf.tanh(x))))] * 2, 0)
        size = tf.stack([tf.shape(y)[0] * 2] * 4)  # computed on the host, from a shape in the middle
        scaled = tf.cast(y, tf.int32) * size
        result = tf.cast(tf.check_numerics(tf.cast(scaled, tf.float32), "is not captured"), tf.int32) + size
    with tf.Session() as session:
        values = [session.run(result, {x: np.zeros((3, 4))}) for _ in range(8)]
    np.testing.assert_allclose(values, [np.full((6, 4), 2 * 12 + 12)] * 8)


def test_the_error_of_the_run_before_a_capture_names_the_node():
    x, index = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [2])
    with tf.device("/device:FAKE:0"):
        y = tf.concat([tf.exp(tf.tanh(tf.exp(tf.tanh(x))))] * 2, 0)
        size = tf.stack([tf.shape(y)[0] * 2] * 4)  # copied to the device in the middle
        rows = tf.gather(tf.cast(y, tf.int32) * size, tf.cast(tf.cast(index, tf.float32) + 0.5, tf.int32), name="rows")
    errors = []
    with tf.Session() as session:
        for call in range(6):
            try:
                session.run(rows, {x: np.zeros((3, 4)), index: [0, 99 if call in (2, 5) else 1]})
            except tf.errors.InvalidArgumentError as error:
                errors.append(error)
    assert [error.op.name for error in errors] == ["rows", "rows"]
