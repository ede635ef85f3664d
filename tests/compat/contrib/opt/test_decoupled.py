"""Weight decay apart from the gradient, layer-wise rates, signs and relatives of Adam, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.opt import adam_variants, decoupled as decoupled, sign
from thalweg._src.training.optimizers import optimizers

STEPS = 5
INDICES = [np.array([3, 0, 3], "int32"), np.array([1, 1, 0], "int32")]


class Dense:
    """What NumPy makes of a dense variable: the gradients are the rows of the whole variable."""

    def __init__(self, value: Any) -> None:
        self.w = value.astype("float64")
        self.m, self.v = np.zeros_like(self.w), np.zeros_like(self.w)


def train(make: Callable[[], Any], dtype: str = "float64") -> tuple[Any, Any]:
    """Returns a dense and an embedding variable after some steps with given gradients."""
    rng = np.random.default_rng(3)
    w = tf.Variable(rng.normal(size=(2, 3)).astype(dtype), name="w")
    e = tf.Variable(rng.normal(size=(4, 2)).astype(dtype), name="e")
    dense, values = tf.placeholder(dtype, [2, 3]), tf.placeholder(dtype, [3, 2])
    indices = tf.placeholder("int32", [3])
    step = make().apply_gradients([(dense, w), (tf.IndexedSlices(values, indices, tf.constant([4, 2])), e)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(STEPS):
            feeds = {dense: rng.normal(size=(2, 3)), values: rng.normal(size=(3, 2)), indices: INDICES[i % 2]}
            session.run(step, feeds)
        return session.run((w, e))


def reference(dense_rule: Callable[..., None], sparse_rule: Callable[..., None]) -> tuple[Any, Any]:
    """Returns the same by two rules: `rule(state, gradient, step, rows)`, whose gradient has distinct rows."""
    rng = np.random.default_rng(3)
    w, e = Dense(rng.normal(size=(2, 3))), Dense(rng.normal(size=(4, 2)))
    for i in range(STEPS):
        dense_rule(w, rng.normal(size=(2, 3)), i + 1, slice(None))
        values, indices = rng.normal(size=(3, 2)), INDICES[i % 2]
        rows, places = np.unique(indices, return_inverse=True)
        grad = np.zeros((len(rows), 2))
        np.add.at(grad, places, values)
        sparse_rule(e, grad, i + 1, rows)
    return w.w, e.w


def check(make: Callable[[], Any], dense_rule: Callable[..., None], sparse_rule: Callable[..., None] | None) -> None:
    expected = reference(dense_rule, sparse_rule or dense_rule)
    for found, value in zip(train(make), expected):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)  # rates are float32, as in TensorFlow
    with tf.Graph().as_default():
        for found, value in zip(train(make, "float32"), expected):
            np.testing.assert_allclose(found, value, rtol=2e-3, atol=1e-5)


def lazy_adam(s: Dense, grad: Any, t: int, rows: Any, *, decay: float = 0.0, nesterov: bool = False) -> None:
    s.w[rows] -= decay * s.w[rows]
    s.m[rows] = 0.8 * s.m[rows] + 0.2 * grad
    s.v[rows] = 0.9 * s.v[rows] + 0.1 * grad**2
    mean = 0.8 * s.m[rows] + 0.2 * grad if nesterov else s.m[rows]
    rate = 0.1 * np.sqrt(1 - 0.9**t) / (1 - 0.8**t)
    s.w[rows] -= rate * mean / (np.sqrt(s.v[rows]) + 1e-3)


def adam_of_all_rows(s: Dense, grad: Any, t: int, rows: Any, *, decay: float = 0.0, nesterov: bool = False) -> None:
    s.w[rows] -= decay * s.w[rows]
    full = np.zeros_like(s.w)
    full[rows] = grad
    if not nesterov:
        lazy_adam(s, full, t, slice(None))
        return
    s.m, s.v = 0.8 * s.m + 0.2 * full, 0.9 * s.v + 0.1 * full**2
    rate = 0.1 * np.sqrt(1 - 0.9**t) / (1 - 0.8**t)
    s.w[rows] -= rate * (0.8 * s.m[rows] + 0.2 * grad) / (np.sqrt(s.v[rows]) + 1e-3)


def test_adamw() -> None:
    def rule(*args: Any) -> None:
        adam_of_all_rows(*args, decay=0.05)

    check(lambda: decoupled.AdamWOptimizer(0.05, 0.1, 0.8, 0.9, 1e-3), rule, rule)


def test_lazy_adam() -> None:
    check(lambda: adam_variants.LazyAdamOptimizer(0.1, 0.8, 0.9, 1e-3), lazy_adam, lazy_adam)


def test_nadam() -> None:
    def dense(*args: Any) -> None:
        lazy_adam(*args, nesterov=True)

    def sparse(*args: Any) -> None:
        adam_of_all_rows(*args, nesterov=True)

    check(lambda: adam_variants.NadamOptimizer(0.1, 0.8, 0.9, 1e-3), dense, sparse)


def test_ada_max() -> None:
    def rule(s: Dense, grad: Any, t: int, rows: Any) -> None:
        s.m[rows] = 0.8 * s.m[rows] + 0.2 * grad
        s.v[rows] = np.maximum(0.9 * s.v[rows], np.abs(grad))
        s.w[rows] -= 0.1 / (1 - 0.8**t) * s.m[rows] / (s.v[rows] + 1e-3)

    check(lambda: adam_variants.AdaMaxOptimizer(0.1, 0.8, 0.9, 1e-3), rule, rule)


def test_momentumw() -> None:
    def rule(s: Dense, grad: Any, t: int, rows: Any) -> None:
        s.w[rows] -= 0.05 * s.w[rows]
        s.m[rows] = 0.9 * s.m[rows] + grad
        s.w[rows] -= 0.1 * s.m[rows]

    check(lambda: decoupled.MomentumWOptimizer(0.05, 0.1, 0.9), rule, rule)


def test_an_optimizer_extended_with_weight_decay() -> None:
    def rule(s: Dense, grad: Any, t: int, rows: Any) -> None:
        s.w[rows] -= 0.05 * s.w[rows]
        s.w[rows] -= 0.1 * grad

    extended = decoupled.extend_with_decoupled_weight_decay(optimizers.GradientDescentOptimizer)
    check(lambda: extended(weight_decay=0.05, learning_rate=0.1), rule, rule)
    assert issubclass(extended, optimizers.GradientDescentOptimizer)
    assert issubclass(extended, decoupled.DecoupledWeightDecayExtension)


@pytest.mark.parametrize("adapted", [True, False])
def test_lamb(adapted: bool) -> None:
    def rule(s: Dense, grad: Any, t: int, rows: Any) -> None:
        full = np.zeros_like(s.w)
        full[rows] = grad
        s.m, s.v = 0.8 * s.m + 0.2 * full, 0.9 * s.v + 0.1 * full**2
        step = s.m / (1 - 0.8**t) / (np.sqrt(s.v / (1 - 0.9**t)) + 1e-3) + 0.05 * s.w
        ratio = np.linalg.norm(s.w) / np.linalg.norm(step) if adapted else 1
        s.w -= 0.1 * ratio * step

    excluded = None if adapted else ["^w$", "^e$"]
    check(
        lambda: decoupled.LAMBOptimizer(0.1, 0.05, 0.8, 0.9, 1e-3, exclude_from_layer_adaptation=excluded), rule, rule
    )


def test_lamb_without_decay_of_some_variables() -> None:
    w, bias = tf.Variable([3.0, 4.0], name="w"), tf.Variable([0.0, 0.0], name="bias")
    optimizer = decoupled.LAMBOptimizer(0.1, 0.5, exclude_from_weight_decay=["bias"])
    step = optimizer.apply_gradients([(tf.constant([0.0, 0.0]), w), (tf.constant([1.0, -1.0]), bias)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        a, b = session.run([w, bias])
    np.testing.assert_allclose(a, [2.7, 3.6], rtol=1e-5)  # a tenth of its own length, along itself
    np.testing.assert_allclose(b, [-0.1, 0.1], rtol=1e-4)  # Adam's first step


def test_lars() -> None:
    def rule(s: Dense, grad: Any, t: int, rows: Any) -> None:
        size, slope = np.linalg.norm(s.w), np.linalg.norm(grad)
        rate = 0.1 * 0.5 * size / (slope + 0.01 * size)
        s.m = 0.9 * s.m + grad + 0.01 * s.w
        s.w -= rate * s.m

    def sparse(s: Dense, grad: Any, t: int, rows: Any) -> None:
        s.m[rows] = 0.9 * s.m[rows] + grad
        s.w[rows] -= 0.1 * s.m[rows]

    check(lambda: decoupled.LARSOptimizer(0.1, 0.9, 0.01, 0.5), rule, sparse)


def test_lars_skips_variables_by_name() -> None:
    w = tf.Variable([3.0, 4.0], name="norm/gamma")
    step = decoupled.LARSOptimizer(0.1, skip_list=["gamma"]).apply_gradients([(tf.constant([1.0, 1.0]), w)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(w), [2.9, 3.9], rtol=1e-6)
    with pytest.raises(ValueError, match="momentum should be positive"):
        decoupled.LARSOptimizer(0.1, momentum=-1.0)


def test_only_listed_variables_decay() -> None:
    w, bias = tf.Variable([1.0], name="w"), tf.Variable([1.0], name="bias")
    step = tf.train.get_or_create_global_step()
    optimizer = decoupled.AdamWOptimizer(0.5, 0.0)
    update = optimizer.minimize(w * bias, global_step=step, decay_var_list=[w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert [x.tolist() for x in session.run([w, bias, step])] == [[0.5], [1.0], 1]


def test_the_decay_may_be_a_tensor_and_change() -> None:
    w = tf.Variable([8.0])
    decay = tf.placeholder("float32", [])
    update = decoupled.MomentumWOptimizer(lambda: decay, 0.0, 0.9).minimize(tf.square(w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update, {decay: 0.5})
        session.run(update, {decay: 0.25})
        assert session.run(w).tolist() == [3.0]


def test_gradients_are_those_before_the_decay() -> None:
    w = tf.Variable([2.0])
    extended = decoupled.extend_with_decoupled_weight_decay(optimizers.GradientDescentOptimizer)
    update = extended(0.5, 0.25).minimize(tf.square(w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(w).tolist() == [0.0]  # 2 - 0.5 * 2 - 0.25 * 4


def test_names_of_ada_max_variables() -> None:
    w = tf.Variable([1.0], name="w")
    optimizer = adam_variants.AdaMaxOptimizer()
    optimizer.minimize(tf.square(w))
    assert [v.op.name for v in optimizer.variables()] == ["beta1_power", "w/AdaMax", "w/AdaMax_1"]


@pytest.mark.parametrize("powers", [True, False])
def test_steps_by_sign(powers: bool) -> None:
    def rule(s: Dense, grad: Any, t: int, rows: Any) -> None:
        s.m = 0.8 * s.m
        s.m[rows] += 0.2 * grad
        agreement = 0.5 * np.sign(grad) * np.sign(s.m[rows])
        s.w[rows] -= 0.1 * grad * (3.0**agreement if powers else 1.5 + agreement)

    def make() -> Any:
        if powers:
            return sign.PowerSignOptimizer(0.1, 3.0, 0.8, lambda step: 0.5)
        return sign.AddSignOptimizer(0.1, 1.5, 0.8, lambda step: 0.5)

    check(make, rule, rule)


def test_the_decay_of_signs_follows_the_global_step() -> None:
    w, step = tf.Variable([10.0]), tf.train.get_or_create_global_step()
    optimizer = sign.AddSignOptimizer(1.0, sign_decay_fn=lambda s: 1.0 / tf.cast(s + 1, tf.float32))
    update = optimizer.apply_gradients([(tf.constant([1.0]), w)], global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        session.run(update)
        np.testing.assert_allclose(session.run(w), [10 - 2 - 1.5], rtol=1e-6)
