"""Vectorized maps give the same results as maps of single elements, and fail where those fail."""

import numpy as np
import pytest

import thalweg as tf
from tests.training.data.running import elements, take
from tests.training.data.test_models import positions
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.vectorize import vectorized

Dataset = tf.data.Dataset
TEXTS = np.array([bytes(range(i, i + 8)) for i in range(11)], dtype=object)
NUMBERS = np.random.RandomState(1).randn(11, 2, 3).astype(np.float32)
SCALARS = np.arange(11)


def _example(i):
    feature = {"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i + 1]))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


FUNCTIONS = {
    "decode": (TEXTS, lambda s: tf.decode_raw(s, tf.uint8)),
    "decode, reshape, scale": (
        TEXTS,
        lambda s: tf.cast(tf.reshape(tf.decode_raw(s, tf.uint8), [2, 4]), tf.float32) / 255.0 - 0.5,
    ),
    "elementwise": (NUMBERS, lambda x: tf.nn.relu(tf.exp(-x) + tf.tanh(x) * 2)),
    "two operands": (NUMBERS, lambda x: x * x + tf.abs(x)),
    "scalars": (SCALARS, lambda x: (x + 1, tf.cast(x, tf.float32) / 3)),
    "vector beside": (NUMBERS, lambda x: x + tf.constant([1.0, 2.0, 3.0])),
    "transpose": (NUMBERS, lambda x: tf.transpose(x)),
    "expand": (NUMBERS, lambda x: (tf.expand_dims(x, 0), tf.expand_dims(x, -1), tf.expand_dims(x, 1))),
    "example": (
        np.array([_example(i) for i in range(11)], dtype=object),
        lambda s: tf.parse_single_example(s, {"x": tf.FixedLenFeature([2], tf.int64)}),
    ),
    "strings": (SCALARS, lambda x: tf.as_string(x)),
    "dictionary": ({"a": SCALARS, "b": NUMBERS}, lambda e: {"c": e["b"] * 2, "d": e["a"] - 1}),
}
APART = {
    "random": (NUMBERS, lambda x: x + tf.random_uniform([3], seed=1)),
    "larger operand": (SCALARS, lambda x: x + np.arange(4)),
    "constant": (SCALARS, lambda x: 3),
    "no rule": (NUMBERS, lambda x: tf.reduce_sum(x)),
    "branch": (SCALARS, lambda x: tf.cond(x > 3, lambda: x, lambda: -x)),
    "unknown size": (NUMBERS, lambda x: tf.reshape(x, tf.py_func(lambda: np.array([3, -1]), [], tf.int64))),
    "sparse": (SCALARS, lambda x: tf.SparseTensor([[x]], [x], [11])),
    "python": (SCALARS, lambda x: tf.py_func(lambda v: v, [x], tf.int64)),
}


def _source(data):
    return Dataset.from_tensor_slices(data)


def _each(data, function):
    """Returns batches of elements that were mapped one by one: what is cached is not put off."""
    return _source(data).map(function).cache().batch(4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectorized_map_equals_map(name):
    data, function = FUNCTIONS[name]
    with tf.Graph().as_default():
        assert vectorized(Function(function, _source(data)._structure, "test")) is not None
    expected = elements(lambda: _each(data, function))
    assert elements(lambda: _source(data).map(function).batch(4)) == expected
    assert elements(lambda: _source(data).map(function, num_parallel_calls=2).repeat(1).batch(4)) == expected
    positions(lambda: _source(data).map(function).shuffle(5, seed=3).repeat(2).batch(4, True), [0, 2, 3])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_static_shapes_are_those_of_the_function(name):
    data, function = FUNCTIONS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = _source(data).map(function).batch(4, drop_remainder=True)
        iterator = dataset.make_initializable_iterator()
        session.run(iterator.initializer)
        tensors = tf.contrib.framework.nest.flatten(iterator.get_next())
        for tensor, value in zip(tensors, session.run(tensors)):
            assert tensor.shape.is_compatible_with(value.shape)


@pytest.mark.parametrize("name", APART)
def test_functions_that_are_not_vectorized(name):
    data, function = APART[name]
    with tf.Graph().as_default():
        assert vectorized(Function(function, _source(data)._structure, "test")) is None


def test_captured_values():
    def build(factor):
        return _source(NUMBERS).map(lambda x: x * factor).batch(4)

    with tf.Graph().as_default(), tf.Session() as session:
        factor = tf.placeholder(tf.float32, [])
        iterator = build(factor).make_initializable_iterator()
        session.run(iterator.initializer, {factor: 2.0})
        np.testing.assert_allclose(session.run(iterator.get_next()), NUMBERS[:4] * 2)


def test_several_maps_with_a_shuffle_in_between():
    def build(hold):
        dataset = _source(TEXTS).map(lambda s: tf.decode_raw(s, tf.uint8))
        dataset = hold(dataset).shuffle(4, seed=1).map(lambda x: tf.cast(x, tf.int32) * 2).skip(1)
        return hold(dataset).repeat(2).map(lambda x: x + 1).batch(3)

    assert elements(lambda: build(lambda d: d)) == elements(lambda: build(lambda d: d.filter(lambda x: True)))


def test_elements_of_different_sizes_fail_as_without_vectorization():
    data = np.array([b"ab", b"abc", b"ab", b"ab"], dtype=object)
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = _source(data).map(lambda s: tf.decode_raw(s, tf.uint8)).batch(2)
        iterator = dataset.make_initializable_iterator()
        session.run(iterator.initializer)
        element = iterator.get_next()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot batch tensors with different shapes"):
            session.run(element)
        assert take(session, element) == [[[97, 98], [97, 98]]]


def test_one_bad_element_is_named():
    data = np.array([b"abcd", b"abc"], dtype=object)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"DecodeRaw has length 3"):
        elements(lambda: _source(data).map(lambda s: tf.decode_raw(s, tf.int32)).batch(2))
