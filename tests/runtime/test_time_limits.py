"""Time limits and interrupts: the caller gets its error at once, whatever a kernel is doing."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import thalweg as tf

PATIENCE = 60.0
LIMIT = tf.RunOptions(timeout_in_ms=200)
GENEROUS = tf.RunOptions(timeout_in_ms=60_000)


def _ends(sess, fetches, feeds=None):
    with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification: after 200 ms"):
        sess.run(fetches, feeds, options=LIMIT)
    assert not sess._running


@pytest.mark.parametrize("devices", [1, 2])
def test_a_python_function_that_blocks(gate, devices):
    with tf.device(f"/cpu:{devices - 1}"):
        y = tf.py_func(gate, [], tf.float32)
    with tf.device("/cpu:0"):
        z = y + 1.0
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": devices})) as sess:
        _ends(sess, z)
        assert not gate.open.is_set()
        assert sess.run(tf.constant(2.0) + 1.0, options=GENEROUS) == 3.0  # the thread that is left behind holds nothing
        gate.open.set()
        assert sess.run(z, options=GENEROUS) == 2.0


def test_an_abandoned_step_begins_no_change_of_state(gate):
    y = tf.py_func(gate, [], tf.float32)
    called = threading.Event()
    function = tf.py_func(lambda value: called.set() or value, [y], tf.float32)
    variables = [tf.Variable(0.0) for _ in range(3)]
    queue = tf.FIFOQueue(1, tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        _ends(sess, [*(v.assign(y, read_value=False) for v in variables), queue.enqueue(y), function])
        gate.open.set()
        assert not called.wait(0.5)
        assert sess.run([*variables, queue.size()]) == [0.0, 0.0, 0.0, 0]


def test_a_loop_of_small_kernels():
    end = tf.while_loop(lambda i, x: x < 1.0, lambda i, x: (i + 1, x * 0.5), [tf.constant(0), tf.constant(0.5)])
    with tf.Session() as sess:
        _ends(sess, end)


def test_a_queue_that_stays_empty_serves_the_next_step():
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
    with tf.Session() as sess:
        _ends(sess, queue.dequeue() + 1.0)
        sess.run(queue.enqueue(1.0))
        assert sess.run(queue.dequeue() + 1.0, options=GENEROUS) == 2.0


def test_a_kernel_after_a_queue(gate):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
    y = tf.py_func(gate, [queue.dequeue()], tf.float32)
    with tf.Session() as sess:
        sess.run(queue.enqueue(1.0))
        _ends(sess, y)


def test_the_limit_of_a_configuration_holds_in_partial_runs(gate):
    x = tf.placeholder(tf.float32, [])
    y = tf.py_func(gate, [x], tf.float32)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=200)) as sess:
        handle = sess.partial_run_setup([y], [x])
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification: after 200 ms"):
            sess.partial_run(handle, y, {x: 1.0})


def test_an_error_before_the_limit_is_the_step_s_own():
    x = tf.placeholder(tf.float32, [])
    y = tf.check_numerics(x, "not a number", name="checked")
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="not a number") as caught:
        sess.run(y, {x: np.nan}, options=GENEROUS)
    assert caught.value.op.name == "checked"


def test_closing_the_session_ends_a_limited_step(gate):
    y = tf.py_func(gate, [], tf.float32)
    sess = tf.Session()

    def close():
        assert gate.reached.wait(PATIENCE)
        sess.close()

    thread = threading.Thread(target=close)
    thread.start()
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        sess.run(y, options=GENEROUS)
    thread.join()


@pytest.mark.parametrize("options", [None, GENEROUS], ids=["unlimited", "limited"])
def test_an_interrupt_ends_a_function_that_blocks(gate, options):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("interrupts reach the main thread alone")
    y = tf.py_func(gate, [], tf.float32)
    over = threading.Event()

    def press():
        assert gate.reached.wait(PATIENCE)
        while not over.wait(0.2):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        with tf.Session() as sess:
            with pytest.raises(KeyboardInterrupt):
                try:
                    sess.run(y, options=options)
                finally:
                    over.set()
            assert not sess._running and not gate.open.is_set()
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
