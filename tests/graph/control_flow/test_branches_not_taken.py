"""Branches and bodies that never run may be invalid for the actual values; shapes must be compatible."""

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


BRANCHES = {
    "reshape": lambda x: tf.reshape(x, [3]),
    "slice": lambda x: tf.slice(x, [3], [5])[:3],
    "index": lambda x: tf.fill([3], x[7]),
    "split": lambda x: tf.concat(tf.split(x, [1, 2]), 0),
}


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES)
def test_invalid_values_in_an_untaken_branch(branch) -> None:
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    taken = tf.placeholder(tf.bool, [])
    y = tf.cond(taken, lambda: branch(x), lambda: x[:3])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y, {taken: False}), [1.0, 2.0, 3.0])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {taken: True})


def test_invalid_values_in_a_loop_without_iterations() -> None:
    end = tf.while_loop(
        lambda i, y: i < 0, lambda i, y: (i + 1, y + tf.reduce_sum(tf.reshape(2.0 * y, [7]))), [0, tf.ones([3])]
    )
    with tf.Session() as session:
        assert session.run(end)[1].tolist() == [1.0, 1.0, 1.0]


def test_shapes_are_checked_in_untaken_branches() -> None:
    with pytest.raises(ValueError, match="inner dimensions"):
        tf.cond(tf.constant(False), lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5])), lambda: tf.zeros([2, 5]))


def test_values_outside_branches_are_checked_immediately() -> None:
    with pytest.raises(ValueError, match="reshape"):
        tf.reshape(tf.zeros([4]), [3])
