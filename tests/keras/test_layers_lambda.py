"""Lambda: a function as a layer."""

import json

import pytest

import thalweg as tf
from thalweg._src.keras.engine.input_layer import Input
from thalweg._src.keras.layers.core import Lambda
from thalweg._src.keras.layers.lookup import deserialize, serialize
from thalweg._src.runtime.eager.mode import eager_mode


def scaled(x, factor=2.0):
    return x * factor


def doubled_width(shape):
    return (shape[0], 2 * shape[1])


def keep_mask(inputs, mask=None):
    return mask


def phase_of(x, training=None):
    return x + tf.cast(training, tf.float32)


def masked(x, mask=None):
    return x if mask is None else x * tf.expand_dims(tf.cast(mask, x.dtype), -1)


def test_a_function_is_applied_with_its_arguments():
    layer = Lambda(scaled, arguments={"factor": 3.0})
    with tf.Session() as session:
        assert session.run(layer(tf.constant([[1.0, 2.0]]))).tolist() == [[3, 6]]
    with eager_mode():
        assert Lambda(lambda x: x + 1)(tf.constant([[1.0, 2.0]])).numpy().tolist() == [[2, 3]]


def test_a_function_may_take_the_learning_phase(fresh):
    layer = Lambda(phase_of)
    assert layer(tf.constant([[1.0]]), training=True).numpy() == 2
    assert layer(tf.constant([[1.0]])).numpy() == 1


def test_a_function_may_take_the_mask(fresh):
    x = tf.constant([[[1.0], [2.0]]])
    x._keras_mask = tf.constant([[True, False]])
    assert Lambda(masked)(x).numpy().tolist() == [[[1], [0]]]
    assert getattr(Lambda(masked)(x), "_keras_mask", None) is None
    assert Lambda(masked, mask=keep_mask)(x)._keras_mask.numpy().tolist() == [[True, False]]


def test_the_output_shape_is_given_computed_or_found_by_a_call():
    assert Lambda(scaled).compute_output_shape((None, 3)).as_list() == [None, 3]
    assert Lambda(scaled, output_shape=(5,)).compute_output_shape((None, 3)).as_list() == [None, 5]
    assert Lambda(scaled, output_shape=doubled_width).compute_output_shape((4, 3)).as_list() == [4, 6]


def test_a_named_function_has_a_configuration():
    layer = Lambda(scaled, output_shape=doubled_width, mask=keep_mask, arguments={"factor": 3.0}, name="three")
    config = json.loads(json.dumps(layer.get_config()))
    assert (config["function"], config["function_type"], config["module"]) == ("scaled", "function", __name__)
    again = Lambda.from_config(layer.get_config())
    assert again.function is scaled and again.get_config() == layer.get_config()
    again = Lambda.from_config(config, {each.__name__: each for each in (scaled, doubled_width, keep_mask)})
    assert again.function is scaled and again.mask is keep_mask and again.arguments == {"factor": 3.0}
    assert again.get_config() == layer.get_config()
    known = {"scaled": phase_of, "doubled_width": doubled_width, "keep_mask": keep_mask}
    other = deserialize({**serialize(layer), "config": {**config, "module": "gone"}}, known)
    assert other.function is phase_of


def test_a_lambda_has_no_configuration():
    with pytest.raises(ValueError, match="use a function"):
        Lambda(lambda x: x).get_config()
    with pytest.raises(ValueError, match="output_shape is a lambda"):
        Lambda(scaled, output_shape=lambda shape: shape).get_config()


def test_a_bytecode_configuration_is_refused():
    with pytest.raises(ValueError, match="bytecode"):
        Lambda.from_config({"function": ["4wE=", None, None], "function_type": "lambda", "arguments": {}})


def test_a_lambda_takes_symbolic_tensors_of_eager_execution(fresh):
    x = Input((3,))
    y = Lambda(scaled)(x)
    assert y.shape.as_list() == [None, 3] and not y.is_eager
