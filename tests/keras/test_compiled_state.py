"""What `compile` fixes, and what belongs to a call of a model inside of another one."""

import contextlib

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode

keras = tf.keras
X = np.random.RandomState(0).normal(size=(12, 3)).astype(np.float32)
Y = X.sum(1, keepdims=True)


@pytest.fixture(autouse=True, params=["graph", "eager"])
def mode(request):
    """Runs each test in a session and eagerly."""
    with eager_mode() if request.param == "eager" else contextlib.nullcontext():
        yield


def test_a_model_trains_the_layers_that_were_trainable_when_it_was_compiled():
    inner = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    inner.compile("sgd", "mse")
    inner.trainable = False
    inputs = keras.Input((2,))
    outer = keras.Model(inputs, inner(keras.layers.Dense(3)(inputs)))
    outer.compile("sgd", "mse")
    before = inner.get_weights()
    outer.train_on_batch(X[:, :2], Y)
    np.testing.assert_array_equal(inner.get_weights()[0], before[0])
    inner.train_on_batch(X, Y)
    assert np.abs(inner.get_weights()[0] - before[0]).max() > 0
    assert inner.trainable is False and inner.trainable_weights == []
    inner.compile("sgd", "mse")
    before = inner.get_weights()
    inner.train_on_batch(X, Y)
    np.testing.assert_array_equal(inner.get_weights()[0], before[0])


def test_a_model_inside_of_another_has_its_updates_and_losses_there():
    inner = keras.Sequential()
    inner.add(keras.layers.Dense(4, input_shape=(3,), activity_regularizer=keras.regularizers.l2(0.1)))
    inner.add(keras.layers.BatchNormalization(momentum=0.5))
    outer = keras.Sequential([inner, keras.layers.Dense(1)])
    outer.compile("sgd", "mse")
    loss = outer.evaluate(X, Y, batch_size=12, verbose=0)
    kernel, bias = inner.layers[0].get_weights()
    hidden = X @ kernel + bias
    expected = np.mean((outer.predict(X) - Y) ** 2) + 0.1 * np.sum(hidden**2) / 12
    assert loss == pytest.approx(expected, rel=1e-4)
    outer.train_on_batch(X, Y)
    mean = inner.layers[1].get_weights()[2]
    np.testing.assert_allclose(mean, 0.5 * hidden.mean(0), rtol=1e-3, atol=1e-6)


def test_held_out_data_of_a_dataset_begin_anew_with_each_epoch():
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    held = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    history = model.fit(X, Y, epochs=3, validation_data=held, validation_steps=2, verbose=0).history["val_loss"]
    assert history == pytest.approx([model.evaluate(X[:8], Y[:8], verbose=0)] * 3, rel=1e-4)


def test_the_input_of_an_input_layer_is_its_tensor():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    assert model.layers[0].input is inputs and model.layers[0].output is inputs
    apply = keras.backend.function([model.layers[0].input], [model.layers[1].output])
    np.testing.assert_allclose(apply([X])[0], model.predict(X), rtol=1e-5)


def test_a_loss_of_probabilities_trains_the_model_inside_that_returned_them():
    inputs, code = keras.Input((3,)), keras.Input((2,))
    decoder = keras.Model(code, keras.layers.Dense(3, activation="sigmoid")(code))
    outputs = decoder(keras.layers.Dense(2)(inputs))
    model = keras.Model(inputs, outputs)
    model.add_loss(keras.backend.mean(keras.losses.binary_crossentropy(inputs, outputs)))
    model.compile("sgd")
    before = decoder.get_weights()[0]
    model.train_on_batch(np.abs(np.tanh(X)))
    assert np.abs(decoder.get_weights()[0] - before).max() > 1e-6
