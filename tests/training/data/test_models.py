"""Random pipelines against plain Python models of each transformation, with their positions saved on the way."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import thalweg as tf
from tests.training.data.running import elements, plain, take

Dataset = tf.data.Dataset


def _chunks(items, size, drop=False):
    items = list(items)
    parts = [items[i : i + size] for i in range(0, len(items), size)]
    return [part for part in parts if len(part) == size or not drop]


def _interleaved(items, cycle, block):
    """Returns what interleave gives: item x stands for the numbers 100 x, 100 x + 1 ... as many as x % 4."""
    source = iter(items)
    slots = [None] * cycle
    result, at, ended = [], 0, False
    while True:
        if slots[at] is None:
            item = next(source, None)
            if item is None:
                ended = True
                if all(slot is None for slot in slots):
                    return result
                at = (at + 1) % cycle
                continue
            slots[at] = iter(range(100 * item, 100 * item + item % 4))
        for _ in range(block):
            found = next(slots[at], None)
            if found is None:
                slots[at] = None
                break
            result.append(found)
        at = (at + 1) % cycle
        if ended and all(slot is None for slot in slots):
            return result


def _windows(items, size, shift, stride, drop):
    result = []
    for start in range(0, len(items), shift):
        window = items[start : start + (size - 1) * stride + 1 : stride]
        if len(window) == size or not drop:
            result.append(window)
    return [number for window in result for number in window]


def _expand(x):
    return Dataset.range(100 * x, 100 * x + x % 4)


def _grouped(items, size):
    groups, result = {}, []
    for item in items:
        groups.setdefault(item % 3, []).append(item)
        if len(groups[item % 3]) == size:
            result += groups.pop(item % 3)
    for key in sorted(groups):
        result += groups[key]
    return result


# Each step: its name with numbers, what it does to a dataset of int64 scalars, and to a list of ints.
def _step(name, a, b, c):
    experimental = tf.data.experimental
    steps = {
        "map": (lambda d: d.map(lambda x: x * a + b), lambda m: [x * a + b for x in m]),
        "parallel map": (lambda d: d.map(lambda x: x + a, num_parallel_calls=b), lambda m: [x + a for x in m]),
        "filter": (lambda d: d.filter(lambda x: x % a < b), lambda m: [x for x in m if x % a < b]),
        "take": (lambda d: d.take(a * b), lambda m: m[: a * b]),
        "skip": (lambda d: d.skip(a), lambda m: m[a:]),
        "repeat": (lambda d: d.repeat(a), lambda m: m * a),
        "shard": (lambda d: d.shard(a + 1, a), lambda m: m[a :: a + 1]),
        "batch": (lambda d: d.batch(a).unbatch(), lambda m: m),
        "batch, drop": (
            lambda d: d.batch(a, drop_remainder=True).unbatch(),
            lambda m: [x for part in _chunks(m, a, True) for x in part],
        ),
        "flat_map": (lambda d: d.flat_map(_expand), lambda m: [100 * x + i for x in m for i in range(x % 4)]),
        "interleave": (lambda d: d.interleave(_expand, a, b), lambda m: _interleaved(m, a, b)),
        "parallel interleave": (
            lambda d: d.interleave(_expand, a, b, num_parallel_calls=c),
            lambda m: _interleaved(m, a, b),
        ),
        "prefetch": (lambda d: d.prefetch(a), lambda m: m),
        "cache": (lambda d: d.cache(), lambda m: m),
        "cache, repeat": (lambda d: d.cache().repeat(2), lambda m: m * 2),
        "concatenate": (lambda d: d.concatenate(Dataset.range(a, a + b)), lambda m: m + list(range(a, a + b))),
        "zip": (
            lambda d: Dataset.zip((d, Dataset.range(a * 3))).map(lambda x, y: x + y),
            lambda m: [x + y for x, y in zip(m, range(a * 3))],
        ),
        "enumerate": (
            lambda d: d.enumerate().map(lambda i, x: i + x),
            lambda m: [i + x for i, x in enumerate(m)],
        ),
        "window": (
            lambda d: d.window(a, b, c).flat_map(lambda w: w),
            lambda m: _windows(m, a, b, c, False),
        ),
        "window, drop": (
            lambda d: d.window(a, b, c, drop_remainder=True).flat_map(lambda w: w),
            lambda m: _windows(m, a, b, c, True),
        ),
        "scan": (
            lambda d: d.apply(experimental.scan(np.int64(a), lambda s, x: (s + x, s))),
            lambda m: list(itertools.accumulate(m, initial=a))[:-1],
        ),
        "group_by_window": (
            lambda d: d.apply(experimental.group_by_window(lambda x: x % 3, lambda k, w: w, a)),
            lambda m: _grouped(m, a),
        ),
        "unique": (lambda d: d.apply(experimental.unique()), lambda m: list(dict.fromkeys(m))),
        "take_while": (
            lambda d: d.apply(experimental.take_while(lambda x: x % 7 < a + 2)),
            lambda m: list(itertools.takewhile(lambda x: x % 7 < a + 2, m)),
        ),
        "map_and_batch": (
            lambda d: d.apply(experimental.map_and_batch(lambda x: -x, a, num_parallel_calls=b)).unbatch(),
            lambda m: [-x for x in m],
        ),
        "choose": (
            lambda d: experimental.choose_from_datasets([d, Dataset.range(a)], Dataset.range(40).map(lambda x: x % 2)),
            lambda m: [x for pair in itertools.zip_longest(m[:20], range(a)) for x in pair if x is not None],
        ),
        "reduce": (
            lambda d: Dataset.from_tensors(d.reduce(np.int64(a), lambda s, x: s + x)),
            lambda m: [a + sum(m)],
        ),
        "generator": (lambda d: d.concatenate(_generated(a)), lambda m: m + list(range(a))),
    }
    return steps[name]


NAMES = [
    *("map", "parallel map", "filter", "take", "skip", "repeat", "shard", "batch", "batch, drop", "flat_map"),
    *("interleave", "parallel interleave", "prefetch", "cache", "cache, repeat", "concatenate", "zip", "enumerate"),
    *("window", "window, drop", "scan", "group_by_window", "unique", "take_while", "map_and_batch", "choose"),
    *("reduce", "generator"),
]


def _generated(count):
    return Dataset.from_generator(lambda: iter(range(count)), tf.int64, [])


small = st.integers(1, 3)
steps = st.lists(st.tuples(st.sampled_from(NAMES), small, small, small), min_size=1, max_size=4)
quick = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def _build(source, chosen):
    dataset = Dataset.range(source)
    for step in chosen:
        dataset = _step(*step)[0](dataset)
    return dataset


def _model(source, chosen):
    items = list(range(source))
    for step in chosen:
        items = _step(*step)[1](items)
    return items


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("numbers", [(1, 1, 1), (2, 3, 1), (3, 2, 2)])
def test_each_transformation_matches_its_model(name, numbers):
    chosen = [(name, *numbers)]
    assert elements(lambda: _build(9, chosen)) == _model(9, chosen)


@quick
@given(st.integers(0, 9), steps)
def test_pipelines_match_their_models(source, chosen):
    assert elements(lambda: _build(source, chosen), most=400) == _model(source, chosen)[:400]


def positions(build, stops):
    """Asserts that a pass that is saved and restored goes on exactly, at each of the stops."""
    with tf.Graph().as_default():
        iterator = build().make_initializable_iterator()
        element = iterator.get_next()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        state = saveable.specs[0].tensor
        saved = tf.placeholder(tf.string, [])
        restore = saveable.restore([saved], None)
        for stop in stops:
            with tf.Session() as session:
                session.run(iterator.initializer)
                before = take(session, element, stop)
                position = session.run(state)
                expected = take(session, element, 60)
            with tf.Session() as session:
                session.run(iterator.initializer)
                take(session, element, 2)
                session.run(restore, {saved: position})
                assert take(session, element, 60) == expected, (stop, before)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "reduce"])
def test_each_transformation_resumes_from_a_saved_position(name):
    positions(lambda: _build(9, [(name, 2, 3, 2)]), range(0, 12, 2))


@quick
@given(st.integers(0, 9), steps, st.integers(0, 12))
def test_pipelines_resume_from_a_saved_position(source, chosen, stop):
    positions(lambda: _build(source, chosen), [stop])


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("size", [1, 3, 9, 50])
def test_shuffle_resumes_from_a_saved_position(again, size):
    positions(lambda: Dataset.range(9).shuffle(size, reshuffle_each_iteration=again).repeat(3), range(0, 27, 4))


@quick
@given(st.integers(0, 30), st.integers(1, 12), st.integers(0, 5), st.integers(1, 3))
def test_shuffle_is_a_permutation(count, size, seed, epochs):
    found = elements(lambda: Dataset.range(count).shuffle(size, seed=seed).repeat(epochs))
    for part in _chunks(found, count) if count else []:
        assert sorted(part) == list(range(count))
        # An element cannot come before the buffer has reached it.
        assert all(position > number - size for position, number in enumerate(part))
    assert len(found) == count * epochs


def test_shuffle_is_determined_by_seeds():
    def build(**options):
        return lambda: Dataset.range(30).shuffle(10, **options).repeat(2)

    first = elements(build(seed=1))
    assert first == elements(build(seed=1)) != elements(build(seed=2))
    assert first[:30] != first[30:]
    same = elements(build(seed=1, reshuffle_each_iteration=False))
    assert same[:30] == same[30:]
    assert elements(build()) != elements(build())  # no seed: another order each time


def test_random_numbers_continue_across_chunks():
    positions(lambda: tf.data.experimental.RandomDataset(3).skip(1000), [0, 23, 24, 25])


def test_samples_have_the_given_weights():
    def build():
        sources = [Dataset.from_tensors(i).repeat() for i in range(3)]
        return tf.data.experimental.sample_from_datasets(sources, [0.5, 0.0, 0.5], seed=1).take(400)

    found = elements(build)
    assert found == elements(build)
    assert found.count(1) == 0 and 150 < found.count(0) < 250
    positions(build, [7])


def test_elements_of_strings_and_sparse_tensors_are_saved():
    def build():
        pairs = Dataset.from_tensor_slices((["a", "bc", "", "d"], np.arange(4.0)))
        sparse = pairs.map(lambda s, x: (s, tf.SparseTensor([[0]], [x], [3])))
        return sparse.shuffle(3, seed=1).prefetch(2)

    with tf.Graph().as_default(), tf.Session() as session:
        iterator = build().make_initializable_iterator()
        element = iterator.get_next()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        session.run(iterator.initializer)
        session.run(element)
        position = session.run(saveable.specs[0].tensor)
        restore = saveable.restore([tf.constant(position)], None)
        rest = [session.run(element) for _ in range(3)]
        session.run(restore)
        again = [session.run(element) for _ in range(3)]
        assert [plain(tuple(map(plain, e))) for e in again] == [plain(tuple(map(plain, e))) for e in rest]


def test_each_iterator_draws_its_own_seeds():
    """As in TensorFlow: one that is used in two places gives one order in both, and so do two iterators."""
    expected = [4, 3, 2, 1, 0, 3, 4, 1, 2, 0, 3, 1, 0, 4, 2]
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(5).shuffle(5, seed=3)
        iterators = [dataset.repeat(3).make_initializable_iterator() for _ in range(2)]
        session.run([iterator.initializer for iterator in iterators])
        assert take(session, iterators[0].get_next()) == take(session, iterators[1].get_next()) == expected
        captured = Dataset.range(3).flat_map(lambda x: dataset).make_initializable_iterator()
        session.run(captured.initializer)
        assert take(session, captured.get_next()) == expected
        both = Dataset.zip((dataset, dataset)).make_initializable_iterator()
        session.run(both.initializer)
        assert take(session, both.get_next()) == [(x, x) for x in expected[:5]]
        twice = dataset.concatenate(dataset).make_initializable_iterator()
        session.run(twice.initializer)
        assert take(session, twice.get_next()) == expected[:5] * 2


def test_unreshuffled_order_is_shared_by_iterators():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(20).shuffle(20, reshuffle_each_iteration=False)
        parts = [dataset.take(9).make_initializable_iterator(), dataset.skip(9).make_initializable_iterator()]
        session.run([part.initializer for part in parts])
        assert sorted(take(session, parts[0].get_next()) + take(session, parts[1].get_next())) == list(range(20))
        both = Dataset.zip((dataset, dataset)).repeat(2).make_initializable_iterator()
        session.run(both.initializer)
        found = take(session, both.get_next())
        assert found[:20] == found[20:] and all(a == b for a, b in found)
