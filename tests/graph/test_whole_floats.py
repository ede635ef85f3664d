"""Whole floats, as `width / 2` gives them, where TensorFlow 1 takes integers."""

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("two", [4 / 2, np.float32(2), np.float64(2)])
def test_attributes(two) -> None:
    image = tf.zeros([1, 8, 8, 3])
    assert tf.nn.max_pool(image, [1, two, two, 1], [1, two, two, 1], "SAME").shape.as_list() == [1, 4, 4, 3]
    assert tf.nn.conv2d(image, tf.zeros([3, 3, 3, 5]), [1, two, two, 1], "SAME").shape.as_list() == [1, 4, 4, 5]
    assert len(tf.unstack(tf.zeros([2, 3]), num=two)) == 2


@pytest.mark.parametrize("two", [4 / 2, np.float32(2), np.float64(2)])
def test_shapes(two) -> None:
    for tensor in (
        tf.placeholder(tf.float32, [two, 3]),
        tf.get_variable("v", [two, 3]),
        tf.zeros([two, 3]),
        tf.ones([two, 3], tf.int32),
        tf.constant(0.1, shape=[two, 3]),
    ):
        sizes = tensor.shape.as_list()
        assert sizes == [2, 3]
        assert all(type(size) is int for size in sizes)


def test_layers() -> None:
    assert tf.layers.dense(tf.zeros([2, 3]), 10 / 2).shape.as_list() == [2, 5]
    assert tf.nn.rnn_cell.GRUCell(4).zero_state(6 / 2, tf.float32).shape.as_list() == [3, 4]


def test_other_floats_are_rejected() -> None:
    image = tf.zeros([1, 8, 8, 3])
    with pytest.raises(TypeError, match=r"2\.5"):
        tf.nn.max_pool(image, [1, 2.5, 2, 1], [1, 2, 2, 1], "SAME")
    for size in (2.5, float("nan"), float("inf")):
        with pytest.raises(TypeError):
            tf.placeholder(tf.float32, [size])
    with pytest.raises(TypeError):
        tf.reshape(tf.zeros([4]), [-1, 4 / 2])  # a list of values, whose type is float
