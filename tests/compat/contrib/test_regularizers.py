"""Regularizers: values, names, and the errors of each."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tf
from thalweg._src.compat.contrib.layers.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)


@pytest.fixture(autouse=True)
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_values(session: Any) -> None:
    w = tf.constant([1.0, -2.0, 3.0])
    assert session.run(l1_regularizer(0.5)(w)) == 3.0
    assert session.run(l2_regularizer(0.5)(w)) == 3.5
    assert session.run(l1_l2_regularizer(0.5, 0.5)(w)) == 6.5
    assert session.run(l1_l2_regularizer(0.0, 0.5)(w)) == 3.5
    assert session.run(l1_l2_regularizer(0.5, 0.0)(w)) == 3.0
    summed = sum_regularizer([l1_regularizer(1.0), None, l1_regularizer(0.0)])
    assert summed is not None and session.run(summed(w)) == 6.0
    assert l2_regularizer(0.0)(w) is None and sum_regularizer([None]) is None
    assert l1_regularizer(0.5, scope="mine")(w).name == "mine:0"


def test_with_get_variable(session: Any) -> None:
    tf.get_variable("w", [3], initializer=tf.ones_initializer(), regularizer=l2_regularizer(2.0))
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.name == "w/Regularizer/l2_regularizer:0"
    session.run(tf.global_variables_initializer())
    assert session.run(loss) == 3.0


def test_apply_regularization(session: Any) -> None:
    weights = [tf.constant([1.0]), tf.constant([2.0])]
    assert session.run(apply_regularization(l1_regularizer(1.0), weights)) == 3.0
    with pytest.raises(ValueError, match="No weights"):
        apply_regularization(l1_regularizer(1.0))
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, weights[0])
    assert session.run(apply_regularization(lambda w: None)) == 0.0
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2
    with pytest.raises(ValueError, match="scalar"):
        apply_regularization(lambda w: w)


@pytest.mark.parametrize("regularizer", [l1_regularizer, l2_regularizer])
def test_errors(regularizer: Any) -> None:
    with pytest.raises(ValueError, match="integer"):
        regularizer(1)
    with pytest.raises(ValueError, match="less than 0"):
        regularizer(-0.1)
    with pytest.raises(ValueError, match="scale_l2 cannot be an integer"):
        l1_l2_regularizer(0.1, 1)
