"""Live sources: each element comes only after the result before it was consumed, and the first results come first."""

import contextlib
import itertools
import threading
from typing import Any, NamedTuple

import pytest

import thalweg as tf
from tests.training.data.running import elements, plain

Dataset = tf.data.Dataset
experimental = tf.data.experimental
RESULTS = 9  # that are taken


class Credits:
    """Sources that yield 0, 1, 2 ... and wait for a credit before each element."""

    def __init__(self, count):
        self._semaphore = threading.Semaphore(count)

    def add(self, count):
        for _ in range(count):
            self._semaphore.release()

    def source(self):
        return Dataset.from_generator(self._numbers, tf.int64, [])

    def _numbers(self):
        for number in itertools.count():
            self._semaphore.acquire()
            yield number


def lengths(source):
    return source.map(lambda x: tf.fill([x % 3], x))


def as_it_is(x):
    value = tf.py_func(lambda v: v, [x], tf.int64)
    value.set_shape([])
    return value


def unordered(dataset):
    options = tf.data.Options()
    options.experimental_deterministic = False
    return dataset.with_options(options)


def parallel_map_of(function=lambda x: x + 1, calls=4):
    return lambda s: s().map(function, num_parallel_calls=calls)


def interleave_of(*sizes, count=1, **options):
    """Returns a pipeline whose live source is the input of interleave."""
    return lambda s: s().interleave(lambda x: Dataset.from_tensors(x).repeat(count), *sizes, **options)


def interleave_in(*sizes, **options):
    """Returns a pipeline whose live source is one of the datasets that are interleaved."""
    return lambda s: Dataset.range(1).interleave(lambda x: s(), *sizes, **options)


def apply(transform, *args, **options):
    """Returns a pipeline of a live source and one transformation."""
    return lambda s: s().apply(transform(*args, **options))


def parallel_interleave(*sizes, **options):
    return apply(experimental.parallel_interleave, Dataset.from_tensors, *sizes, **options)


def grouped(size):
    return experimental.group_by_window(lambda x: x % 1, lambda key, window: window.batch(2), size)


class Case(NamedTuple):
    """A pipeline, and how many elements of its live sources it needs.

    first: elements for the first result
    further: elements for each further result
    tensorflow: elements that TensorFlow 1.15.5 needs for the first result, if these are more
    """

    build: Any
    first: int = 1
    further: float = 1
    tensorflow: Any = None


PIPELINES = {
    "source": Case(lambda s: s()),
    "map": Case(lambda s: s().map(lambda x: x + 1)),
    "parallel map": Case(parallel_map_of()),
    "parallel map, Python": Case(parallel_map_of(as_it_is)),
    "parallel map, AUTOTUNE": Case(parallel_map_of(calls=experimental.AUTOTUNE)),
    "parallel map twice": Case(lambda s: parallel_map_of()(lambda: parallel_map_of()(s))),
    "parallel map, prefetch": Case(lambda s: parallel_map_of()(s).prefetch(2)),
    "parallel map, take": Case(lambda s: parallel_map_of()(s).take(5), tensorflow=4),
    "take, parallel map": Case(lambda s: s().take(5).map(lambda x: x + 1, num_parallel_calls=4)),
    "prefetch 1": Case(lambda s: s().prefetch(1)),
    "prefetch 3": Case(lambda s: s().prefetch(3)),
    "prefetch, AUTOTUNE": Case(lambda s: s().prefetch(experimental.AUTOTUNE)),
    "batch": Case(lambda s: s().batch(3), 3, 3),
    "batch, drop": Case(lambda s: s().batch(3, drop_remainder=True), 3, 3),
    "map, batch": Case(lambda s: s().map(lambda x: x + 1).batch(3), 3, 3),
    "parallel map, batch": Case(lambda s: parallel_map_of()(s).batch(3), 3, 3),
    "parallel map in Python, batch": Case(lambda s: parallel_map_of(as_it_is)(s).batch(3), 3, 3),
    "map_and_batch": Case(apply(experimental.map_and_batch, lambda x: x + 1, 3), 3, 3),
    "map_and_batch, calls": Case(apply(experimental.map_and_batch, as_it_is, 3, num_parallel_calls=4), 3, 3),
    "map_and_batch, batches": Case(apply(experimental.map_and_batch, as_it_is, 3, num_parallel_batches=2), 3, 3),
    "padded_batch": Case(lambda s: lengths(s()).padded_batch(3, [None]), 3, 3),
    "padded_batch, drop": Case(lambda s: lengths(s()).padded_batch(3, [None], drop_remainder=True), 3, 3),
    "dense_to_sparse_batch": Case(
        lambda s: lengths(s()).apply(experimental.dense_to_sparse_batch(2, [3])).map(tf.sparse.to_dense), 2, 2
    ),
    "shuffle": Case(lambda s: s().shuffle(3, seed=1), 3),
    "shuffle, batch": Case(lambda s: s().shuffle(3, seed=1).batch(2), 4, 2),
    "shuffle, map, batch": Case(lambda s: s().shuffle(3, seed=1).map(lambda x: x + 1).batch(2), 4, 2),
    "shuffle_and_repeat": Case(apply(experimental.shuffle_and_repeat, 3, 2, seed=1), 3),
    "flat_map": Case(lambda s: s().flat_map(Dataset.from_tensors)),
    "flat_map to sources": Case(lambda s: Dataset.range(3).flat_map(lambda x: s().take(2))),
    "interleave": Case(interleave_of(3, 1)),
    "interleave, some of each": Case(interleave_of(3, 1, count=3), 3),
    "interleave, blocks": Case(interleave_of(3, 2, count=3), 2),
    "interleave of a source": Case(interleave_in(3, 1)),
    "parallel interleave": Case(interleave_of(3, 1, num_parallel_calls=3), tensorflow=9),
    "parallel interleave, one call": Case(interleave_of(1, 1, num_parallel_calls=1), tensorflow=3),
    "parallel interleave, some of each": Case(interleave_of(3, 1, count=3, num_parallel_calls=3), 3, tensorflow=9),
    "parallel interleave of a source": Case(interleave_in(3, 2, num_parallel_calls=3)),
    "parallel_interleave": Case(parallel_interleave(3), tensorflow=9),
    "zip": Case(lambda s: Dataset.zip((s(), Dataset.range(100)))),
    "zip of two": Case(lambda s: Dataset.zip((s(), s())), 2, 2),
    "enumerate": Case(apply(experimental.enumerate_dataset)),
    "concatenate to": Case(lambda s: s().take(3).concatenate(Dataset.range(3))),
    "concatenate": Case(lambda s: Dataset.range(2).concatenate(s())),
    "group_by_window": Case(lambda s: s().apply(grouped(2)), 2, 2),
    "bucket_by_sequence_length": Case(apply(experimental.bucket_by_sequence_length, lambda x: 1, [5], [2, 2]), 2, 2),
    "filter": Case(lambda s: s().filter(lambda x: tf.equal(x % 2, 1)), 2, 2),
    "take": Case(lambda s: s().take(4)),
    "take, batch": Case(lambda s: s().take(4).batch(2), 2, 2),
    "batch, take": Case(lambda s: s().batch(2).take(2), 2, 2),
    "skip": Case(lambda s: s().skip(2), 3),
    "take, repeat": Case(lambda s: s().take(2).repeat(3)),
    "repeat, take": Case(lambda s: s().repeat().take(5)),
    "shard": Case(lambda s: s().shard(2, 1), 2, 2),
    "cache": Case(lambda s: s().cache()),
    "cache, repeat": Case(lambda s: s().take(3).cache().repeat(2)),
    "unbatch": Case(lambda s: s().map(lambda x: tf.fill([2], x)).apply(experimental.unbatch()), 1, 0.5),
    "window": Case(lambda s: s().window(2, 3).flat_map(lambda w: w.batch(2)), 2, 3, tensorflow=3),
    "window, overlapping": Case(lambda s: s().window(3, 1).flat_map(lambda w: w.batch(3)), 3),
    "scan": Case(lambda s: s().apply(experimental.scan(tf.constant(0, tf.int64), lambda t, x: (t + x, t + x)))),
    "take_while": Case(apply(experimental.take_while, lambda x: x < 4), 5),
    "unique": Case(apply(experimental.unique)),
    "ignore_errors": Case(lambda s: parallel_map_of()(s).apply(experimental.ignore_errors())),
    "choose_from_datasets": Case(
        lambda s: experimental.choose_from_datasets([Dataset.range(20), Dataset.range(20)], s().map(lambda x: x % 2))
    ),
    "sample_from_datasets": Case(lambda s: experimental.sample_from_datasets([s(), Dataset.range(9)], [1.0, 0.0])),
    "rejection_resample": Case(
        apply(experimental.rejection_resample, lambda x: tf.constant(0), [1.0], [1.0], seed=1), tensorflow=10
    ),
    "copy_to_device": Case(apply(experimental.copy_to_device, "/cpu:0")),
    "prefetch_to_device": Case(apply(experimental.prefetch_to_device, "/cpu:0")),
}
UNORDERED = {
    "parallel map, unordered": Case(lambda s: unordered(parallel_map_of()(s))),
    "parallel interleave, unordered": Case(
        lambda s: unordered(interleave_of(3, num_parallel_calls=3)(s)), tensorflow=9
    ),
    "parallel interleave of a source, unordered": Case(
        lambda s: unordered(interleave_in(3, 2, num_parallel_calls=3)(s))
    ),
    "parallel_interleave, sloppy": Case(parallel_interleave(3, sloppy=True), tensorflow=9),
    "parallel_interleave of a source, sloppy": Case(
        lambda s: Dataset.range(2).apply(experimental.parallel_interleave(lambda x: s().take(x * 9), 3, 2, sloppy=True))
    ),
}


def lock_step(build, first, further, results=RESULTS):
    """Returns the results of a pipeline whose sources get further elements only when a result was consumed."""
    credits = Credits(first)
    taken: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = build(credits.source).make_initializable_iterator()
        element = iterator.get_next()
        session.run(iterator.initializer)
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while len(taken) < results:
                taken.append(plain(session.run(element)))
                credits.add(int(further * len(taken)) - int(further * (len(taken) - 1)))
        credits.add(100)  # ends what still waits for elements
    return taken


@pytest.mark.parametrize("ahead", [0, 3])
@pytest.mark.parametrize("name", PIPELINES)
def test_results_come_without_later_elements(name, ahead):
    case = PIPELINES[name]
    expected = elements(lambda: case.build(lambda: Dataset.range(100)), most=RESULTS)
    assert lock_step(case.build, case.first + ahead, case.further) == expected


@pytest.mark.parametrize("name", UNORDERED)
def test_unordered_results_come_without_later_elements(name):
    case = UNORDERED[name]
    taken = lock_step(case.build, case.first, case.further)
    assert taken == list(range(taken[0], taken[0] + RESULTS))
