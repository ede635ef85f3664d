"""Placement and partitioning over virtual devices: constraints, colocation, one transfer per tensor and device."""

import zlib

import numpy as np
import pytest

import thalweg as tf

FOUR = tf.ConfigProto(device_count={"CPU": 4})


def test_values_cross_devices():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:1"):
        y = x * 2.0
    with tf.device("/cpu:2"):
        z = y + 1.0
    with tf.Session(config=FOUR) as sess:
        assert sess.run(z, {x: [1.0, 2.0]}).tolist() == [3.0, 5.0]
        assert [v.tolist() for v in sess.run([y, z], {x: [1.0, 2.0]})] == [[2.0, 4.0], [3.0, 5.0]]


def test_a_tensor_is_sent_once_for_each_device():
    with tf.device("/cpu:1"):
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.exp(x, name="y")
    with tf.device("/cpu:2"):
        a, b, c = tf.sin(y), tf.cos(y), tf.tan(y)
    with tf.device("/cpu:3"):
        d = tf.sqrt(y)
    with tf.Session(config=FOUR) as sess:
        text = sess.show_program([a, b, c, d], [x])
    assert text.count("# y/_send_0") == 2


def test_what_no_device_needs_is_not_sent():
    with tf.device(lambda op: f"/cpu:{zlib.crc32(op.name.encode()) % 4}"):
        p, x = tf.placeholder(tf.bool, []), tf.placeholder_with_default([1.0, 2.0], [2])
        slope = tf.gradients(tf.cond(p, lambda: x * 3.0, lambda: x * x), x)[0]
    with tf.Session(config=FOUR) as sess:
        text = sess.show_program(slope, [p])
        assert text.count("/_send_0") == text.count("/_recv_0") > 0
        assert sess.run(slope, {p: True}).tolist() == [3.0, 3.0]


def test_control_dependencies_cross_devices():
    order = []
    with tf.device("/cpu:1"):
        first = tf.py_func(lambda: order.append(1) or np.float32(0), [], tf.float32)
    with tf.device("/cpu:2"), tf.control_dependencies([first]):
        second = tf.py_func(lambda: order.append(2) or np.float32(0), [], tf.float32)
    with tf.Session(config=FOUR) as sess:
        sess.run(second)
    assert order == [1, 2]


def test_devices_exchange_values_back_and_forth():
    value = tf.constant(1.0)
    for i in range(12):
        with tf.device(f"/cpu:{i % 4}"):
            value = tf.add(value, tf.random_uniform([]) * 0.0) * 2.0
    with tf.Session(config=FOUR) as sess:
        assert sess.run(value) == 4096.0


def test_variables_live_on_their_device():
    with tf.device("/cpu:1"):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device("/cpu:2"):
        total = tf.reduce_sum(v * 2.0)
    with tf.Session(config=FOUR) as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(total) == 6.0
        sess.run(v.assign_add([1.0, 1.0]))
        assert sess.run(total) == 10.0


def test_missing_device_is_an_error_without_soft_placement():
    with tf.device("/cpu:7"):
        x = tf.constant(1.0, name="x") + tf.random_uniform([])
    with tf.Session(config=FOUR) as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(x)
    assert "was explicitly assigned to" in str(caught.value) and "/device:CPU:7" in str(caught.value)
    assert "allow_soft_placement" in str(caught.value)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        assert 1.0 <= sess.run(x) <= 2.0


def test_soft_placement_reports_what_it_changed(capsys):
    with tf.device("/gpu:9"):
        x = tf.random_uniform([], name="x")
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=True)
    with tf.Session(config=config) as sess:
        sess.run(x)
    text = capsys.readouterr().err
    assert "x: requested /device:GPU:9, soft placement chose" in text
    assert "x: (RandomUniform): /job:localhost/replica:0/task:0/device:" in text


@pytest.mark.parametrize("enabled", [True, False])
def test_placement_is_logged_for_the_whole_process(capsys, enabled):
    x = tf.random_uniform([], name="x")
    assert tf.debugging.get_log_device_placement() is False
    tf.debugging.set_log_device_placement(enabled)
    try:
        assert tf.debugging.get_log_device_placement() is enabled
        with tf.Session() as sess:
            sess.run(x)
    finally:
        tf.debugging.set_log_device_placement(False)
    assert ("x: (RandomUniform): /job:localhost" in capsys.readouterr().err) is enabled


def test_contradicting_colocation_is_an_error():
    with tf.device("/cpu:1"):
        a = tf.random_uniform([], name="a")
    with tf.get_default_graph().colocate_with(a.op):
        b = tf.negative(a, name="b")
    b.op._set_device("/cpu:2")
    c = b + 1.0
    with tf.Session(config=FOUR) as sess, pytest.raises(tf.errors.InvalidArgumentError, match="Cannot colocate nodes"):
        sess.run([a, c])


def test_a_failure_on_one_device_ends_the_step():
    with tf.device("/cpu:1"):
        x = tf.placeholder(tf.float32, name="x")
        y = tf.reshape(x, [2, 2], name="y")
    with tf.device("/cpu:2"):
        z = y + 1.0
    with tf.Session(config=FOUR) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="'y' on /device:CPU:1"):
            sess.run(z, {x: np.zeros(3)})
        assert sess.run(z, {x: np.zeros(4)}).tolist() == [[1.0, 1.0], [1.0, 1.0]]
