"""Recomputed and straight-through gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.training.variables.custom_gradients import grad_pass_through, recompute_grad


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_recompute(graph: Any) -> None:
    def block(x: Any) -> Any:
        w = tf.get_variable("w", [3], initializer=tf.constant_initializer([1.0, 2.0, 3.0]))
        return tf.tanh(x * w)

    x = tf.placeholder(tf.float32, [2, 3])
    with tf.variable_scope("plain"):
        plain = block(x)
    with tf.variable_scope("again"):
        again = recompute_grad(block)(x)
    variables = tf.trainable_variables()
    assert [v.name for v in variables] == ["plain/w:0", "again/w:0"]
    expected = tf.gradients(tf.reduce_sum(plain**2), [x, variables[0]])
    got = tf.gradients(tf.reduce_sum(again**2), [x, variables[1]])
    assert sum(op.type == "Tanh" for op in graph.get_operations()) == 3
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([got, expected], {x: np.ones((2, 3)) * 0.3})
        for a, b in zip(*values):
            np.testing.assert_allclose(a, b, 1e-6)


def test_pass_through() -> None:
    x = tf.constant([0.4, 1.6])
    y = grad_pass_through(tf.round)(x) * 3.0
    with tf.Session() as session:
        assert session.run(y).tolist() == [0.0, 6.0]
        assert session.run(tf.gradients(y, x)[0]).tolist() == [3.0, 3.0]


def test_op_scope() -> None:
    from thalweg._src.graph.scopes import op_scope

    x = tf.constant(1.0)
    with op_scope([x], None, "default") as scope:
        assert scope == "default/" and tf.identity(x).name == "default/Identity:0"
