"""Parallel maps and interleaves: order, calls that wait for each other, errors, ends and positions."""

import itertools
import threading

import pytest

import thalweg as tf
from tests.training.data.running import elements, take
from tests.training.data.test_models import positions
from thalweg._src.runtime.resources.workers import workers
from thalweg._src.training.data import parallel_map

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def unordered(dataset):
    options = tf.data.Options()
    options.experimental_deterministic = False
    return dataset.with_options(options)


def python(function):
    return lambda x: tf.py_func(function, [x], tf.int64)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def gate():
    """An event that calls wait for; it is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def always_on_workers(monkeypatch):
    """Makes no call short enough for the thread of the consumer."""
    monkeypatch.setattr(parallel_map, "_QUICK", 0.0)


def test_calls_may_wait_for_each_other():
    """Also after many elements: calls that are quick because they run in pairs would never end one by one."""
    pair = threading.Barrier(2)

    def both(x):
        pair.wait()
        return x

    assert elements(lambda: Dataset.range(200).map(python(both), num_parallel_calls=2)) == list(range(200))


def test_a_result_does_not_wait_for_later_calls(session, gate):
    def wait(x):
        if x > 5:
            gate.wait()
        return x

    element = Dataset.range(9).map(python(wait), num_parallel_calls=4).make_one_shot_iterator().get_next()
    assert take(session, element, 6) == [0, 1, 2, 3, 4, 5]
    gate.set()
    assert take(session, element) == [6, 7, 8]


def _first_waits(gate):
    """Returns a function whose result for 0 comes when the gate is open."""

    def wait(x):
        if x == 0:
            gate.wait()
        return x

    return python(wait)


UNORDERED = {
    "map": lambda f: unordered(Dataset.range(4).map(f, num_parallel_calls=4)),
    "options of the source": lambda f: unordered(Dataset.range(4)).map(f, num_parallel_calls=4),
    "options before a filter": lambda f: unordered(Dataset.range(4).map(f, num_parallel_calls=4)).filter(
        lambda x: x < 9
    ),
    "nested": lambda f: unordered(Dataset.range(1).flat_map(lambda _: Dataset.range(4).map(f, num_parallel_calls=4))),
    "second of two": lambda f: Dataset.range(0).concatenate(unordered(Dataset.range(4).map(f, num_parallel_calls=4))),
    "zip": lambda f: Dataset.zip((Dataset.range(4), unordered(Dataset.range(4).map(f, 4)))).map(lambda i, x: x),
    "interleave": lambda f: unordered(
        Dataset.range(4).interleave(lambda x: Dataset.from_tensors(x).map(f), 4, num_parallel_calls=4)
    ),
    "parallel_interleave": lambda f: Dataset.range(4).apply(
        experimental.parallel_interleave(lambda x: Dataset.from_tensors(x).map(f), 4, sloppy=True)
    ),
}


@pytest.mark.parametrize("name", UNORDERED)
def test_a_result_that_is_not_ready_is_passed_over(session, gate, name):
    element = UNORDERED[name](_first_waits(gate)).make_one_shot_iterator().get_next()
    first = take(session, element, 3)
    gate.set()
    assert sorted(first) == [1, 2, 3] and take(session, element) == [0]


ORDERED = {
    "batch": lambda f: unordered(Dataset.range(4).map(f, num_parallel_calls=4).batch(2)).map(lambda b: b[0]),
    "options in a function": lambda f: Dataset.range(1).flat_map(lambda _: unordered(Dataset.range(4).map(f, 4))),
}


@pytest.mark.parametrize("name", ORDERED)
def test_where_order_is_kept_without_being_asked_for(name):
    """As TensorFlow does: a map before a batch, and options inside of functions."""
    later_calls = threading.Semaphore(0)

    def wait(x):
        if x:
            later_calls.release()
        else:
            later_calls.acquire()
        return x

    expected = [0, 2] if name == "batch" else [0, 1, 2, 3]
    assert elements(lambda: ORDERED[name](python(wait))) == expected


def test_options_are_those_of_all_inputs():
    dataset = unordered(Dataset.range(3))
    assert dataset.map(lambda x: x).options().experimental_deterministic is False
    assert Dataset.zip((Dataset.range(3), dataset)).options().experimental_deterministic is False
    assert Dataset.range(3).concatenate(dataset).options().experimental_deterministic is False
    opposite = tf.data.Options()
    opposite.experimental_deterministic = True
    with pytest.raises(
        ValueError, match=r"incompatible values \(False and True\) of option: experimental_deterministic"
    ):
        dataset.with_options(opposite)


def failing(count):
    """Returns a dataset whose generator fails after some elements."""

    def generate():
        yield from range(count)
        raise ValueError("the source is broken")

    return Dataset.from_generator(generate, tf.int64, [])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda d: d.map(lambda x: x, num_parallel_calls=4),
        lambda d: d.map(lambda x: x, num_parallel_calls=4).prefetch(3),
        lambda d: d.prefetch(3).map(python(int), num_parallel_calls=2),
        lambda d: d.batch(1).map(lambda x: x[0]),
        lambda d: Dataset.range(1).interleave(lambda _: d, 2, num_parallel_calls=2),
        lambda d: Dataset.range(1).apply(experimental.parallel_interleave(lambda _: d, 2, sloppy=True)),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_an_error_of_the_source_comes_after_the_elements_before_it(session, wrap, count):
    element = wrap(failing(count)).make_one_shot_iterator().get_next()
    assert take(session, element, count) == list(range(count))
    with pytest.raises(tf.errors.InvalidArgumentError, match="the source is broken"):
        session.run(element)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(element)


class Feed:
    """An iterator that ends once and would then wait for ever."""

    def __init__(self, count):
        self._numbers = iter(range(count))
        self._ended = False

    def __iter__(self):
        return self

    def __next__(self):
        assert not self._ended, "an iterator that ended was asked again"
        for number in self._numbers:
            return number
        self._ended = True
        raise StopIteration


@pytest.mark.parametrize(
    "wrap",
    [
        lambda d: d,
        lambda d: d.map(lambda x: x, num_parallel_calls=3),
        lambda d: d.prefetch(2),
        lambda d: d.batch(3).flat_map(Dataset.from_tensor_slices),
        lambda d: d.padded_batch(3, []).flat_map(Dataset.from_tensor_slices),
        lambda d: d.shuffle(1),
        lambda d: d.window(3).flat_map(lambda w: w),
        lambda d: d.filter(lambda x: x < 9),
        lambda d: Dataset.range(1).interleave(lambda _: d, 2, num_parallel_calls=2),
    ],
)
def test_a_source_that_ended_is_not_asked_again(session, wrap):
    element = wrap(Dataset.from_generator(lambda: Feed(4), tf.int64, [])).make_one_shot_iterator().get_next()
    assert take(session, element) == [0, 1, 2, 3]
    for _ in range(3):
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda d: d.take(4),
        lambda d: d.take(4).map(lambda x: x, num_parallel_calls=3),
        lambda d: d.map(python(int), num_parallel_calls=3).take(4),
        lambda d: d.prefetch(3).take(4),
        lambda d: d.take(4).prefetch(1).cache(),
        lambda d: d.take(4).batch(3).flat_map(Dataset.from_tensor_slices),
        lambda d: d.take(4).shuffle(9, seed=1),
        lambda d: Dataset.zip((Dataset.range(4), d)).map(lambda i, x: x),
    ],
)
def test_the_end_of_take_does_not_wait_for_the_source(session, gate, wrap):
    """The generator yields four elements and then waits: nothing may need the fifth."""

    def generate():
        yield from range(4)
        gate.wait()

    element = wrap(Dataset.from_generator(generate, tf.int64, [])).make_one_shot_iterator().get_next()
    assert sorted(take(session, element)) == [0, 1, 2, 3]


def test_a_pass_that_was_repeated_pulls_no_more(session, gate):
    """The generator of the first pass, which is in the middle of an element, is not asked for another one."""
    passes = itertools.count()
    ended = threading.Event()

    def generate():
        first = next(passes) == 0
        yield 0
        if first:
            gate.wait()
        try:
            yield 1
        finally:
            if first:
                ended.set()

    dataset = Dataset.from_generator(generate, tf.int64, []).map(python(int), num_parallel_calls=3).take(1).repeat(2)
    element = dataset.make_one_shot_iterator().get_next()
    assert take(session, element) == [0, 0]
    gate.set()
    assert ended.wait(60)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda d: d.map(python(int), num_parallel_calls=3),
        lambda d: d.prefetch(2),
        lambda d: Dataset.range(1).interleave(lambda _: d, 2, num_parallel_calls=2),
        lambda d: Dataset.range(1).apply(experimental.parallel_interleave(lambda _: d, 2, sloppy=True)),
        lambda d: unordered(d.map(python(int), num_parallel_calls=3)),
    ],
)
def test_close_returns_while_a_worker_waits_for_the_source(gate, wrap):
    entered = threading.Event()

    def generate():
        yield 0
        entered.set()
        gate.wait()
        yield 1

    with tf.Graph().as_default(), tf.Session() as session:
        element = wrap(Dataset.from_generator(generate, tf.int64, [])).make_one_shot_iterator().get_next()
        assert session.run(element) == 0
        assert entered.wait(60)
    gate.set()
    while workers._busy:
        gate.wait(0.01)


def test_positions_while_workers_are_ahead(always_on_workers):
    for calls in (1, 2, 4):
        positions(lambda calls=calls: Dataset.range(12).map(lambda x: x * 2, num_parallel_calls=calls), range(0, 14, 3))
        positions(
            lambda calls=calls: Dataset.range(12).shuffle(5, seed=1).map(lambda x: x, calls).prefetch(2),
            range(0, 14, 3),
        )


def test_positions_of_unordered_pipelines_lose_and_repeat_nothing(always_on_workers):
    def build():
        numbers = Dataset.range(4).interleave(lambda x: Dataset.range(10 * x, 10 * x + 4), 3, num_parallel_calls=3)
        return unordered(numbers.map(lambda x: x, num_parallel_calls=3))

    with tf.Graph().as_default():
        iterator = build().make_initializable_iterator()
        element = iterator.get_next()
        saveable = experimental.make_saveable_from_iterator(iterator)
        saved = tf.placeholder(tf.string, [])
        restore = saveable.restore([saved], None)
        for stop in (0, 5, 11):
            with tf.Session() as session:
                session.run(iterator.initializer)
                before = take(session, element, stop)
                position = session.run(saveable.specs[0].tensor)
            with tf.Session() as session:
                session.run(iterator.initializer)
                session.run(restore, {saved: position})
                assert sorted(before + take(session, element)) == sorted(10 * x + i for x in range(4) for i in range(4))


def test_a_closed_pipeline_ends_a_save_that_waits_for_the_source(gate):
    entered = threading.Event()

    def generate():
        yield 0
        entered.set()
        gate.wait()

    with tf.Graph().as_default(), tf.Session() as session:
        iterator = Dataset.from_generator(generate, tf.int64, []).prefetch(2).make_initializable_iterator()
        state = experimental.make_saveable_from_iterator(iterator).specs[0].tensor
        session.run(iterator.initializer)
        assert session.run(iterator.get_next()) == 0
        assert entered.wait(60)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(state, options=tf.RunOptions(timeout_in_ms=100))
        waiting = workers._busy
    while workers._busy >= waiting:  # the worker that saved; the one inside of the generator stays there
        gate.wait(0.01)
