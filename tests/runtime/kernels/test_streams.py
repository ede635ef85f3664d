"""Streams of two virtual GPUs of one card: each test would read too early if the second did not wait for the first.

They run on a GPU, and on the pretended one with `--late`, where every kernel is late.
"""

import threading

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.training.input.waiting import Waiting
from thalweg._src.runtime.eager.graph import EagerGraph
from thalweg._src.runtime.eager.mode import eager_mode

# On a GPU, kernels of a third of a millisecond, far longer than their launch.
SIZE, PRODUCTS, BUSY = (2048, 60, 150) if torch.cuda.is_available() else (200, 1, 500)


@pytest.fixture(autouse=True)
def needs_streams(pytestconfig):
    if not torch.cuda.is_available() and not pytestconfig.getoption("--late"):
        pytest.skip("there is no CUDA device")


def two_gpus():
    config = tf.ConfigProto()
    virtual = config.gpu_options.experimental.virtual_devices.add()
    virtual.memory_limit_mb.extend([4096, 4096])
    return config


@pytest.fixture
def session():
    with tf.Session(config=two_gpus()) as session:
        yield session


def filled(number):
    return tf.fill([SIZE, SIZE], number)


def late(x):
    """Returns the same values, which the device has long after the host has launched the kernels."""
    identity = tf.eye(SIZE)
    for _ in range(PRODUCTS):
        x = tf.matmul(x, identity)
    return x


def extremes(x):
    return tf.stack([tf.reduce_min(x), tf.reduce_max(x)])


def host_work():
    """Returns an op that keeps the host busy while the device computes what was launched before."""
    with tf.device("/cpu:0"):
        return tf.py_func(lambda: np.float32(np.linalg.svd(np.eye(BUSY)).S.sum()), [], tf.float32)


def test_a_consumer_waits_for_the_device_of_its_input(session):
    number = tf.placeholder(tf.float32, [])
    with tf.device("/gpu:0"):
        x = late(filled(number))
    with tf.device("/gpu:1"):
        y = extremes(x)
    for value in range(10):  # the last ones are captured and replayed
        assert session.run(y, {number: value}).tolist() == [value, value]


def test_a_value_that_was_sent_does_not_change_with_its_variable(session):
    with tf.device("/gpu:0"):
        variable = tf.get_variable("v", [SIZE, SIZE], initializer=tf.zeros_initializer(), use_resource=True)
        read = variable.read_value()
        with tf.control_dependencies([read]):
            work = host_work()
        with tf.control_dependencies([work]):
            update = variable.assign_add(filled(1.0))
    with tf.device("/gpu:1"):
        y = extremes(late(filled(0.0)) + read)
    session.run(tf.global_variables_initializer())
    for value in range(10):
        assert session.run([y, update.op])[0].tolist() == [value, value]


def test_the_memory_of_a_sent_value_is_kept_for_its_consumer(session):
    number = tf.placeholder(tf.float32, [])
    with tf.device("/gpu:0"):
        sent = tf.exp(filled(number) * 0.0) * number
        with tf.control_dependencies([sent]):
            work = host_work()
        with tf.control_dependencies([work]):  # together more memory than was free before
            others = extremes(tf.stack([tf.random_uniform([SIZE, SIZE]) for _ in range(40)]))
    with tf.device("/gpu:1"):
        y = extremes(late(filled(0.0)) + sent)
    for value in range(10):
        assert session.run([y, others], {number: value})[0].tolist() == [value, value]


def test_the_next_step_sees_what_another_device_left_in_a_variable(session):
    number = tf.placeholder(tf.float32, [])
    variable = tf.get_variable("v", [SIZE, SIZE], initializer=tf.zeros_initializer(), use_resource=True)
    with tf.device("/gpu:0"):
        change = variable.assign(late(filled(number)))
    with tf.device("/gpu:1"):
        y = extremes(tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=tf.float32))
    session.run(tf.global_variables_initializer())
    for value in range(10):
        session.run(change.op, {number: value})
        assert session.run(y).tolist() == [value, value]


def test_a_staged_value_is_complete_on_the_device_that_takes_it(session):
    number = tf.placeholder(tf.float32, [])
    area = tf.contrib.staging.StagingArea([tf.float32], [[SIZE, SIZE]], shared_name="area")
    with tf.device("/gpu:0"):
        put = area.put([late(filled(number))])
    with tf.device("/gpu:1"):
        y = extremes(area.get()[0])
    for value in range(6):
        taking = Waiting(session, y)  # its step has begun before the value is computed
        assert taking.is_waiting()
        session.run(put, {number: value})
        assert taking.result().tolist() == [value, value]


def test_eager_operations_see_what_a_function_left_in_a_variable(monkeypatch):
    monkeypatch.setattr("thalweg._src.runtime.eager.mode._graph", EagerGraph(two_gpus()))
    with eager_mode():
        with tf.device("/gpu:1"):
            variable = tf.Variable(np.zeros([SIZE, SIZE], np.float32))

        @tf.function
        def add(number):
            with tf.device("/gpu:0"):
                change = late(filled(number))
            with tf.device("/gpu:1"):
                variable.assign_add(change)
            return change

        for value in range(1, 9):
            change = add(tf.constant(1.0))
            with tf.device("/gpu:1"):
                double = extremes(variable + change)
            assert extremes(variable).numpy().tolist() == [value, value]
            assert double.numpy().tolist() == [value + 1, value + 1]


def test_threads_feed_one_step_with_large_values():
    """All of them are copied on one stream, beside that of the kernels."""
    x = tf.placeholder(tf.float32, [1 << 18])
    y = extremes(x * 2.0)
    failed = []
    with tf.Session() as session:

        def feed(number):
            value = np.full(1 << 18, number, np.float32)
            for _ in range(200):
                if session.run(y, {x: value}).tolist() != [2 * number, 2 * number]:
                    failed.append(number)

        threads = [threading.Thread(target=feed, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
