"""Failures in a body name node and iteration on every engine; Ctrl-C ends an infinite loop."""

import sys
import time

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.graph.control_flow.test_random_programs import free
from thalweg._src.runtime import passes

TWO = tf.ConfigProto(device_count={"CPU": 2})


def _fails_at(count, device=None):
    def body(i, x):
        with tf.device(device):
            checked = tf.check_numerics(x * 10.0, "too much", name="checked")
        return i + 1, checked

    start = np.float32(3e38 / 10.0**count)
    return tf.while_loop(lambda i, x: i < 100, body, [0, tf.constant(start)])[1]


def test_errors_name_node_and_iteration():
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="in iteration 4") as caught:
        session.run(_fails_at(4))
    assert "while/checked" in str(caught.value) and "test_failures.py" in str(caught.value)


def test_errors_of_a_traced_step_name_node_and_iteration():
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="in iteration 4"):
        session.run(_fails_at(4), options=options, run_metadata=tf.RunMetadata())


def test_errors_of_the_token_engine_name_node_and_iteration(monkeypatch):
    monkeypatch.setattr(passes, "functionalize", free)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="in iteration 4"):
        session.run(_fails_at(4))


def test_errors_of_a_loop_across_devices_name_node_and_iteration():
    with tf.Session(config=TWO) as session, pytest.raises(tf.errors.InvalidArgumentError, match="in iteration 4"):
        session.run(_fails_at(4, "/cpu:1"))


def test_errors_name_the_iteration_of_the_inner_loop():
    def outer(i, x):
        with tf.control_dependencies([tf.assert_less(i, 100)]):
            return i + 1, tf.while_loop(lambda j, y: j < 3, lambda j, y: (j + 1, y + fail(i, j)), [0, x])[1]

    def fail(i, j):
        return tf.py_func(lambda a, b: np.float32(1 / (int(a) - 2 or int(b) - 1)), [i, j], tf.float32)

    _, x = tf.while_loop(
        lambda i, x: i < 5, outer, [0, 0.0], shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)]
    )
    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="in iteration 1"):
        session.run(x)


# -- endless loops ----------------------------------------------------------------------------------------------------


INTERRUPTED = """
import thalweg as tf
i = tf.while_loop(lambda i: i >= 0, lambda i: tf.maximum(i, 0) * 1, [0])
with tf.Session() as session:
    print("running", flush=True)
    session.run(i)
"""


def test_ctrl_c_interrupts_a_loop(start_child):
    child = start_child([sys.executable, "-c", INTERRUPTED], forked=True, stdout=-1, stderr=-1)
    assert child.stdout.readline() == b"running\n"
    time.sleep(1.0)  # by now it most likely is in the loop
    children.interrupt(child)
    assert b"KeyboardInterrupt" in child.stderr.read()
