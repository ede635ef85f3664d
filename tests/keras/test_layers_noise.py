"""Layers that disturb their inputs in training: what they change, and the sizes of the changes."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.backend import state
from thalweg._src.keras.layers.lookup import LAYERS

ONES = np.ones((50, 40, 6), "float32")


def run(layer, inputs, **arguments):
    with tf.Session() as session:
        return session.run(layer(tf.constant(inputs), **arguments))


def test_gaussian_noise_is_added_in_training():
    found = run(LAYERS["GaussianNoise"](0.5), ONES, training=True)
    assert abs(found.mean() - 1) < 0.02 and abs(found.std() - 0.5) < 0.02


def test_gaussian_dropout_multiplies_with_the_variance_of_dropout():
    found = run(LAYERS["GaussianDropout"](0.2), 2 * ONES, training=True)
    assert abs(found.mean() - 2) < 0.04 and abs(found.std() - 2 * np.sqrt(0.2 / 0.8)) < 0.04


def test_alpha_dropout_keeps_mean_and_variance():
    x = np.random.RandomState(0).normal(size=(200, 500)).astype("float32")
    found = run(LAYERS["AlphaDropout"](0.3, seed=3), x, training=True)
    assert abs(found.mean()) < 0.02 and abs(found.std() - 1) < 0.02
    _, counts = np.unique(found, return_counts=True)
    assert abs(counts.max() / x.size - 0.3) < 0.01  # the dropped ones have one value


def test_alpha_dropout_drops_along_axes_of_size_one_together():
    found = run(LAYERS["AlphaDropout"](0.5, noise_shape=(50, 1, 6), seed=1), ONES, training=True)
    assert (found == found[:, :1]).all() and len(np.unique(found)) == 2


@pytest.mark.parametrize("name", ["GaussianDropout", "AlphaDropout"])
def test_a_rate_of_zero_changes_nothing(name):
    assert (run(LAYERS[name](0.0), ONES, training=True) == ONES).all()


@pytest.mark.parametrize(
    ("name", "shape", "data_format", "axes"),
    [
        ("SpatialDropout1D", (30, 5, 8), None, (1,)),
        ("SpatialDropout2D", (30, 5, 4, 8), "channels_last", (1, 2)),
        ("SpatialDropout2D", (30, 8, 5, 4), "channels_first", (2, 3)),
        ("SpatialDropout3D", (30, 3, 5, 4, 8), None, (1, 2, 3)),
        ("SpatialDropout3D", (30, 8, 3, 5, 4), "channels_first", (2, 3, 4)),
    ],
)
def test_spatial_dropout_drops_whole_channels(name, shape, data_format, axes):
    options = {} if data_format is None else {"data_format": data_format}
    found = run(LAYERS[name](0.5, **options), np.ones(shape, "float32"), training=True)
    assert (found.min(axis=axes) == found.max(axis=axes)).all()
    assert set(np.unique(found)) == {0.0, 2.0}


def test_the_learning_phase_decides_if_the_call_does_not():
    noisy = LAYERS["GaussianNoise"](1.0)(tf.constant(ONES))
    with tf.Session() as session:
        assert (session.run(noisy) == ONES).all()
        assert (session.run(noisy, {state.learning_phase(): True}) != ONES).any()


def test_each_eager_call_has_new_noise(fresh):
    layer = LAYERS["GaussianNoise"](1.0)
    first, second = (layer(tf.constant(ONES), training=True).numpy() for _ in range(2))
    assert (first != second).any()
    assert (layer(tf.constant(ONES)).numpy() == ONES).all()


def test_numpy_seeds_the_noise_of_a_graph():
    def noise():
        np.random.seed(7)
        tf.set_random_seed(1)
        return run(LAYERS["GaussianNoise"](1.0), ONES, training=True)

    first = noise()
    with tf.Graph().as_default():
        assert (noise() == first).all()
