"""Gradient accumulation: several small batches must do what one large batch does, for every optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.opt import adam_variants, decoupled
from thalweg._src.compat.contrib.opt.accumulation import AccumulatingOptimizer
from thalweg._src.training.optimizers import optimizers, proximal
from thalweg._src.training.optimizers.mixed_precision import DynamicLossScale, MixedPrecisionLossScaleOptimizer

OPTIMIZERS = {
    "gradient_descent": lambda: optimizers.GradientDescentOptimizer(0.1),
    "momentum": lambda: optimizers.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: optimizers.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: optimizers.AdagradOptimizer(0.1),
    "adadelta": lambda: optimizers.AdadeltaOptimizer(1.0, 0.9, 1e-2),
    "rms_prop": lambda: optimizers.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
    "rms_prop_centered": lambda: optimizers.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3, centered=True),
    "adam": lambda: optimizers.AdamOptimizer(0.1, 0.8, 0.9, 1e-3),
    "ftrl": lambda: optimizers.FtrlOptimizer(0.5, l1_regularization_strength=0.01),
    "proximal_gradient_descent": lambda: proximal.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
    "proximal_adagrad": lambda: proximal.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.02),
    "adagrad_da": lambda: proximal.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "adamw": lambda: decoupled.AdamWOptimizer(0.01, 0.1, 0.8, 0.9, 1e-3),
    "momentumw": lambda: decoupled.MomentumWOptimizer(0.01, 0.1, 0.9),
    "lamb": lambda: decoupled.LAMBOptimizer(0.1, 0.01, 0.8, 0.9, 1e-3),
    "lars": lambda: decoupled.LARSOptimizer(0.1, eeta=0.5),
    "lazy_adam": lambda: adam_variants.LazyAdamOptimizer(0.1, 0.8, 0.9, 1e-3),
    "nadam": lambda: adam_variants.NadamOptimizer(0.1, 0.8, 0.9, 1e-3),
    "ada_max": lambda: adam_variants.AdaMaxOptimizer(0.1, 0.8, 0.9, 1e-3),
    "scaled_adam": lambda: MixedPrecisionLossScaleOptimizer(optimizers.AdamOptimizer(0.1), DynamicLossScale(4, 2)),
}
UPDATES = 4


def train(make: Any, steps: int, parts: int) -> list[Any]:
    """Returns variables, slots and the global step after some updates, each of a batch of 12 in some parts."""
    rng = np.random.default_rng(2)
    with tf.Graph().as_default():
        w = tf.Variable(rng.normal(size=(3, 2)), name="w")
        e = tf.Variable(rng.normal(size=(7, 2)), name="e")
        x, ids = tf.placeholder("float64", [None, 3]), tf.placeholder("int32", [None])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) * tf.nn.embedding_lookup(e, ids) - 1.0))
        count = tf.train.get_or_create_global_step()
        optimizer = make()
        wrapped = AccumulatingOptimizer(optimizer, steps)
        step = wrapped.minimize(loss, global_step=count)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(UPDATES):
                xs, rows = rng.normal(size=(parts, 12 // parts, 3)), rng.integers(0, 6, (parts, 12 // parts))
                for part, row in zip(xs, rows):
                    session.run(step, {x: part, ids: row})
            return session.run([w, e, count, *optimizer.variables()])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_accumulated_small_batches_equal_one_large_batch(name: str) -> None:
    once, in_parts = train(OPTIMIZERS[name], 1, 1), train(OPTIMIZERS[name], 3, 3)
    assert len(once) == len(in_parts)
    for a, b in zip(once, in_parts):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    assert in_parts[2] == UPDATES


def test_variables_change_only_after_the_last_micro_batch() -> None:
    w, e = tf.Variable([1.0, 2.0], name="w"), tf.Variable(np.ones((4, 2), "float32"), name="e")
    rows = tf.placeholder("int64", [None])
    loss = tf.reduce_sum(tf.square(w)) + tf.reduce_sum(tf.gather(e, rows))
    count = tf.train.get_or_create_global_step()
    optimizer = AccumulatingOptimizer(optimizers.MomentumOptimizer(0.5, 0.9), 3)
    step = optimizer.minimize(loss, global_step=count)
    slot = optimizer.get_slot(w, "momentum")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for row in ([0], [0, 1]):
            session.run(step, {rows: row})
            assert [x.tolist() for x in session.run([w, slot, count])] == [[1, 2], [0, 0], 0]
        session.run(step, {rows: [3]})
        np.testing.assert_allclose(session.run(w), [0, 0], atol=1e-6)
        np.testing.assert_allclose(session.run(e)[:, 0], [1 - 1 / 3, 1 - 1 / 6, 1, 1 - 1 / 6], rtol=1e-6)
        assert session.run(count) == 1
        held = {v.op.name: session.run(v) for v in optimizer.variables()}
    assert held["AccumulatingMomentum/count"] == 0
    assert held["w/AccumulatingMomentum"].tolist() == [0, 0]
    assert held["e/AccumulatingMomentum/values"].shape == (0, 2)
    assert held["e/AccumulatingMomentum/indices"].shape == (0,)


def test_names_are_those_of_the_wrapped_optimizer() -> None:
    with tf.name_scope("train"):
        w = tf.Variable([1.0], name="w")
        adam = optimizers.AdamOptimizer()
        step = AccumulatingOptimizer(adam, 2).minimize(tf.square(w))
    assert [v.op.name for v in adam.variables()] == [
        "train/beta1_power",
        "train/beta2_power",
        "train/w/Adam",
        "train/w/Adam_1",
    ]
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [step]
    assert step.name == "train/AccumulatingAdam"


def test_two_losses_are_accumulated_separately() -> None:
    w, v = tf.Variable([1.0], name="w"), tf.Variable([1.0], name="v")
    optimizer = AccumulatingOptimizer(optimizers.GradientDescentOptimizer(0.5), 2)
    first, second = optimizer.minimize(tf.square(w), var_list=[w]), optimizer.minimize(tf.square(v), var_list=[v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in (first, second, first):
            session.run(step)
        assert [x.tolist() for x in session.run([w, v])] == [[0.0], [1.0]]


def test_infinite_gradients_are_skipped_or_propagate() -> None:
    w, x = tf.Variable([1.0]), tf.placeholder("float32", [])
    inner = optimizers.GradientDescentOptimizer(0.5)
    part = MixedPrecisionLossScaleOptimizer(AccumulatingOptimizer(inner, 2), DynamicLossScale(8.0))
    step = part.minimize(w * x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (1.0, np.inf, 3.0):
            session.run(step, {x: value})
        assert session.run(w).tolist() == [0.0]
    with tf.Graph().as_default():
        w, x = tf.Variable([1.0]), tf.placeholder("float32", [])
        scaled = MixedPrecisionLossScaleOptimizer(inner, DynamicLossScale(8.0))
        step = AccumulatingOptimizer(scaled, 2).minimize(w * x)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for value in (1.0, np.inf, 1.0, 3.0):
                session.run(step, {x: value})
            assert session.run(w).tolist() == [0.0]


def test_errors() -> None:
    with pytest.raises(TypeError, match="must be an Optimizer"):
        AccumulatingOptimizer(3, 2)  # type: ignore[arg-type]
    for steps in (0, -1, 1.5):
        with pytest.raises(ValueError, match="steps must be a positive integer"):
            AccumulatingOptimizer(optimizers.GradientDescentOptimizer(0.1), steps)  # type: ignore[arg-type]
    w = tf.Variable([1.0])
    with pytest.raises(ValueError, match="No gradients provided"):
        AccumulatingOptimizer(optimizers.GradientDescentOptimizer(0.1), 2).minimize(tf.constant(1.0), var_list=[w])
