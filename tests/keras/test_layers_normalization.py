"""Normalization layers: updates, averages, training, and what they refuse."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.backend import state
from thalweg._src.keras.layers.normalization import BatchNormalization, LayerNormalization
from thalweg._src.training.nn.layers.normalization import BatchNormalization as PlainBatchNormalization

X = np.random.RandomState(0).normal(3, 2, (6, 4)).astype("float32")


def test_a_graph_has_two_updates_which_move_the_averages():
    layer = BatchNormalization(momentum=0.5)
    layer(tf.constant(X), training=True)
    assert len(layer.updates) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(layer.updates)
        np.testing.assert_allclose(session.run(layer.moving_mean), X.mean(0) / 2, rtol=1e-4)
        np.testing.assert_allclose(session.run(layer.moving_variance), X.var(0) / 2 + 0.5, rtol=1e-4)


def test_updates_are_not_added_to_the_collection():
    BatchNormalization()(tf.constant(X), training=True)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_a_call_outside_of_training_has_no_updates():
    layer = BatchNormalization()
    layer(tf.constant(X), training=False)
    assert layer.updates == []


def test_the_learning_phase_decides_if_the_call_does_not():
    layer = BatchNormalization(momentum=0.5)
    output = layer(tf.constant(X))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(output), X / np.sqrt(1.001), rtol=1e-4)
        session.run(layer.updates)
        assert session.run(layer.moving_mean).tolist() == [0, 0, 0, 0]
        found, _ = session.run([output, layer.updates], {state.learning_phase(): True})
        np.testing.assert_allclose(found.mean(0), 0, atol=1e-5)
        assert session.run(layer.moving_mean).tolist() != [0, 0, 0, 0]


def test_a_layer_that_is_not_trainable_has_no_updates():
    layer = BatchNormalization(trainable=False)
    output = layer(tf.constant(X), training=True)
    assert layer.updates == [] and len(layer.non_trainable_weights) == 4
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(output).mean(0), 0, atol=1e-5)  # still by the batch, as in 1.15


def test_an_eager_call_moves_the_averages_unless_it_is_not_trainable(fresh):
    layer = BatchNormalization(momentum=0.5)
    layer(tf.constant(X), training=True)
    np.testing.assert_allclose(layer.moving_mean.numpy(), X.mean(0) / 2, rtol=1e-4)
    layer.trainable = False
    before = layer.moving_mean.numpy()
    layer(tf.constant(X), training=True)
    assert (layer.moving_mean.numpy() == before).all() and layer.updates == []


def test_a_function_moves_the_averages_at_each_call(fresh):
    layer = BatchNormalization(momentum=0.5)
    call = tf.function(lambda x: layer(x, training=True))
    call(tf.constant(X))
    call(tf.constant(X))
    np.testing.assert_allclose(layer.moving_mean.numpy(), X.mean(0) * 0.75, rtol=1e-4)


@pytest.mark.parametrize("clipping", [None, {"rmax": 1.1, "rmin": 0.9, "dmax": 0.1}])
def test_renormalization_is_that_of_tf_layers(clipping):
    options = {"renorm": True, "renorm_clipping": clipping, "renorm_momentum": 0.8, "momentum": 0.5}
    layers = BatchNormalization(**options), PlainBatchNormalization(**options)
    outputs = [layer(tf.constant(X), training=True) for layer in layers]
    assert [len(layer.updates) for layer in layers] == [2, 2]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            (first, second), _ = session.run([outputs, [layer.updates for layer in layers]])
            np.testing.assert_allclose(first, second, rtol=1e-5)
        first, second = session.run([layer.weights for layer in layers])
        for mine, other in zip(first, second):
            np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_an_adjustment_applies_in_training():
    layer = BatchNormalization(adjustment=lambda shape: (tf.constant(2.0), tf.constant(1.0)))
    outputs = [layer(tf.constant(X), training=training) for training in (True, False)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(outputs)
    np.testing.assert_allclose(first.mean(0), 1, atol=1e-4)
    np.testing.assert_allclose(second, X / np.sqrt(1.001), rtol=1e-4)


def test_regularizers_and_constraints_are_found_by_name():
    layer = BatchNormalization(gamma_regularizer="l2", beta_constraint="non_neg")
    layer(tf.constant(X))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(layer.losses), [0.04], rtol=1e-5)
    config = layer.get_config()
    assert config["beta_constraint"]["class_name"] == "NonNeg"
    assert config["gamma_regularizer"]["class_name"] == "L1L2"


@pytest.mark.parametrize(
    ("axis", "error", "words"),
    [(3, ValueError, "Invalid axis"), ([1, -1], ValueError, "Duplicate axis"), ("1", ValueError, "int or a list")],
)
def test_layer_normalization_refuses_axes_that_do_not_exist(axis, error, words):
    with pytest.raises(error, match=words):
        LayerNormalization(axis=axis)(tf.constant(X))


def test_layer_normalization_needs_known_sizes():
    with pytest.raises(ValueError, match="should be defined"):
        LayerNormalization()(tf.placeholder(tf.float32, [4, None]))
