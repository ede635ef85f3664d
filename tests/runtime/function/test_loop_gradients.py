"""Gradients of loops in functions."""

import numpy as np

import thalweg as tf


def test_effects_inside_of_the_loop_of_a_gradient_are_no_targets(eager):
    """A target inside of a loop would be run by the token engine, which is slow."""
    layer = tf.keras.layers.LSTM(3)
    inputs = np.ones([2, 4, 5], np.float32)
    layer(inputs)

    @tf.function
    def slopes(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x))
        return tape.gradient(loss, layer.trainable_weights)

    function = slopes.get_concrete_function(tf.TensorSpec([2, 4, 5], tf.float32)).function
    inside = [operation for operation in function.graph.operations if operation.context is not None]
    assert any(operation.type == "TensorArrayGradV3" for operation in inside)
    assert not set(inside) & set(function.targets)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(inputs))
    for found, expected in zip(slopes(inputs), tape.gradient(loss, layer.trainable_weights)):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4)
