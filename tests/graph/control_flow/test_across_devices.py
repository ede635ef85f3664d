"""Conditionals and loops across devices give the same results as on one device."""

import zlib

import numpy as np
import pytest

import thalweg as tf
from tests.graph.control_flow import programs

CONFIG = tf.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=True)
FEEDS = [(p, n) for p in (True, False) for n in (0, 1, 2)]
NAMED = ("Const", "VarHandleOp", "TensorArrayV3")  # stay where their users are, or with their resource


def _scattered(op):
    """Returns some device for an operation, always the same one."""
    return "" if op.type in NAMED else f"/cpu:{zlib.crc32(op.name.encode()) % 3}"


def _results(source, scatter):
    with tf.Graph().as_default() as graph, graph.device(_scattered if scatter else None):
        x = tf.placeholder(tf.float64, [3])
        p, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
        names = {}
        exec(source, names)
        y = names["build"](tf, x, p, n)
        g = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
        with tf.Session(config=CONFIG) as session:
            fed = [{x: [0.3, -0.5, 0.7], p: feed[0], n: feed[1]} for feed in FEEDS]
            return [session.run([y, g], feed) for feed in fed]


SEEDS = [pytest.param(seed, marks=pytest.mark.slow) if seed % 2 else seed for seed in range(programs.COUNT)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed):
    source = programs.source(seed)
    for ours, expected in zip(_results(source, True), _results(source, False), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12, err_msg=source)


def test_branches_wait_for_what_the_conditional_waits_for():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0, use_resource=True)
    with tf.device("/cpu:1"):
        doubled = v * 2.0
    p = tf.placeholder(tf.bool, [])
    with tf.control_dependencies([v.assign(doubled)]):
        y = tf.cond(p, lambda: v.read_value() + 1.0, lambda: v.read_value())
    with tf.Session(config=CONFIG) as session:
        session.run(v.initializer)
        assert [session.run(y, {p: value}) for value in (True, False)] == [3.0, 4.0]


def _back_and_forth(condition, change=lambda x: x):
    """Returns the last values of a loop that multiplies on one device and adds on another."""

    def body(i, x):
        with tf.device("/cpu:1"):
            doubled = change(x) * 2.0
        with tf.device("/cpu:2"):
            return i + 1, doubled + 1.0

    return tf.while_loop(condition, body, [0, tf.constant([1.0, 2.0])])


def test_the_condition_is_sent_to_every_device_of_a_loop():
    _, x = _back_and_forth(lambda i, x: i < 4)
    with tf.Session(config=CONFIG) as session:
        text = session.show_program(x)
        assert session.run(x).tolist() == [31.0, 47.0]
    assert text.count("# while/Less/_send_0") == 2


def test_a_loop_on_one_device_does_not_block():
    with tf.device("/cpu:1"):
        _, x = tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2.0), [0, tf.constant(1.0)])
    with tf.device("/cpu:2"):
        y = x + 1.0
    with tf.Session(config=CONFIG) as session:
        assert "# repeated by" not in session.show_program(y)
        assert session.run(y) == 17.0


def test_a_variable_is_updated_on_its_device():
    with tf.device("/cpu:2"):
        total = tf.Variable(0.0, use_resource=True)

    def body(i, x):
        with tf.device("/cpu:1"):
            more = x * 2.0
        with tf.control_dependencies([total.assign_add(more)]):
            return i + 1, tf.identity(more)

    last = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
    with tf.Session(config=CONFIG) as session:
        session.run(total.initializer)
        session.run(last)
        assert session.run(total) == 14.0


def test_a_failure_on_one_device_ends_the_loops_of_all():
    def change(x):
        changed = tf.py_func(lambda v: v if v[0] < 5 else 1 / 0, [x], tf.float32)
        changed.set_shape([2])
        return changed

    _, x = _back_and_forth(lambda i, x: i < 10, change)
    with tf.Session(config=CONFIG) as session, pytest.raises(tf.errors.OpError, match="division by zero"):
        session.run(x)


def test_an_infinite_loop_is_interrupted():
    _, x = _back_and_forth(lambda i, x: i >= 0)
    with tf.Session(config=CONFIG) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(x, options=tf.RunOptions(timeout_in_ms=300))
