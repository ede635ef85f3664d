"""Transfers in bfloat16: half the bytes, on request, and never for stored values."""

import numpy as np
import pytest

import thalweg as tf

VALUE = np.random.default_rng(5).normal(size=[16, 16]).astype(np.float32)


def config(lossy=True, cpus=3):
    proto = tf.ConfigProto(device_count={"CPU": cpus, "GPU": 0})
    proto.graph_options.enable_bfloat16_sendrecv = lossy
    return proto


def rounded(value):
    return np.asarray(value).astype(tf.bfloat16.as_numpy_dtype).astype(np.float32)


def crossing(dtype, value=VALUE, devices=("/cpu:1",)):
    with tf.device("/cpu:0"):
        x = tf.placeholder(dtype, value.shape, name="x")
        y = tf.add(x, tf.cast(1, dtype), name="y")
    result = []
    for device in devices:
        with tf.device(device):
            result += [tf.multiply(y, tf.cast(2, dtype)), tf.negative(y)]
    return x, result


@pytest.mark.parametrize("lossy", [False, True])
def test_float32_is_rounded_to_bfloat16(lossy):
    x, (doubled, negative) = crossing(tf.float32)
    with tf.Session(config=config(lossy)) as session:
        got = session.run([doubled, negative], {x: VALUE})
    expected = rounded(VALUE + 1) if lossy else VALUE + 1
    assert np.array_equal(got[0], expected * 2) and np.array_equal(got[1], -expected)
    assert got[0].dtype == np.float32 and np.allclose(got[0], (VALUE + 1) * 2, rtol=2**-8)


@pytest.mark.parametrize("dtype", [tf.float64, tf.int32, tf.int64, tf.float16, tf.complex64])
def test_other_types_are_sent_unchanged(dtype):
    value = (VALUE * 1000).astype(dtype.as_numpy_dtype)
    x, (doubled, _) = crossing(dtype, value)
    with tf.Session(config=config()) as session:
        assert np.array_equal(session.run(doubled, {x: value}), (value + dtype.as_numpy_dtype(1)) * 2)
        assert "_narrow" not in session.show_program(doubled, [x])


def test_a_tensor_is_rounded_once_and_sent_once_per_device():
    x, fetches = crossing(tf.float32, devices=("/cpu:1", "/cpu:2"))
    with tf.Session(config=config()) as session:
        nodes = session._plan(fetches, (x,)).executable.placement.devices
        text = session.show_placement(fetches, [x])
    names = [node.name for node in nodes]
    assert names.count("y/_narrow_0") == 1
    assert names.count("y/_narrow_0/_send_0") == names.count("y/_narrow_0/_recv_0") == 2
    assert names.count("y/_widen_0/_recv_0") == 2
    received = [node for node in nodes if node.type == "_Recv" and node.name.startswith("y/")]
    assert all(node.dtypes == [tf.bfloat16] for node in received)
    assert "for a transfer in bfloat16" in text


def test_steps_on_one_device_are_exact():
    x = tf.placeholder(tf.float32, [16, 16])
    with tf.Session(config=config()) as session:
        assert np.array_equal(session.run(x + 1.0, {x: VALUE}), VALUE + 1)


def test_gradients_are_rounded_too():
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", initializer=VALUE)
        x = tf.placeholder(tf.float32, [16, 16])
        h = tf.matmul(x, w)
    with tf.device("/cpu:1"):
        loss = tf.reduce_sum(tf.tanh(h))
    (grad,) = tf.gradients(loss, [w], colocate_gradients_with_ops=True)
    results = []
    for lossy in (False, True):
        with tf.Session(config=config(lossy)) as session:
            session.run(w.initializer)
            results.append(session.run(grad, {x: VALUE}))
    assert not np.array_equal(*results)
    scale = np.abs(results[0]).max()
    np.testing.assert_allclose(results[0], results[1], atol=0.03 * scale)


def test_training_converges_and_gradients_that_are_applied_are_rounded():
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", initializer=np.zeros([16, 1], np.float32))
    with tf.device("/cpu:1"):
        x = tf.constant(VALUE)
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - VALUE[:, :1]))
        grads = tf.train.GradientDescentOptimizer(0.2).compute_gradients(loss)
        train = tf.train.GradientDescentOptimizer(0.2).apply_gradients(grads)
    with tf.Session(config=config()) as session:
        session.run(w.initializer)
        first = session.run(loss)
        for _ in range(200):
            session.run(train)
        assert session.run(loss) < 0.1 * first
        kinds = {node.name: node.dtypes for node in session._plan(train, ()).executable.placement.devices}
        assert any(name.endswith("/_recv_0") and types == [tf.bfloat16] for name, types in kinds.items())


@pytest.mark.parametrize("through", [tf.identity, lambda x: tf.reshape(x, [16, 16])])
def test_stored_values_are_exact(through):
    with tf.device("/cpu:1"):
        v = tf.get_variable("v", [16, 16])
        queue = tf.FIFOQueue(3, [tf.float32])
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [16, 16])
        y = x + 0.0 * tf.random_uniform([])
    with tf.device("/cpu:1"):
        value = through(y)
        put = [v.assign(value).op, queue.enqueue(value)]
    with tf.Session(config=config()) as session:
        session.run(put, {x: VALUE})
        assert np.array_equal(session.run(v), VALUE)
        assert np.array_equal(session.run(queue.dequeue()), VALUE)


def test_checkpoints_are_exact(tmp_path):
    with tf.device("/cpu:1"):
        v = tf.get_variable("v", initializer=VALUE)
    with tf.device("/cpu:0"):
        saver = tf.train.Saver()
    with tf.Session(config=config()) as session:
        session.run(v.initializer)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(v.assign(v * 0.0))
        saver.restore(session, path)
        assert np.array_equal(session.run(v), VALUE)


def test_loops_and_branches():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [16, 16])

    def body(i, a):
        with tf.device("/cpu:1"):
            b = tf.tanh(a)
        with tf.device("/cpu:0"):
            return i + 1, b * 0.5

    y = tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]
    with tf.device("/cpu:1"):
        z = tf.cond(tf.reduce_sum(x) > 1e9, lambda: tf.sin(x), lambda: tf.cos(x))
    with tf.Session(config=config()) as session:
        got, chosen = session.run([y, z], {x: VALUE})
    expected = VALUE
    for _ in range(3):
        expected = np.tanh(expected) * 0.5
    np.testing.assert_allclose(got, expected, rtol=0.02, atol=1e-3)
    np.testing.assert_allclose(chosen, np.cos(VALUE), rtol=0.05, atol=0.02)
    assert not np.array_equal(got, expected)
