"""Batch normalization: values, moving averages, every way to say `training`, and the variants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

EPSILON = 1e-3


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def values(*shape: int) -> Any:
    return (np.random.RandomState(7).standard_normal(shape) * 2 + 1).astype(np.float32)


def normal(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + EPSILON)


def start() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def update() -> Any:
    return tf.get_collection(tf.GraphKeys.UPDATE_OPS)


def test_names() -> None:
    layer = tf.layers.BatchNormalization()
    y = layer(tf.placeholder(tf.float32, [None, 6, 5, 3]), training=True)
    assert [w.name for w in layer.weights] == [
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0",
        "batch_normalization/moving_variance:0",
    ]
    assert y.name == "batch_normalization/FusedBatchNormV3:0"
    assert [op.name for op in update()] == [
        "batch_normalization/AssignMovingAvg",
        "batch_normalization/AssignMovingAvg_1",
    ]
    assert layer.updates == layer.get_updates_for(layer.input) and layer.get_updates_for(None) == []
    assert [v.name for v in tf.trainable_variables()] == ["batch_normalization/gamma:0", "batch_normalization/beta:0"]
    plain = tf.layers.batch_normalization(tf.placeholder(tf.float32, [None, 3]), name="bn")
    assert plain.name == "bn/batchnorm/add_1:0" and len(update()) == 2


@pytest.mark.parametrize("fused", [None, False])
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("by_tensor", [False, True])
def test_training_and_inference(fused: Any, axis: int, by_tensor: bool) -> None:
    x = values(4, 6, 5, 3)
    channels, axes = x.shape[axis], tuple(i for i in range(4) if i != axis % 4)
    feed, training = tf.placeholder(tf.float32, [None, 6, 5, 3]), tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(axis=axis, momentum=0.9, fused=fused)
    trained = layer(feed, training=training if by_tensor else True)
    tested = trained if by_tensor else layer(feed, training=False)
    with start() as session:
        result, *_ = session.run([trained, *update()], {feed: x, training: True})
        np.testing.assert_allclose(result, normal(x, axes), 1e-4, 1e-4)
        mean, variance = session.run([layer.moving_mean, layer.moving_variance])
        count = x.size // channels
        unbiased = count / (count - 1) if fused is None else 1.0
        np.testing.assert_allclose(mean, 0.1 * x.mean(axes), 1e-5, 1e-6)
        np.testing.assert_allclose(variance, 0.9 + 0.1 * x.var(axes) * unbiased, 1e-5)
        result, *_ = session.run([tested, *(update() if by_tensor else ())], {feed: x, training: False})
        shape = [channels if i == axis % 4 else 1 for i in range(4)]
        expected = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + EPSILON)
        np.testing.assert_allclose(result, expected, 1e-4, 1e-4)
        np.testing.assert_array_equal(session.run(layer.moving_mean), mean)
        np.testing.assert_array_equal(session.run(layer.moving_variance), variance)


@pytest.mark.parametrize("by_tensor", [False, True])
def test_gradients_match_the_formula(by_tensor: bool) -> None:
    x, weight = values(8, 3), values(8, 3)[::-1]
    feed = tf.placeholder(tf.float32, [8, 3])
    training = tf.constant(1) > tf.placeholder_with_default(0, []) if by_tensor else True
    y = tf.layers.batch_normalization(feed, training=training)
    mean, variance = tf.nn.moments(feed, [0])
    expected = (feed - mean) / tf.sqrt(variance + EPSILON)
    got, wanted = (tf.gradients(tf.reduce_sum(z * weight), feed)[0] for z in (y, expected))
    with start() as session:
        np.testing.assert_allclose(*session.run([got, wanted], {feed: x}), 1e-3, 1e-4)


def test_without_center_and_scale_and_with_half_precision() -> None:
    x = values(4, 6, 5, 3).astype(np.float16)
    layers = [tf.layers.BatchNormalization(center=False, scale=False, fused=fused) for fused in (None, False)]
    outputs = [layer(tf.constant(x), training=True) for layer in layers]
    with start() as session:
        for layer, output in zip(layers, outputs):
            result = session.run(output)
            assert result.dtype == np.float16 and layer.moving_mean.dtype.base_dtype == tf.float32
            assert len(layer.weights) == 2
            np.testing.assert_allclose(result, normal(x.astype(np.float32), (0, 1, 2)), 1e-2, 1e-2)
    assert tf.layers.batch_normalization(values(4, 6, 5, 3).astype(np.float64), training=True).dtype == tf.float64


def test_several_axes() -> None:
    x = values(4, 6, 5, 3)
    layer = tf.layers.BatchNormalization(axis=[1, -1])
    y = layer(tf.constant(x), training=True)
    assert layer.gamma.shape.as_list() == [1, 6, 1, 3]
    with start() as session:
        np.testing.assert_allclose(session.run(y), normal(x, (0, 2)), 1e-4, 1e-4)


@pytest.mark.parametrize("by_tensor", [False, True])
def test_virtual_batches(by_tensor: bool) -> None:
    x = values(8, 3)
    feed = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder_with_default(True, []) if by_tensor else True
    layer = tf.layers.BatchNormalization(virtual_batch_size=2, momentum=0.5)
    y = layer(feed, training=training)
    assert y.shape.as_list() == [None, 3]
    with start() as session:
        result, *_ = session.run([y, *update()], {feed: x})
        groups = x.reshape(2, 4, 3)
        np.testing.assert_allclose(result, normal(groups, (0,)).reshape(8, 3), 1e-4, 1e-4)
        mean = session.run(layer.moving_mean)
        np.testing.assert_allclose(mean.ravel(), 0.5 * x.mean(0), 1e-5)


def test_adjustment() -> None:
    x = values(8, 3)
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(
        tf.constant(x),
        adjustment=lambda shape: (tf.fill([1, shape[1]], 2.0), tf.fill([1, shape[1]], 1.0)),
        training=training,
    )
    with start() as session:
        np.testing.assert_allclose(session.run(y, {training: True}), normal(x, (0,)) * 2 + 1, 1e-4, 1e-4)
        np.testing.assert_allclose(session.run(y, {training: False}), x / np.sqrt(1 + EPSILON), 1e-4, 1e-4)


@pytest.mark.parametrize("by_tensor", [False, True])
def test_renormalization(by_tensor: bool) -> None:
    batches = [values(8, 3) * scale + scale for scale in (1, 3, 0.5)]
    feed, training = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(
        renorm=True, renorm_momentum=0.8, momentum=0.7, renorm_clipping={"rmax": 1.5, "rmin": 0.7, "dmax": 0.5}
    )
    y = layer(feed, training=training if by_tensor else True)
    means, stddevs, weight = np.zeros(3), np.zeros(3), 0.0
    moving_mean, moving_variance = np.zeros(3), np.ones(3)
    with start() as session:
        for x in batches:
            mean, stddev = x.mean(0), np.sqrt(x.var(0) + EPSILON)
            mixed_mean, mixed_stddev = means + (1 - weight) * mean, stddevs + (1 - weight) * stddev
            r = np.clip(stddev / mixed_stddev, 0.7, 1.5)
            d = np.clip((mean - mixed_mean) / mixed_stddev, -0.5, 0.5)
            result, *_ = session.run([y, *update()], {feed: x, training: True})
            np.testing.assert_allclose(result, (x - mean) / stddev * r + d, 1e-4, 1e-4)
            means, stddevs, weight = (
                0.8 * old + 0.2 * now for old, now in ((means, mean), (stddevs, stddev), (weight, 1))
            )
            moving_mean = 0.7 * moving_mean + 0.3 * means / weight
            moving_variance = 0.7 * moving_variance + 0.3 * ((stddevs / weight) ** 2 - EPSILON)
            np.testing.assert_allclose(session.run(layer.moving_mean), moving_mean, 1e-4)
            np.testing.assert_allclose(session.run(layer.moving_variance), moving_variance, 1e-4)
        if by_tensor:
            before = session.run(layer.weights)
            result, *_ = session.run([y, *update()], {feed: x, training: False})
            np.testing.assert_allclose(result, (x - moving_mean) / np.sqrt(moving_variance + EPSILON), 1e-3, 1e-3)
            for old, new in zip(before, session.run(layer.weights)):
                np.testing.assert_allclose(new, old, 1e-6)


def test_reuse_and_untrainable() -> None:
    x = tf.constant(values(8, 3))
    tf.layers.batch_normalization(x, training=True, name="bn")
    tf.layers.batch_normalization(x, training=False, name="bn", reuse=True)
    assert len(tf.global_variables()) == 4 and len(update()) == 2
    frozen = tf.layers.BatchNormalization(trainable=False)
    frozen(x, training=True)
    assert frozen.updates == [] and frozen.trainable_weights == [] and len(update()) == 2


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (ValueError, "Invalid axis", {"axis": 4}),
        (ValueError, "Duplicate axis", {"axis": [1, -1]}),
        (TypeError, "axis must be int or list", {"axis": "x"}),
        (ValueError, "contains keys not in", {"renorm": True, "renorm_clipping": {"max": 1}}),
        (ValueError, "positive integer", {"virtual_batch_size": 0}),
        (ValueError, "cannot include 0", {"virtual_batch_size": 2, "axis": 0}),
        (ValueError, "adjustment", {"virtual_batch_size": 2, "adjustment": lambda shape: (1, 1)}),
    ],
)
def test_errors(error: Any, text: str, options: Any) -> None:
    with pytest.raises(error, match=text):
        tf.layers.batch_normalization(tf.constant(values(8, 3)), **options)
    with pytest.raises(ValueError, match="undefined `axis` dimension"):
        tf.layers.batch_normalization(tf.placeholder(tf.float32, [8, None]))
