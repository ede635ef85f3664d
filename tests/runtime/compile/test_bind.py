"""Checks of shapes in each step, where the rank of an input is not known statically."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.compile import bind


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_changed_values_are_checked_again(session):
    x, begin = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    part = tf.slice(x, begin, [2])
    value = np.arange(3, dtype=np.float32)
    for start in (0, 1, 1):
        np.testing.assert_array_equal(session.run(part, {x: value, begin: [start]}), value[start : start + 2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(part, {x: value, begin: [2]})


def test_equal_shapes_and_values_are_checked_once(session, monkeypatch):
    checks = []
    check = bind.shape_error
    monkeypatch.setattr(bind, "shape_error", lambda node, values: checks.append(node.type) or check(node, values))
    x, axis = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    total = tf.reduce_sum(x, axis)
    for size, given in ((2, [0]), (2, [0]), (2, [1]), (3, [1])):
        value = np.ones((size, 3), np.float32)
        np.testing.assert_array_equal(session.run(total, {x: value, axis: given}), value.sum(given[0]))
    assert checks == ["Sum"] * 3
