"""Queue operations inside of loops."""

import numpy as np
import pytest

import thalweg as tf
from tests.training.input.waiting import Waiting


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def test_a_loop_dequeues(session):
    queue = tf.FIFOQueue(20, tf.int32, shapes=[[]])

    def body(i, total):
        return i + 1, total + queue.dequeue()

    _, total = tf.while_loop(lambda i, total: i < 5, body, [0, 0])
    running = Waiting(session, total)
    assert running.is_waiting()
    session.run(queue.enqueue_many([[1, 2, 3]]))
    assert running.is_waiting()
    session.run(queue.enqueue_many([[4, 5, 6]]))
    assert running.result() == 15 and session.run(queue.size()) == 1


def test_a_loop_enqueues(session):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])

    def body(i):
        with tf.control_dependencies([queue.enqueue(i * i)]):
            return i + 1

    running = Waiting(session, tf.while_loop(lambda i: i < 6, body, [0], parallel_iterations=1))
    assert [session.run(queue.dequeue()) for _ in range(6)] == [0, 1, 4, 9, 16, 25]
    assert running.result() == 6


def test_a_blocked_loop_can_be_cancelled(session):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    loop = tf.while_loop(lambda i: i < 6, lambda i: i + queue.dequeue(), [0])
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(loop, options=tf.RunOptions(timeout_in_ms=100))
    session.run(queue.enqueue(9))
    assert session.run(queue.size()) == 1


def test_a_loop_ends_with_the_queues_error(session):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[[]])
    session.run(queue.enqueue_many([[1, 1]]))
    session.run(queue.close())
    with pytest.raises(tf.errors.OutOfRangeError, match="Dequeue"):
        session.run(tf.while_loop(lambda i: i < 6, lambda i: i + queue.dequeue(), [0]))


def test_a_branch_in_a_loop_uses_a_queue(session):
    queue = tf.FIFOQueue(20, tf.int32, shapes=[[]])
    session.run(queue.enqueue_many([np.arange(10, dtype=np.int32)]))

    def body(i, total):
        return i + 1, total + tf.cond(tf.equal(i % 2, 0), queue.dequeue, lambda: tf.constant(0))

    assert session.run(tf.while_loop(lambda i, t: i < 6, body, [0, 0])[1]) == 0 + 1 + 2
    assert session.run(queue.size()) == 7
