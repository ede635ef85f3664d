"""Strategies in compile: replicas on several devices give the numbers of one device, in a session and eagerly."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.graph import EagerGraph
from thalweg._src.runtime.eager.mode import eager_mode

CONFIG = {"device_count": {"CPU": 2, "GPU": 0}}
RNG = np.random.default_rng(4)
X = RNG.normal(size=[22, 5]).astype(np.float32)
LABELS = (X.sum(1) > 0).astype(np.int64)
TARGETS = RNG.normal(size=[22, 2]).astype(np.float32)
layers = tf.keras.layers


@pytest.fixture(params=["graph", "eager"], autouse=True)
def mode(request, monkeypatch):
    if request.param == "eager":
        monkeypatch.setattr("thalweg._src.runtime.eager.mode._graph", EagerGraph(tf.ConfigProto(**CONFIG)))
        with eager_mode():
            yield "eager"
    else:
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(**CONFIG)):
            yield "graph"


@pytest.fixture(params=["mirrored", "one device"])
def strategy(request):
    if request.param == "mirrored":
        return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    return tf.distribute.OneDeviceStrategy("/cpu:1")


def _classifier(optimizer="adam"):
    model = tf.keras.Sequential(
        [
            layers.Dense(4, activation="tanh", kernel_regularizer="l2", input_shape=(5,)),
            layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def _two_outputs():
    inputs = layers.Input((5,))
    hidden = layers.Dense(3, activation="elu")(inputs)
    outputs = [layers.Dense(2, activation="softmax", name="a")(hidden), layers.Dense(2, name="b")(hidden)]
    model = tf.keras.Model(inputs, outputs)
    model.compile(
        tf.keras.optimizers.SGD(0.1, momentum=0.9),
        ["sparse_categorical_crossentropy", tf.keras.losses.MeanAbsoluteError("sum")],
        metrics={"b": "mse"},
        loss_weights=[1.0, 0.1],
    )
    return model


def _pair(make, strategy):
    """Returns a model, and one with the same weights in the scope of a strategy."""
    plain = make()
    with strategy.scope():
        distributed = make()
    distributed.set_weights(plain.get_weights())
    return plain, distributed


def _assert_equal(plain, distributed, x, y, **options):
    mine, others = (
        m.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, **options).history for m in (distributed, plain)
    )
    assert sorted(mine) == sorted(others)
    for name, values in others.items():
        np.testing.assert_allclose(mine[name], values, rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(*(m.evaluate(x, y, batch_size=5, verbose=0) for m in (distributed, plain)), rtol=1e-4)
    for found, expected in zip(np.ravel(distributed.predict(x)), np.ravel(plain.predict(x))):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    for found, expected in zip(distributed.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_training(strategy):
    plain, distributed = _pair(_classifier, strategy)
    assert len(distributed.weights[0].values) == strategy.num_replicas_in_sync
    _assert_equal(plain, distributed, X, LABELS, validation_data=(X[:7], LABELS[:7]))


def test_several_outputs_and_weights_of_examples(strategy):
    plain, distributed = _pair(_two_outputs, strategy)
    weights = np.linspace(0.1, 2.0, len(X)).astype(np.float32)
    _assert_equal(plain, distributed, X, [LABELS, TARGETS], sample_weight=[weights, weights[::-1]])


def test_single_batches_and_datasets(strategy):
    plain, distributed = _pair(_classifier, strategy)
    for size in (1, 7, 8):  # a replica may have fewer examples than the other, or none
        found, expected = (m.train_on_batch(X[:size], LABELS[:size]) for m in (distributed, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    found, expected = (
        m.fit(tf.data.Dataset.from_tensor_slices((X, LABELS)).batch(6), epochs=1, verbose=0).history["loss"]
        for m in (distributed, plain)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_copies_stay_equal():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        model = tf.keras.Sequential(
            [layers.Dense(3, activity_regularizer="l2", input_shape=(5,)), layers.BatchNormalization(), layers.Dense(2)]
        )
        model.compile(tf.keras.optimizers.RMSprop(0.01), "mse")
    before = model.get_weights()
    model.fit(X, TARGETS, batch_size=8, verbose=0)
    for start, variable in zip(before, model.weights, strict=True):
        first, second = map(tf.keras.backend.get_value, variable.values)
        assert not np.array_equal(first, start)
        if variable.trainable:
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["model", "model.h5"])
def test_files(name, tmp_path, strategy):
    with strategy.scope():
        model = _classifier()
    model.train_on_batch(X, LABELS)
    path = str(tmp_path / name)
    model.save(path, save_format="h5" if name.endswith(".h5") else "tf")
    plain = tf.keras.models.load_model(path)
    with strategy.scope():
        again = tf.keras.models.load_model(path)
    expected = [model.train_on_batch(X, LABELS) for _ in range(2)]
    for loaded in (plain, again):
        np.testing.assert_allclose([loaded.train_on_batch(X, LABELS) for _ in range(2)], expected, rtol=1e-5)


def test_what_is_refused(strategy):
    model = _classifier()
    with strategy.scope(), pytest.raises(ValueError, match="made outside of the scope"):
        model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"with strategy.scope\(\)"):
        model.compile("sgd", "mse", distribute=strategy)
    replicas = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with replicas.scope(), pytest.raises(ValueError, match="clipnorm limits the gradients of each replica"):
        _classifier(tf.keras.optimizers.SGD(0.1, clipnorm=1.0))
