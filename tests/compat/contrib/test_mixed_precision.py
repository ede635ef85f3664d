"""tf.contrib.mixed_precision, tf.contrib.resampler and tf.contrib.deprecated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.summary_pb2 import Summary

import thalweg as tf

contrib = tf.contrib


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_the_scale_follows_the_gradients() -> None:
    finite = tf.placeholder(tf.bool)
    manager = contrib.mixed_precision.ExponentialUpdateLossScaleManager(
        8.0, 2, decr_every_n_nan_or_inf=2, decr_ratio=0.5
    )
    update, scale = manager.update_loss_scale(finite), manager.get_loss_scale()
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for is_finite in (True, True, True, False, True, True, False, False, False):
            session.run(update, {finite: is_finite})
            found.append(float(session.run(scale)))
    assert found == [8, 16, 16, 16, 16, 32, 32, 16, 16]


def test_steps_with_infinite_gradients_are_skipped() -> None:
    x, factor = tf.Variable(1.0), tf.placeholder(tf.float32)
    step = tf.train.get_or_create_global_step()
    manager = contrib.mixed_precision.ExponentialUpdateLossScaleManager(1024.0, 100, 1, 2, 0.5)
    optimizer = contrib.mixed_precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
    pairs = optimizer.compute_gradients(x * factor, [x])
    train = optimizer.apply_gradients(pairs, step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {factor: 0.5})
        assert session.run([x, step, manager.get_loss_scale()]) == [0.75, 1, 1024]
        session.run(train, {factor: 1e38})
        assert session.run([x, step, manager.get_loss_scale()]) == [0.75, 1, 512]
        assert session.run(pairs[0][0], {factor: 3.0}) == 3.0


def test_a_fixed_scale_cancels_out() -> None:
    x = tf.Variable(tf.constant(2.0, tf.float16), dtype=tf.float16)
    optimizer = contrib.mixed_precision.LossScaleOptimizer(
        tf.train.GradientDescentOptimizer(1.0), contrib.mixed_precision.FixedLossScaleManager(128)
    )
    train = optimizer.minimize(1e-3 * x * x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(x), 2.0 - 4e-3, rtol=1e-3)
    with pytest.raises(ValueError, match="at least 1"):
        contrib.mixed_precision.FixedLossScaleManager(0.5)


def test_images_are_sampled_at_points() -> None:
    images = np.random.default_rng(2).normal(size=(2, 3, 4, 2)).astype(np.float32)
    points = np.array([[[1, 2], [0.25, 0.5], [3.5, 1]], [[-0.5, 0], [5, 1], [2, 2.25]]], np.float32)
    data, warp = tf.constant(images), tf.constant(points)
    sampled = contrib.resampler.resampler(data, warp)
    assert sampled.shape.as_list() == [2, 3, 2]
    with tf.Session() as session:
        found, by_data, by_warp = session.run([sampled, *tf.gradients(sampled, [data, warp])])
    a, b = images
    corner = 0.75 * 0.5 * (a[0, 0] + a[1, 0]) + 0.25 * 0.5 * (a[0, 1] + a[1, 1])
    wanted = [[a[2, 1], corner, 0.5 * a[1, 3]], [0.5 * b[0, 0], 0 * b[0, 0], 0.75 * b[2, 2]]]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_data[0, 2, 1], [1, 1], rtol=1e-6)
    slope = 0.5 * ((a[0, 1] - a[0, 0]) + (a[1, 1] - a[1, 0]))
    np.testing.assert_allclose(by_warp[0, 1, 0], slope.sum(), rtol=1e-4)
    assert contrib.resampler.resampler(data, tf.zeros([2, 5, 6, 2])).shape.as_list() == [2, 5, 6, 2]
    with pytest.raises(ValueError, match="expected \\[batch, height, width, channels\\]"):
        contrib.resampler.resampler(tf.zeros([3, 4]), warp)


def test_old_summaries() -> None:
    old = contrib.deprecated
    with tf.name_scope("scope"):
        old.scalar_summary(["a", "b"], [1.0, 2.0])
        old.histogram_summary("h", [1.0, 3.0])
        old.image_summary("i", tf.ones([1, 2, 2, 1]), max_images=1)
        old.audio_summary("s", tf.zeros([1, 8]), 8.0, max_outputs=1)
    both = old.merge_summary([old.scalar_summary("c", 3.0, collections=[])])
    with tf.Session() as session:
        merged = Summary.FromString(session.run(old.merge_all_summaries()))
        assert [value.tag for value in Summary.FromString(session.run(both)).value] == ["c"]
    assert [value.tag for value in merged.value] == ["a", "b", "h", "i/image", "s/audio"]
