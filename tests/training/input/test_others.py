"""Other blocking resources: accumulators, barriers, staging areas, critical sections."""

import threading
import time

import numpy as np
import pytest

import thalweg as tf
from tests.training.input.waiting import Waiting, error_of
from thalweg._src.compat.contrib.staging import MapStagingArea
from thalweg._src.training.input.barrier import Barrier


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


# -- accumulators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reduction", "expected"), [("MEAN", [2.0, 3.0]), ("SUM", [4.0, 6.0])])
def test_gradients_are_taken_when_enough_have_arrived(session, reduction, expected):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2], reduction_type=reduction)
    taking = Waiting(session, accumulator.take_grad(2))
    session.run(accumulator.apply_grad([1.0, 2.0]))
    assert taking.is_waiting() and session.run(accumulator.num_accumulated()) == 1
    session.run(accumulator.apply_grad([3.0, 4.0]))
    assert taking.result().tolist() == expected
    assert session.run(accumulator.num_accumulated()) == 0


def test_stale_gradients_are_dropped(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[])
    session.run(accumulator.apply_grad(1.0, local_step=0))
    assert session.run(accumulator.take_grad(1)) == 1.0  # the step goes on to 1
    session.run(accumulator.apply_grad(5.0, local_step=0))
    assert session.run(accumulator.num_accumulated()) == 0
    session.run(accumulator.set_global_step(7))
    for step in (6, 7, 8):
        session.run(accumulator.apply_grad(float(step), local_step=step))
    assert session.run(accumulator.take_grad(1)) == 7.5


def test_an_accumulator_does_not_alias_its_gradient(session):
    variable = tf.Variable([1.0])
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[1])
    session.run(variable.initializer)
    for _ in range(3):
        session.run(accumulator.apply_grad(variable))
        session.run(variable.assign_add([1.0]))
    assert session.run(accumulator.take_grad(3)).tolist() == [2.0]


def test_accumulators_reject_invalid_gradients(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2], name="sum")
    value, number = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    with pytest.raises(ValueError, match="sum"):
        accumulator.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'sum'.*\[2\], got \[3\]"):
        session.run(accumulator.apply_grad(value), {value: [1, 2, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="positive"):
        session.run(accumulator.take_grad(number), {number: 0})
    with pytest.raises(ValueError, match="reduction_type"):
        tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")
    loose = tf.ConditionalAccumulator(tf.float32)
    session.run(loose.apply_grad([1.0]))
    assert error_of(session, loose.apply_grad([1.0, 2.0])) is tf.errors.InvalidArgumentError


def test_sparse_gradients(session):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 2])
    session.run(accumulator.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]]))
    session.run(
        accumulator.apply_indexed_slices_grad(
            tf.IndexedSlices(tf.constant([[1.0, 2.0], [5.0, 6.0]]), tf.constant([2, 3]), tf.constant([5, 2]))
        )
    )
    assert session.run(accumulator.num_accumulated()) == 2
    taken = session.run(accumulator.take_indexed_slices_grad(2))
    assert taken.indices.tolist() == [0, 2, 3] and taken.dense_shape.tolist() == [5, 2]
    assert taken.values.tolist() == [[1, 2], [2, 3], [5, 6]]  # a row's mean is over the gradients that have it
    for bad in (([0, 2], [[1.0, 2.0]] * 3, None), ([0], [[1.0, 2.0, 3.0]], None), ([0], [[1.0, 2.0]], [6, 2])):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            session.run(accumulator.apply_grad(*bad, local_step=9))


def test_many_threads_apply_and_one_takes(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[], reduction_type="SUM")
    apply = session.make_callable(accumulator.apply_grad(1.0, local_step=10**6))
    threads = [threading.Thread(target=lambda: [apply() for _ in range(25)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    take, total = accumulator.take_grad(3), 0.0
    while total < 198:  # what is left then may be too few to be taken
        total += session.run(take)
    for thread in threads:
        thread.join()
    total += session.run(accumulator.num_accumulated())
    assert total == 200


# -- barriers ---------------------------------------------------------------------------------------------------------


def test_elements_of_a_barrier_are_taken_when_complete(session):
    barrier = Barrier((tf.float32, tf.string), shapes=((), ()))
    taking = Waiting(session, barrier.take_many(2))
    session.run(barrier.insert_many(0, ["a", "b", "c"], [1.0, 2.0, 3.0]))
    session.run(barrier.insert_many(1, ["c"], ["x"]))
    assert taking.is_waiting()
    session.run(barrier.insert_many(1, ["a"], ["y"]))
    indices, keys, values = taking.result()
    assert keys.tolist() == [b"c", b"a"] and [v.tolist() for v in values] == [[3.0, 1.0], [b"x", b"y"]]
    assert indices.tolist() == [-(2**63)] * 2
    assert session.run([barrier.ready_size(), barrier.incomplete_size()]) == [0, 1]


def test_closing_a_barrier(session):
    barrier = Barrier((tf.float32, tf.float32), shapes=((), ()), name="bar")
    session.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="component 0"):
        session.run(barrier.insert_many(0, ["a"], [5.0]))
    session.run(barrier.close())
    with pytest.raises(tf.errors.CancelledError, match="bar"):
        session.run(barrier.insert_many(0, ["new"], [5.0]))
    taking = Waiting(session, barrier.take_many(2))
    assert taking.is_waiting()
    session.run(barrier.insert_many(1, ["b", "a"], [3.0, 4.0]))
    assert [v.tolist() for v in taking.result().values] == [[2.0, 1.0], [3.0, 4.0]]
    assert error_of(session, barrier.take_many(1)) is tf.errors.OutOfRangeError
    assert error_of(session, barrier.close()) is tf.errors.CancelledError
    assert error_of(session, barrier.close(cancel_pending_enqueues=True)) is None


def test_closing_a_barrier_cancels_waiters(session):
    barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
    session.run(barrier.insert_many(0, ["a"], [1.0]))
    taking = Waiting(session, barrier.take_many(1))
    assert taking.is_waiting()
    session.run(barrier.close(cancel_pending_enqueues=True))
    with pytest.raises(tf.errors.OutOfRangeError):
        taking.result()
    assert error_of(session, barrier.insert_many(1, ["a"], [1.0])) is tf.errors.CancelledError


# -- staging ----------------------------------------------------------------------------------------------------------


def test_values_are_staged_for_the_next_step(session):
    area = tf.contrib.staging.StagingArea([tf.float32, tf.string], shapes=[[2], []])
    x = tf.placeholder(tf.float32, [2])
    put, get = area.put([x, "a"]), area.get()
    assert get[0].shape.as_list() == [2]
    session.run(put, {x: [1, 2]})
    for i in range(3):
        staged, _ = session.run([get, put], {x: [i, i]})
        assert staged[0].tolist() == ([1, 2] if i == 0 else [i - 1] * 2)
    assert session.run(area.size()) == 1 and session.run(area.peek(0))[0].tolist() == [2, 2]
    session.run(area.clear())
    assert session.run(area.size()) == 0


def test_a_full_staging_area_blocks(session):
    area = tf.contrib.staging.StagingArea([tf.float32], capacity=1, memory_limit=100)
    session.run(area.put([1.0]))
    putting = Waiting(session, area.put([2.0]))
    assert putting.is_waiting()
    assert session.run(area.get()) == [1.0]
    putting.result()
    seeing = Waiting(session, area.peek(0))
    assert seeing.result() == [2.0]
    with pytest.raises(tf.errors.ResourceExhaustedError):
        session.run(area.put([np.zeros(1000, np.float32)]))


def test_values_by_key(session):
    area = MapStagingArea([tf.float32, tf.int32], names=["x", "n"], ordered=True)
    key = tf.placeholder(tf.int64, [])
    session.run(area.put(key, {"x": 1.5}), {key: 9})
    taking = Waiting(session, area.get(key)[1], {key: 9})
    assert taking.is_waiting() and session.run(area.incomplete_size()) == 1
    session.run(area.put(key, {"n": 3}), {key: 9})
    assert taking.result() == {"x": 1.5, "n": 3}
    for number in (7, 2, 5):
        session.run(area.put(key, {"x": 0.0, "n": number}), {key: number})
    assert session.run(area.peek(key, ["n"]), {key: 7}) == {"n": 7}
    assert [session.run(area.get())[0] for _ in range(3)] == [2, 5, 7]
    session.run(area.put(key, {"x": 0.0, "n": 1}), {key: 1})
    assert session.run(area.get(key, ["n"])[1], {key: 1}) == {"n": 1}
    assert error_of(session, area.get(key, ["n"])[1], {key: 1}) is tf.errors.InvalidArgumentError
    assert session.run(area.get(key, ["x"])[1], {key: 1}) == {"x": 0.0}
    assert session.run(area.size()) == 0


# -- critical sections ------------------------------------------------------------------------------------------------


def test_one_step_at_a_time_runs_a_critical_section(session):
    variable = tf.get_variable("v", initializer=0)
    inside, most = [], []

    def slow(value):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.002)
        inside.pop()
        return np.int32(value + 1)

    def increment():
        return variable.assign(tf.ensure_shape(tf.py_func(slow, [variable.read_value()], tf.int32), []))

    section = tf.CriticalSection(name="section")
    result = section.execute(increment)
    session.run(variable.initializer)
    threads = [threading.Thread(target=lambda: [session.run(result) for _ in range(10)]) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(variable) == 50 and max(most) == 1


def test_a_section_is_released_after_failures_and_cancellation(session):
    section = tf.CriticalSection()
    index = tf.placeholder(tf.int32, [1])
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    fails = section.execute(lambda: tf.gather([1, 2], index), exclusive_resource_access=False)
    waits = section.execute(queue.dequeue, exclusive_resource_access=False)
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(fails, {index: [9]})
    assert error_of(session, waits, milliseconds=100) is tf.errors.DeadlineExceededError
    assert session.run(fails, {index: [1]}).tolist() == [2]


def test_waiters_for_a_section_can_be_cancelled(session):
    section, queue = tf.CriticalSection(), tf.FIFOQueue(1, tf.int32, shapes=[[]])
    holding = Waiting(session, section.execute(queue.dequeue, exclusive_resource_access=False))
    assert holding.is_waiting()
    other = section.execute(lambda: tf.constant(5), exclusive_resource_access=False)
    assert error_of(session, other, milliseconds=100) is tf.errors.DeadlineExceededError
    session.run(queue.enqueue(3))
    assert holding.result() == 3 and session.run(other) == 5


def test_a_section_returns_structures_and_operations(session):
    variable = tf.get_variable("v", initializer=1.0)
    section = tf.CriticalSection()
    result = section.execute(lambda: {"a": variable + 1, "b": [tf.no_op()]})
    session.run(variable.initializer)
    assert session.run(result["a"]) == 2.0


def test_sections_that_would_deadlock_are_rejected():
    section, variable = tf.CriticalSection(), tf.get_variable("v", initializer=1.0)
    with pytest.raises(ValueError, match="deadlock"):
        section.execute(lambda: section.execute(lambda: tf.constant(1)))
    section.execute(variable.read_value)
    with pytest.raises(ValueError, match="exclusive_resource_access"):
        tf.CriticalSection().execute(variable.read_value)


def test_closing_a_session_wakes_waiters():
    session = tf.Session()
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[])
    area = tf.contrib.staging.StagingArea([tf.float32])
    barrier = Barrier([tf.float32], shapes=[()])
    waiting = [Waiting(session, f) for f in (accumulator.take_grad(1), area.get(), barrier.take_many(1).keys)]
    assert all(each.is_waiting() for each in waiting)
    session.close()
    for each in waiting:
        with pytest.raises(tf.errors.CancelledError):
            each.result()
