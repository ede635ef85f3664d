"""Queues in sessions: values, blocking, and how closing and cancellation wake all waiters."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.training.input.waiting import Waiting, until


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.uint8, tf.uint16, tf.int64, tf.bool, tf.complex64],
)
def test_every_type_is_enqueued_and_dequeued(session, dtype):
    values = np.array([[1, 0], [2, 1], [3, 0]]).astype(dtype.as_numpy_dtype)
    queue = tf.FIFOQueue(5, dtype, shapes=[[2]])
    session.run(queue.enqueue_many([tf.constant(values, dtype)]))
    session.run(queue.enqueue([tf.constant(values[0], dtype)]))
    np.testing.assert_array_equal(session.run(queue.dequeue()), values[0])
    np.testing.assert_array_equal(session.run(queue.dequeue_many(3)), values[[1, 2, 0]])


def test_components_names_and_strings(session):
    queue = tf.FIFOQueue(5, [tf.string, tf.int32], shapes=[[], [2]], names=["text", "pair"])
    assert queue.names == ["text", "pair"] and queue.dtypes == [tf.string, tf.int32]
    session.run(queue.enqueue({"text": "a", "pair": [1, 2]}))
    session.run(queue.enqueue_many({"text": ["b", "c"], "pair": [[3, 4], [5, 6]]}))
    assert session.run(queue.dequeue()["text"]) == b"a"
    taken = session.run(queue.dequeue_many(2))
    assert taken["text"].tolist() == [b"b", b"c"] and taken["pair"].tolist() == [[3, 4], [5, 6]]
    with pytest.raises(ValueError, match="dictionary"):
        queue.enqueue(["a", [1, 2]])
    with pytest.raises(ValueError, match="text"):
        queue.enqueue({"text": "a"})
    with pytest.raises(ValueError, match="no names"):
        tf.FIFOQueue(5, tf.int32).enqueue({"x": 1})


def test_static_shapes():
    queue = tf.FIFOQueue(5, [tf.string, tf.int32], shapes=[[], [2]])
    assert [t.shape.as_list() for t in queue.dequeue()] == [[], [2]]
    assert [t.shape.as_list() for t in queue.dequeue_many(3)] == [[3], [3, 2]]
    assert [t.shape.as_list() for t in queue.dequeue_up_to(3)] == [[None], [None, 2]]
    assert tf.FIFOQueue(5, tf.int32).dequeue().shape.ndims is None
    padding = tf.PaddingFIFOQueue(5, tf.int32, shapes=[[None, 2]])
    assert padding.dequeue_many(3).shape.as_list() == [3, None, 2]
    assert [t.shape.as_list() for t in tf.PriorityQueue(5, tf.string, shapes=[[]]).dequeue_many(2)] == [[2], [2]]
    assert queue.size().shape.as_list() == [] and queue.is_closed().dtype is tf.bool


def test_names_of_operations():
    queue = tf.FIFOQueue(5, tf.int32, name="q")
    names = [queue.enqueue(1).name, queue.dequeue().op.name, queue.size().op.name, queue.close().name]
    assert names == ["q_enqueue", "q_Dequeue", "q_Size", "q_Close"]
    assert queue.enqueue([1], name="put").name == "put"


def test_queued_values_never_change(session):
    variable = tf.Variable([1.0, 2.0])
    fed = tf.placeholder(tf.float32, [2])
    queue = tf.FIFOQueue(5, tf.float32, shapes=[[2]])
    session.run(variable.initializer)
    session.run(queue.enqueue([variable]))
    session.run(variable.assign_add([5.0, 5.0]))
    array = np.array([3.0, 4.0], np.float32)
    session.run(queue.enqueue([fed]), {fed: array})
    array[:] = 0
    first = session.run(queue.dequeue())
    second = session.run(queue.dequeue())
    assert first.tolist() == [1.0, 2.0] and second.tolist() == [3.0, 4.0]


def test_padding(session):
    queue = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], shapes=[[None, 2], [None]])
    for rows, words in ((1, 2), (3, 0), (0, 1)):
        session.run(queue.enqueue([np.full([rows, 2], rows), np.array([b"w"] * words, object).reshape(-1)]))
    numbers, words = session.run(queue.dequeue_many(3))
    assert numbers.tolist() == [[[1, 1], [0, 0], [0, 0]], [[3, 3]] * 3, [[0, 0]] * 3]
    assert words.tolist() == [[b"w", b"w"], [b"", b""], [b"w", b""]]
    assert session.run(queue.dequeue_many(0))[0].shape == (0, 0, 2)
    with pytest.raises(ValueError, match="rank"):
        tf.PaddingFIFOQueue(9, tf.int32, shapes=[tf.TensorShape(None)])


def test_priorities(session):
    queue = tf.PriorityQueue(9, tf.string, shapes=[[]])
    session.run(queue.enqueue_many([np.array([3, -1, 3, 2]), ["c", "a", "d", "b"]]))
    session.run(queue.enqueue([np.int64(-5), "first"]))
    priorities, texts = session.run(queue.dequeue_many(5))
    assert priorities.tolist() == [-5, -1, 2, 3, 3] and texts.tolist() == [b"first", b"a", b"b", b"c", b"d"]


def test_shuffling_keeps_min_after_dequeue_until_closed(session):
    queue = tf.RandomShuffleQueue(20, 5, tf.int32, shapes=[[]], seed=1)
    session.run(queue.enqueue_many([np.arange(10, dtype=np.int32)]))
    first = session.run(queue.dequeue_many(5))
    waiting = Waiting(session, queue.dequeue())
    assert waiting.is_waiting()
    session.run(queue.close())
    rest = [waiting.result(), *session.run(queue.dequeue_many(4))]
    assert sorted([*first, *rest]) == list(range(10)) and [*first, *rest] != list(range(10))


def test_seeds_repeat_the_order():
    orders = []
    for seed in (1, 1, 2):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.RandomShuffleQueue(20, 0, tf.int32, shapes=[[]], seed=seed)
            session.run(queue.enqueue_many([np.arange(20, dtype=np.int32)]))
            orders.append(session.run(queue.dequeue_many(20)).tolist())
    assert orders[0] == orders[1] != orders[2]


def test_from_list(session):
    queues = [tf.FIFOQueue(3, tf.int32, shapes=[[i]]) for i in (1, 1, 2)]
    index = tf.placeholder(tf.int32, [])
    queue = tf.QueueBase.from_list(index, queues)
    session.run(queue.enqueue([[7]]), {index: 1})
    assert session.run([q.size() for q in queues]) == [0, 1, 0]
    assert session.run(queue.dequeue(), {index: 1}).tolist() == [7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 handles"):
        session.run(queue.size(), {index: 3})
    with pytest.raises(TypeError):
        tf.QueueBase.from_list(0, [tf.FIFOQueue(3, tf.int32), tf.FIFOQueue(3, tf.float32)])


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_backpressure(session):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    putting = Waiting(session, queue.enqueue_many([[1, 2, 3, 4, 5]]))
    assert putting.is_waiting() and session.run(queue.size()) == 2
    assert session.run(queue.dequeue()) == 1
    until(lambda: session.run(queue.size()) == 2)
    assert putting.is_waiting(0)
    assert session.run(queue.dequeue_many(4)).tolist() == [2, 3, 4, 5]
    putting.result()


def test_dequeue_many_may_exceed_the_capacity(session):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    taking = Waiting(session, queue.dequeue_many(7))
    session.run(queue.enqueue_many([list(range(7))]))
    assert taking.result().tolist() == list(range(7))


def test_blocked_operations_hold_no_thread(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    # One step with many waits; a thread for each would show in the count.
    before = threading.active_count()
    waiting = Waiting(session, [queue.dequeue() for _ in range(200)])
    assert waiting.is_waiting()
    assert threading.active_count() <= before + 3
    session.run(queue.enqueue_many([list(range(200))]))
    assert sorted(waiting.result()) == list(range(200))


def test_many_threads_lose_no_elements(session):
    queue = tf.FIFOQueue(7, [tf.int32, tf.int32], shapes=[[], []])
    value = tf.placeholder(tf.int32, [])
    put, take, take_many = queue.enqueue([value, value * 2]), queue.dequeue(), queue.dequeue_many(5)
    put, take, take_many = (
        session.make_callable(put, [value]),
        session.make_callable(take),
        session.make_callable(take_many),
    )
    taken, lock = [], threading.Lock()

    def producer(start):
        for i in range(start, start + 100):
            put(i)

    def consumer(many):
        for _ in range(20 if many else 100):
            numbers, doubled = take_many() if many else take()
            assert np.array_equal(np.multiply(numbers, 2), doubled)
            with lock:
                taken.extend(np.atleast_1d(numbers).tolist())

    threads = [threading.Thread(target=producer, args=(100 * i,)) for i in range(6)]
    threads += [threading.Thread(target=consumer, args=(i % 2,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(taken) == list(range(600))


def test_order_of_one_producer_is_kept(session):
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    waiting = Waiting(session, queue.enqueue_many([np.arange(100, dtype=np.int32)]))
    assert [session.run(queue.dequeue()) for _ in range(100)] == list(range(100))
    waiting.result()


# -- closing ----------------------------------------------------------------------------------------------------------


def test_a_closed_queue_can_be_drained_but_not_filled(session):
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]], name="letters")
    put = queue.enqueue([1])
    session.run(queue.enqueue_many([[1, 2, 3]]))
    session.run(queue.close())
    assert session.run(queue.is_closed())
    with pytest.raises(tf.errors.CancelledError, match=r"(?s)letters.*closed.*defined at: test_queues.py"):
        session.run(put)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"letters.*requested 4, current size 3"):
        session.run(queue.dequeue_many(4))
    assert session.run(queue.dequeue()) == 1
    assert session.run(queue.dequeue_up_to(5)).tolist() == [2, 3]
    for take in (queue.dequeue(), queue.dequeue_many(1), queue.dequeue_up_to(1)):
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)
    assert session.run(queue.dequeue_many(0)).tolist() == []
    session.run(queue.enqueue_many([np.zeros(0, np.int32)]))
    with pytest.raises(tf.errors.CancelledError, match="already closed"):
        session.run(queue.close())
    session.run(queue.close(cancel_pending_enqueues=True))


def test_closing_fails_pending_dequeues(session):
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    session.run(queue.enqueue_many([[1, 2]]))
    many, one = Waiting(session, queue.dequeue_many(3)), None
    assert many.is_waiting()
    one = Waiting(session, queue.dequeue())
    assert one.is_waiting()  # behind the first, though there are elements
    session.run(queue.close())
    with pytest.raises(tf.errors.OutOfRangeError):
        many.result()
    assert one.result() == 1  # what the first had taken went back, in order


def test_closing_waits_for_pending_enqueues(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    session.run(queue.enqueue(0))
    putting = Waiting(session, queue.enqueue_many([[1, 2]]))
    assert putting.is_waiting()
    closing = Waiting(session, queue.close())
    assert closing.is_waiting() and not session.run(queue.is_closed())
    late = Waiting(session, queue.enqueue(9))
    assert late.is_waiting()
    assert [session.run(queue.dequeue()) for _ in range(3)] == [0, 1, 2]
    putting.result()
    closing.result()
    with pytest.raises(tf.errors.CancelledError):
        late.result()


def test_closing_can_cancel_pending_enqueues(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    session.run(queue.enqueue(0))
    waiting = [Waiting(session, queue.enqueue(i)) for i in range(5)]
    assert all(each.is_waiting() for each in waiting)
    session.run(queue.close(cancel_pending_enqueues=True))
    for each in waiting:
        with pytest.raises(tf.errors.CancelledError):
            each.result()
    assert session.run(queue.dequeue()) == 0


# -- cancelling -------------------------------------------------------------------------------------------------------


def test_a_timeout_names_blocked_nodes_and_leaves_the_queue_usable(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]], name="empty")
    with pytest.raises(tf.errors.DeadlineExceededError, match="empty_Dequeue"):
        session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=100))
    session.run(queue.enqueue(5))
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(queue.enqueue(6), options=tf.RunOptions(timeout_in_ms=100))
    assert session.run(queue.dequeue()) == 5 and session.run(queue.size()) == 0


def test_a_failure_elsewhere_withdraws_the_attempt(session):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[[]])
    index = tf.placeholder(tf.int32, [1])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run([queue.dequeue(), tf.gather([1, 2], index)], {index: [7]})
    session.run(queue.enqueue(5))
    assert session.run(queue.size()) == 1


def test_closing_a_session_wakes_all_waiters():
    session = tf.Session()
    queue, full = tf.FIFOQueue(1, tf.int32), tf.FIFOQueue(1, tf.int32)
    session.run(full.enqueue(1))
    waiting = [Waiting(session, fetch) for fetch in [queue.dequeue()] * 4 + [full.enqueue(2)] * 4]
    assert all(each.is_waiting(0.01) for each in waiting)
    session.close()
    for each in waiting:
        with pytest.raises(tf.errors.CancelledError):
            each.result()


def test_an_interrupt_ends_a_blocked_step(start_child):
    code = (
        "import thalweg as tf\nq = tf.FIFOQueue(1, tf.int32)\ns = tf.Session()\ns.run(q.size())\n"
        "try:\n    print('ready', flush=True); s.run(q.dequeue())\n"
        "except KeyboardInterrupt:\n    s.run(q.enqueue(3)); print(s.run(q.dequeue()))\n"
    )
    process = start_child([sys.executable, "-c", code], forked=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.5)  # by now it most likely waits
    children.interrupt(process)
    assert process.stdout.read().strip() == "3" and process.returncode == 0


# -- sharing ----------------------------------------------------------------------------------------------------------


def test_sessions_share_queues_of_a_container():
    with tf.Graph().as_default() as graph, graph.container("shared queues"):
        queue = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="common")
        first, second = tf.Session(), tf.Session()
        waiting = Waiting(first, queue.dequeue())
        assert waiting.is_waiting()
        second.run(queue.enqueue(4))
        assert waiting.result() == 4
        again = Waiting(second, queue.dequeue())
        assert again.is_waiting()
        first.close()
        assert again.is_waiting()
        tf.Session.reset("", ["shared queues"])
        with pytest.raises(tf.errors.CancelledError):
            again.result()


def test_queues_are_per_session():
    queue = tf.FIFOQueue(3, tf.int32, shared_name="own")
    with tf.Session() as first, tf.Session() as second:
        first.run(queue.enqueue(1))
        assert (first.run(queue.size()), second.run(queue.size())) == (1, 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.FIFOQueue(4, tf.int32, shapes=[[]], shared_name="x"),
        lambda: tf.FIFOQueue(3, tf.float32, shapes=[[]], shared_name="x"),
        lambda: tf.FIFOQueue(3, tf.int32, shapes=[[2]], shared_name="x"),
        lambda: tf.FIFOQueue(3, tf.int32, shared_name="x"),
        lambda: tf.PaddingFIFOQueue(3, tf.int32, shapes=[[]], shared_name="x"),
        lambda: tf.RandomShuffleQueue(3, 1, tf.int32, shapes=[[]], shared_name="x"),
    ],
)
def test_queues_with_one_name_must_match(session, make):
    session.run(tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="x").size())
    with pytest.raises(tf.errors.InvalidArgumentError, match="'x' already exists"):
        session.run(make().size())


# -- bad input --------------------------------------------------------------------------------------------------------


def test_wrong_shapes_and_types_are_rejected_at_graph_construction():
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32], shapes=[[2], []], name="q")
    for vals in ([[1, 2, 3], 1.0], [[[1, 2]], 1.0], [[1, 2]], [[1, 2], 1.0, 1.0]):
        with pytest.raises(ValueError, match="q"):
            queue.enqueue(vals)
    with pytest.raises((TypeError, ValueError)):
        queue.enqueue([[1.5, 2.5], 1.0])
    with pytest.raises(ValueError, match="float64"):
        queue.enqueue([[1, 2], tf.constant(1.0, tf.float64)])
    with pytest.raises(ValueError):
        queue.enqueue_many([[[1, 2]], [1.0, 2.0]])
    with pytest.raises(ValueError):
        queue.enqueue_many([[[1, 2]], 1.0])
    with pytest.raises(ValueError):
        queue.dequeue_many(-1)
    with pytest.raises(ValueError, match="fully defined"):
        tf.FIFOQueue(3, tf.int32, shapes=[[None]])
    with pytest.raises(ValueError, match="2 dtypes"):
        tf.FIFOQueue(3, [tf.int32, tf.int32], shapes=[[1]])


def test_wrong_shapes_are_rejected_in_a_step(session):
    queue = tf.FIFOQueue(3, [tf.int32, tf.int32], shapes=[[2], []], name="q")
    value, many = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 0 .*FIFOQueue 'q'.*\[2\], got \[3\]"):
        session.run(queue.enqueue([value, 1]), {value: [1, 2, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="component 1"):
        session.run(queue.enqueue_many([value, many]), {value: [[1, 2]], many: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        session.run(queue.enqueue_many([value, many]), {value: [[1, 2]], many: 1})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(queue.dequeue_many(value), {value: -1})
    assert session.run(queue.size()) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="without shapes"):
        session.run(tf.FIFOQueue(3, tf.int32).dequeue_many(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue"):
        session.run(tf.RandomShuffleQueue(3, 3, tf.int32).size())


# -- with other operations --------------------------------------------------------------------------------------------


def test_order_by_control_dependencies(session):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[[]])
    with tf.control_dependencies([queue.enqueue_many([[1, 2, 3]])]):
        size = queue.size()
        with tf.control_dependencies([size]):
            taken = queue.dequeue()
            with tf.control_dependencies([taken]):
                left = queue.size()
    assert session.run([size, taken, left]) == [3, 1, 2]


def test_a_queue_operation_of_a_branch_runs_if_the_branch_does(session):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[[]])
    choice = tf.placeholder(tf.bool, [])
    put = tf.cond(choice, lambda: queue.enqueue(1), tf.no_op)
    taken = tf.cond(choice, lambda: queue.dequeue() + 10, lambda: tf.constant(-1))
    session.run(put, {choice: False})
    assert session.run(queue.size()) == 0
    session.run(put.op, {choice: True})  # as a target, whose value is not fetched
    assert session.run(taken, {choice: False}) == -1
    assert session.run(taken, {choice: True}) == 11


def test_gradients_stop_at_queues(session):
    queue = tf.FIFOQueue(9, tf.float32, shapes=[[]])
    x = tf.constant(2.0)
    put = queue.enqueue(x * 3)
    y = queue.dequeue() * x
    session.run(put)
    assert session.run(tf.gradients(y, x)[0]) == 6.0
