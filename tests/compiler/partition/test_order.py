"""Order across devices: consumers of a constant wait for its control inputs."""

import time

import numpy as np

import thalweg as tf

TWO = tf.ConfigProto(device_count={"CPU": 2})


def test_a_constant_with_controls_keeps_its_order_on_another_device():
    order = []

    def note(text, wait=0.0):
        def function(*values):
            time.sleep(wait)
            order.append(text)
            return np.float32(0)

        return function

    with tf.device("/cpu:0"):
        first = tf.py_func(note("first", wait=0.1), [], tf.float32)
        with tf.control_dependencies([first]):
            constant = tf.constant(1.0)
    with tf.device("/cpu:1"):
        second = tf.py_func(note("second"), [constant], tf.float32)
    with tf.Session(config=TWO) as sess:
        for _ in range(2):
            sess.run(second)
    assert order == ["first", "second"] * 2


def test_a_constant_without_controls_is_replicated_on_each_device():
    with tf.device("/cpu:0"):
        constant = tf.constant([1.0, 2.0], name="constant")
        a = tf.random_uniform([2]) * 0.0 + constant
    with tf.device("/cpu:1"):
        b = tf.random_uniform([2]) * 0.0 + constant
    with tf.Session(config=TWO) as sess:
        assert "_send" not in sess.show_program([a, b])
        assert [v.tolist() for v in sess.run([a, b])] == [[1.0, 2.0]] * 2
