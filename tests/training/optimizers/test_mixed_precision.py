"""Mixed precision: loss scales step by step, skipped steps, and float32 variables behind half-precision layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.training.optimizers import optimizers
from thalweg._src.training.optimizers.mixed_precision import (
    DynamicLossScale,
    FixedLossScale,
    LossScale,
    MixedPrecisionLossScaleOptimizer,
    disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite,
    mixed_precision_getter,
)


def test_fixed_loss_scale() -> None:
    scale = FixedLossScale(8)
    with tf.Session() as session:
        assert session.run(scale()) == 8
    assert scale.update([])[1] is True
    assert FixedLossScale.from_config(scale.get_config()).get_config() == {"loss_scale_value": 8.0}
    assert repr(scale) == "FixedLossScale(8.0)"
    with pytest.raises(ValueError, match="1 or more"):
        FixedLossScale(0.5)
    with pytest.raises(ValueError, match="a Python number"):
        FixedLossScale("8")  # type: ignore[arg-type]


def test_dynamic_loss_scale() -> None:
    scale = DynamicLossScale(initial_loss_scale=4, increment_period=2, multiplier=2)
    dense, rows = tf.placeholder("float32", [2]), tf.placeholder("float16", [1, 2])
    update, may_apply = scale.update([dense, None, tf.IndexedSlices(rows, tf.constant([0]))])
    good, bad, worse = [1.0, 2.0], [1.0, np.inf], [np.nan, 0.0]
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, row in (
            (good, good),
            (good, good),
            (bad, good),
            (good, good),
            (good, worse),
            (bad, bad),
            (bad, good),
        ):
            _, applied = session.run([update, may_apply], {dense: value, rows: [row]})
            found.append((bool(applied), float(session.run(scale()))))
    assert found == [(True, 4), (True, 8), (False, 4), (True, 4), (False, 2), (False, 1), (False, 1)]
    assert scale.get_config() == {"initial_loss_scale": 4.0, "increment_period": 2, "multiplier": 2.0}
    assert DynamicLossScale().initial_loss_scale == 2**15


def test_a_dynamic_scale_stays_finite() -> None:
    scale = DynamicLossScale(initial_loss_scale=3e38, increment_period=1)
    update, _ = scale.update([tf.constant(1.0)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(scale()) == np.float32(3e38)


@pytest.mark.parametrize("scale", [16, 16.0, "dynamic", FixedLossScale(4)])
def test_scaled_losses_give_true_gradients(scale: Any) -> None:
    w, e = tf.Variable([1.0, 2.0]), tf.Variable(np.ones((3, 2), "float32"))
    loss = tf.reduce_sum(tf.square(w)) + tf.reduce_sum(3.0 * tf.gather(e, [1, 1]))
    optimizer = MixedPrecisionLossScaleOptimizer(optimizers.GradientDescentOptimizer(0.5), scale)
    unused = tf.Variable([1.0])
    pairs = optimizer.compute_gradients(loss)
    assert pairs[2] == (None, unused)
    assert isinstance(pairs[1][0], tf.IndexedSlices)
    step = optimizer.apply_gradients(pairs)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        a, b = session.run([w, e])
    assert a.tolist() == [0, 0]
    assert b.tolist() == [[1, 1], [-2, -2], [1, 1]]


def test_small_gradients_survive_float16() -> None:
    values = []
    for scale in (1, 1024):
        w = tf.Variable([1.0])
        loss = tf.reduce_sum(tf.cast(tf.cast(w, tf.float16) * 1e-4, tf.float32) * 1e-4)
        optimizer = MixedPrecisionLossScaleOptimizer(optimizers.GradientDescentOptimizer(1.0), scale)
        ((grad, _),) = optimizer.compute_gradients(loss, [w])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values.append(session.run(grad)[0])
    assert values[0] == 0  # 1e-8 is nothing in float16
    np.testing.assert_allclose(values[1], 1e-8, rtol=1e-2)


def test_steps_with_non_finite_gradients_change_only_the_scale() -> None:
    w, x = tf.Variable([1.0, 2.0], name="w"), tf.placeholder("float32", [2])
    count = tf.train.get_or_create_global_step()
    adam = optimizers.AdamOptimizer(0.1)
    scale = DynamicLossScale(8.0, increment_period=2)
    optimizer = MixedPrecisionLossScaleOptimizer(adam, scale)
    step = optimizer.minimize(tf.reduce_sum(w * x), global_step=count)
    state = [w, count, *adam.variables()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step, {x: [1.0, -1.0]})
        before = session.run(state)
        for bad in ([np.inf, 1.0], [np.nan, 1.0]):
            session.run(step, {x: bad})
        for a, b in zip(before, session.run(state)):
            np.testing.assert_array_equal(a, b)
        assert session.run(scale()) == 2 and session.run(count) == 1
        session.run(step, {x: [1.0, -1.0]})
        session.run(step, {x: [1.0, -1.0]})
        assert session.run(scale()) == 4 and session.run(count) == 3
    assert [v.op.name for v in adam.variables()] == ["beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
    assert optimizer.variables() == [*adam.variables(), scale._current_loss_scale, scale._num_good_steps]
    assert optimizer.get_slot(w, "m") is adam.get_slot(w, "m") and optimizer.get_slot_names() == ["m", "v"]
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [step]


def test_a_loss_may_be_a_function() -> None:
    w = tf.Variable([3.0])
    optimizer = MixedPrecisionLossScaleOptimizer(optimizers.GradientDescentOptimizer(0.5), "dynamic")
    step = optimizer.minimize(lambda: tf.reduce_sum(tf.square(w)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(w).tolist() == [0]


@pytest.mark.parametrize("half", [tf.float16, tf.bfloat16])
def test_variables_are_kept_in_float32(half: Any) -> None:
    with tf.variable_scope("model", custom_getter=mixed_precision_getter, dtype=half):
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer(), regularizer=lambda v: tf.reduce_sum(v))
        mean = tf.get_variable("mean", [2], trainable=False)
        exact = tf.get_variable("exact", [2], dtype=tf.float32)
    assert w.dtype == half and isinstance(w, tf.Tensor)
    assert mean.dtype.base_dtype == half and exact.dtype.base_dtype == tf.float32
    assert [v.dtype.base_dtype for v in tf.trainable_variables()] == [tf.float32, tf.float32]
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[0].dtype == tf.float32
    loss = tf.reduce_sum(tf.cast(w * w, tf.float32))
    (master,) = [v for v in tf.trainable_variables() if v.op.name == "model/w"]
    step = optimizers.GradientDescentOptimizer(1e-4).minimize(loss, var_list=[master])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(10):
            session.run(step)
        np.testing.assert_allclose(session.run(master), [0.998, 0.998], atol=1e-5)  # halves could not count so finely


def test_layers_train_in_half_precision() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 8)).astype("float32"), rng.integers(0, 2, 64)
    x[:, 0] += 4 * y - 2
    with tf.variable_scope("net", custom_getter=mixed_precision_getter):
        hidden = tf.layers.dense(tf.cast(tf.constant(x), tf.float16), 16, activation=tf.nn.relu)
        logits = tf.layers.dense(hidden, 2)
    assert logits.dtype == tf.float16
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant(y), logits=tf.cast(logits, tf.float32))
    )
    optimizer = enable_mixed_precision_graph_rewrite(optimizers.AdamOptimizer(0.01))
    step = optimizer.minimize(loss)
    assert {v.dtype.base_dtype for v in tf.trainable_variables()} == {tf.float32}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(60):
            session.run(step)
        assert session.run(loss) < 0.3 * before


def test_enable_and_disable() -> None:
    inner = optimizers.GradientDescentOptimizer(0.1)
    optimizer = enable_mixed_precision_graph_rewrite(inner, loss_scale=8)
    assert isinstance(optimizer, MixedPrecisionLossScaleOptimizer)
    with pytest.raises(ValueError, match="already scales its loss"):
        enable_mixed_precision_graph_rewrite(optimizer)
    with pytest.raises(ValueError, match=r"tf\.train\.Optimizer"):
        enable_mixed_precision_graph_rewrite("adam")  # type: ignore[arg-type]
    disable_mixed_precision_graph_rewrite()
    with pytest.raises(ValueError, match=r"expected a tf\.train\.Optimizer"):
        MixedPrecisionLossScaleOptimizer("adam", 8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot be None"):
        MixedPrecisionLossScaleOptimizer(inner, None)
    with pytest.raises(ValueError, match=r"loss scale .*expected a LossScale"):
        MixedPrecisionLossScaleOptimizer(inner, "large")
    with pytest.raises(TypeError):
        LossScale()  # type: ignore[abstract]


def test_public_names() -> None:
    assert tf.mixed_precision.DynamicLossScale is DynamicLossScale
    assert tf.mixed_precision.experimental.FixedLossScale is FixedLossScale
