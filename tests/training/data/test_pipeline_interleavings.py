"""Pipelines under seeded schedules: no element is lost or doubled, and all threads end."""

import contextlib
import time

import numpy as np
import pytest

import thalweg as tf
from tests.interleavings.explore import explore
from tests.interleavings.threads import nothing_is_left, run_all
from thalweg._src.runtime.resources import iterators
from thalweg._src.training.data import buffers, function, interleave, parallel_map

Dataset = tf.data.Dataset
COUNT = 6
SLOW = 0.01  # seconds of virtual time; a worker then calls the function
MODULES = [buffers, function, interleave, iterators, parallel_map]


def slowly(value):
    """Returns a value some time later, which differs between values."""

    def wait(number):
        time.sleep(SLOW * (1 + number % 3))
        return number

    return tf.reshape(tf.py_func(wait, [value], tf.int64), [])


def failing(value):
    with tf.control_dependencies([tf.debugging.assert_less(value % 3, np.int64(2), message="of three")]):
        return tf.identity(value)


def unordered(dataset):
    options = tf.data.Options()
    options.experimental_deterministic = False
    return dataset.with_options(options)


def numbers():
    return Dataset.range(COUNT)


def pairs(build=lambda pair: pair):
    """Returns a function from a number to a dataset of it and itself, built further."""
    return lambda number: build(Dataset.from_tensors(number).repeat(2))


def in_turn(dataset, **options):
    return dataset.apply(tf.data.experimental.parallel_interleave(pairs(), cycle_length=2, **options))


PIPELINES = {
    "map": lambda: numbers().map(slowly, num_parallel_calls=2),
    "quick map": lambda: numbers().map(lambda x: x + 0, num_parallel_calls=2),
    "unordered map": lambda: unordered(numbers().map(slowly, num_parallel_calls=3)),
    "prefetch": lambda: numbers().map(slowly).prefetch(2),
    "map and prefetch": lambda: numbers().map(slowly, num_parallel_calls=2).prefetch(1),
    "two maps": lambda: numbers().map(slowly, num_parallel_calls=2).map(slowly, num_parallel_calls=2),
    "repeat": lambda: numbers().take(3).map(slowly, num_parallel_calls=2).repeat(2),
    "shuffle": lambda: numbers().map(slowly, num_parallel_calls=2).shuffle(3, seed=1).prefetch(1),
    "batch": lambda: numbers().map(slowly, num_parallel_calls=2).batch(2).prefetch(1),
    "map and batch": lambda: numbers().apply(tf.data.experimental.map_and_batch(slowly, 2, num_parallel_calls=2)),
    "interleave": lambda: numbers().interleave(pairs(), 2, num_parallel_calls=2),
    "interleave of maps": lambda: numbers().interleave(
        pairs(lambda pair: pair.map(slowly, num_parallel_calls=2)), 2, num_parallel_calls=2
    ),
    "unordered interleave": lambda: unordered(numbers().interleave(pairs(), 2, num_parallel_calls=2)),
    "sloppy interleave": lambda: in_turn(numbers().map(slowly), sloppy=True),
    "parallel interleave": lambda: in_turn(numbers(), buffer_output_elements=2, prefetch_input_elements=1),
    "generator": lambda: Dataset.from_generator(lambda: iter(range(COUNT)), tf.int64, []).prefetch(2),
}
UNORDERED = {"unordered map", "unordered interleave", "sloppy interleave"}


class Pipeline:
    """An iterator of a pipeline in a graph of its own; one for all schedules."""

    def __init__(self, build):
        self.graph = tf.Graph()
        with self.graph.as_default():
            iterator = build().make_initializable_iterator()
            self.start, self.next = iterator.initializer, iterator.get_next()
        with self.session() as session:
            session.run(self.start)
            self.elements = self.take(session)

    def session(self):
        return tf.Session(graph=self.graph)

    def take(self, session, allowed=(), options=None):
        """Returns the elements that steps of one thread take until the end, or the first error that is allowed."""
        found = []
        with contextlib.suppress(tf.errors.OutOfRangeError, *allowed):
            while True:
                found += np.ravel(session.run(self.next, options=options)).tolist()
        return found


def joined(lists):
    return [element for elements in lists for element in elements]


def is_part(some, elements):
    """Returns whether all of some elements come in the order of others."""
    rest = iter(elements)
    return all(element in rest for element in some)


MADE = {}


def made(name):
    if name not in MADE:
        MADE[name] = Pipeline(PIPELINES[name])
    return MADE[name]


@pytest.mark.parametrize("name", PIPELINES)
def test_consumers_share_the_elements(name):
    pipeline = made(name)

    def body():
        found = []
        with pipeline.session() as session:
            session.run(pipeline.start)
            run_all(*[lambda: found.append(pipeline.take(session)) for _ in range(2)])
            assert sorted(joined(found)) == sorted(pipeline.elements)
            assert name in UNORDERED or all(is_part(own, pipeline.elements) for own in found)
        nothing_is_left()

    explore(body, 40)
    explore(body, 8, lines=MODULES)


@pytest.mark.parametrize("name", PIPELINES)
def test_one_consumer_sees_the_elements_in_order(name):
    pipeline = made(name)

    def body():
        with pipeline.session() as session:
            session.run(pipeline.start)
            found = pipeline.take(session)
            ordered = sorted if name in UNORDERED else list
            assert ordered(found) == ordered(pipeline.elements)
        nothing_is_left()

    explore(body, 40)


CLOSED = (tf.errors.CancelledError, tf.errors.FailedPreconditionError, RuntimeError)


@pytest.mark.parametrize("name", PIPELINES)
def test_consumers_and_workers_end_with_the_session(name):
    pipeline = made(name)

    def body():
        session = pipeline.session()
        session.run(pipeline.start)
        found = []
        run_all(
            lambda: found.append(pipeline.take(session, CLOSED)),
            lambda: found.append(pipeline.take(session, CLOSED)),
            lambda: (time.sleep(0.015), session.close()),
        )
        elements = joined(found)
        assert len(found) == 2 and not set(elements) - set(pipeline.elements)
        assert len(elements) <= len(pipeline.elements)
        nothing_is_left()

    explore(body, 40, early=True)
    explore(body, 8, lines=MODULES)


@pytest.mark.parametrize("name", PIPELINES)
def test_steps_that_time_out_leave_their_elements_to_others(name):
    """An iterator keeps an element whose step has ended; only results on their way to a step may be lost."""
    pipeline = made(name)
    late = (tf.errors.DeadlineExceededError,)

    def body(draw):
        options = tf.RunOptions(timeout_in_ms=draw.choice([1, 10, 25]))
        with pipeline.session() as session:
            session.run(pipeline.start)
            found = []
            run_all(
                lambda: found.append(pipeline.take(session, late, options)),
                lambda: found.append(pipeline.take(session)),
            )
            elements = sorted(joined(found))
            assert len(elements) <= len(pipeline.elements)
            rest = list(pipeline.elements)
            for element in elements:
                rest.remove(element)
            assert len(rest) <= 2
        nothing_is_left()

    explore(body, 40, early=True)
    explore(body, 8, early=True, lines=MODULES)


@pytest.mark.parametrize("name", PIPELINES)
def test_an_iterator_starts_again_while_steps_take_elements(name):
    pipeline = made(name)

    def body():
        with pipeline.session() as session:
            session.run(pipeline.start)
            run_all(
                lambda: pipeline.take(session, CLOSED),
                lambda: (time.sleep(0.015), session.run(pipeline.start)),
            )
            pipeline.take(session)
            session.run(pipeline.start)
            assert sorted(pipeline.take(session)) == sorted(pipeline.elements)
        nothing_is_left()

    explore(body, 40)
    explore(body, 8, lines=MODULES)


def test_calls_that_wait_for_a_queue_end_when_their_iterator_starts_again():
    graph = tf.Graph()
    with graph.as_default():
        queue = tf.FIFOQueue(COUNT, tf.int64, [])
        iterator = numbers().map(lambda _: queue.dequeue(), num_parallel_calls=2).make_initializable_iterator()
        put, element = queue.enqueue_many([np.arange(COUNT)]), iterator.get_next()

    def body():
        with tf.Session(graph=graph) as session:
            session.run(iterator.initializer)
            with contextlib.suppress(tf.errors.DeadlineExceededError):
                session.run(element, options=tf.RunOptions(timeout_in_ms=1))
            session.run(iterator.initializer)
            session.run(put)
            assert sorted(session.run(element) for _ in range(COUNT)) == list(range(COUNT))
        nothing_is_left()

    explore(body, 150, early=True)
