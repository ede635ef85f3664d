"""Queue runners fill queues, close them at the end, and report every failure without hanging."""

import threading

import numpy as np
import pytest

import thalweg as tf
from tests.training.input.waiting import until


def counter(limit):
    variable = tf.Variable(0, name="counter")
    return variable, variable.count_up_to(limit)


def start(session, coord=None):
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return tf.train.start_queue_runners(session, coord)


def test_a_runner_fills_the_queue_and_closes_it_at_the_end():
    _, count = counter(20)
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([count])] * 3))
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = start(session, coord)
        assert len(threads) == 4
        taken = [session.run(queue.dequeue()) for _ in range(20)]
        assert sorted(taken) == list(range(20))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(queue.dequeue())
        coord.request_stop()
        coord.join(threads)
        assert session.run(queue.is_closed())


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_join_raises_the_original_error():
    """The consumer sees a closed queue; the coordinator knows why."""
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    _, count = counter(10**6)
    bad = tf.gather([10, 11, 12], count)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([bad])]))
    taken, coord = [], tf.train.Coordinator()
    with tf.Session() as session:
        threads = start(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                taken.append(session.run(queue.dequeue()))
        assert taken == [10, 11, 12]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Gather"):
            coord.join(threads)


def test_stop_ends_blocked_runners():
    source, sink = tf.FIFOQueue(2, tf.int32, shapes=[[]]), tf.FIFOQueue(2, tf.int32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(source, [source.enqueue([1])] * 2))
    tf.train.add_queue_runner(tf.train.QueueRunner(sink, [sink.enqueue([source.dequeue()])] * 2))
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = start(session, coord)
        until(lambda: session.run([source.size(), sink.size()]) == [2, 2])
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=60)
    assert not any(thread.is_alive() for thread in threads)


def test_closing_the_session_ends_runners_without_an_error(capfd):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue([1])] * 2)
    session = tf.Session()
    threads = runner.create_threads(session, start=True, daemon=True)
    until(lambda: session.run(queue.size()) == 2)
    session.close()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads) and runner.exceptions_raised == []
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_failures_without_a_coordinator_are_kept(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue([tf.gather([1, 2], [tf.constant(7)])[0]])])
    with tf.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join(10)
        assert [type(error) for error in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]


def test_threads_of_one_session_start_once():
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue([1])])
    coord = tf.train.Coordinator()
    with tf.Session() as first, tf.Session() as second:
        threads = runner.create_threads(first, coord, start=True, daemon=True)
        assert len(threads) == 2 and runner.create_threads(first, coord) == []
        threads += runner.create_threads(second, coord, start=True, daemon=True)
        coord.request_stop()
        coord.join(threads)
        coord.clear_stop()
        assert len(runner.create_threads(first, coord)) == 2  # those of before have ended


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_custom_errors_can_end_the_input():
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    bad = tf.gather([1, 2], [tf.constant(7)])[0]
    runner = tf.train.QueueRunner(
        queue, [queue.enqueue([bad])], queue_closed_exception_types=(tf.errors.InvalidArgumentError,)
    )
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(queue.dequeue())
        coord.request_stop()
        coord.join(threads)


def test_runner_from_a_message():
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]], name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue([1])])
    definition = runner.to_proto()
    assert definition.queue_name == "q" and definition.enqueue_op_name == ["q_enqueue"]
    again = tf.train.QueueRunner.from_proto(definition)
    assert again.name == "q" and again.cancel_op is runner.cancel_op
    assert again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert runner.to_proto("elsewhere") is None


def test_bad_arguments():
    queue = tf.FIFOQueue(2, tf.int32)
    with pytest.raises(ValueError):
        tf.train.QueueRunner(queue, [])
    with pytest.raises(ValueError):
        tf.train.QueueRunner()
    with pytest.raises(TypeError):
        tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=ValueError)
    with pytest.raises(ValueError, match="no default session"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError):
        tf.train.start_queue_runners("session")


def test_training_from_a_queue():
    """The pipeline of the TensorFlow tutorials: producers, preprocessing, batches, training."""
    generator = np.random.default_rng(0)
    data = generator.normal(size=(64, 3)).astype(np.float32)
    labels = data @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    example, label = tf.train.slice_input_producer([data, labels], num_epochs=30, seed=1)
    x, y = tf.train.shuffle_batch([example, label], 16, capacity=100, min_after_dequeue=20, num_threads=2)
    w = tf.Variable(tf.zeros([3, 1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    coord, steps = tf.train.Coordinator(), 0
    with tf.Session() as session:
        threads = start(session, coord)
        try:
            while not coord.should_stop():
                session.run(train)
                steps += 1
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
        assert steps == 64 * 30 // 16
        np.testing.assert_allclose(session.run(w), [[1.0], [-2.0], [0.5]], atol=1e-3)
