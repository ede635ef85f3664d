"""Compares functions of keras.backend with what the real Keras has answered, in graphs, eagerly and in functions."""

import numpy as np

import thalweg as tf
from tests.keras.backend_cases import called, decoded, read_answers
from tests.keras.backend_names import K
from thalweg._src.graph import nest
from thalweg._src.runtime.eager.mode import eager_mode

MODES = ("graph", "feeds", "eager", "function")


def compare(family, mode):
    """Calls each function of a family with the arguments of its cases, and compares the results with the answers."""
    calls = read_answers()[family]
    for (name, args, kwargs, answers), results in zip(calls, _results(calls, mode), strict=True):
        what = f"{name}{args} {kwargs}"
        assert len(results) == len(answers), what
        for result, answer in zip(results, map(decoded, answers), strict=True):
            same(result, answer, what)


def same(result, answer, what):
    result = np.asarray(result)
    assert result.shape == answer.shape, what
    assert result.dtype == answer.dtype, what
    np.testing.assert_allclose(result, answer, rtol=2e-4, atol=2e-5, err_msg=what)


def _results(calls, mode):
    if mode in ("graph", "feeds"):
        return _graph_results(calls, mode == "feeds")
    with eager_mode():
        return [_eager_results(*call[:3], mode == "function") for call in calls]


def _graph_results(calls, feeds):
    """Returns the results of all calls, which one step computes; with feeds, the number of examples is unknown."""
    feed_dict, results = {}, []
    with tf.Graph().as_default(), tf.Session() as session:
        for name, args, kwargs, _ in calls:
            results.append(_flat(name, args, kwargs, _Feeds(feed_dict) if feeds else tf.constant))
        return session.run(results, feed_dict)


class _Feeds:
    """Makes placeholders for arrays, the first of which is that of the examples."""

    def __init__(self, feed_dict):
        self.feed_dict = feed_dict
        self.count = 0

    def __call__(self, array):
        self.count += 1
        is_batch = self.count == 1 and array.ndim > 1
        placeholder = K.placeholder((None, *array.shape[1:]) if is_batch else array.shape, dtype=array.dtype.name)
        self.feed_dict[placeholder] = array
        return placeholder


def _eager_results(name, args, kwargs, traced):
    if not traced:
        return [each.numpy() if hasattr(each, "numpy") else each for each in _flat(name, args, kwargs, tf.constant)]
    arrays = []
    called(lambda *_, **__: None, args, kwargs, arrays.append)

    @tf.function(autograph=False)  # what is traced is a function of the backend
    def function(*tensors):
        rest = iter(tensors)
        return _flat(name, args, kwargs, lambda _: next(rest))

    return [each.numpy() for each in function(*map(tf.constant, arrays))]


def _flat(name, args, kwargs, as_tensor):
    return nest.flatten(called(getattr(K, name), args, kwargs, as_tensor))
