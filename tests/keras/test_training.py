"""Training: the programs of training_programs.py give the numbers of the real Keras 2, in a session and eagerly."""

import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.training_programs import PROGRAMS

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "keras_training.json").read_text())


@pytest.fixture(params=["graph", "eager"])
def mode(request):
    if request.param == "eager":
        request.getfixturevalue("fresh")
        tf.keras.backend.clear_session()
        yield "eager"
    else:
        with tf.Graph().as_default():
            yield "graph"


def differences(mine, theirs, where=""):
    if isinstance(theirs, dict):
        assert sorted(mine) == sorted(theirs)
        for key in theirs:
            differences(mine[key], theirs[key], f"{where}/{key}")
    elif isinstance(theirs, list) and theirs and not isinstance(theirs[0], str | list):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-5, err_msg=where)
    elif isinstance(theirs, list):
        assert len(mine) == len(theirs), where
        for index, pair in enumerate(zip(mine, theirs)):
            differences(*pair, f"{where}[{index}]")
    else:
        assert mine == theirs, where


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_numbers_as_keras(mode, name):
    differences(PROGRAMS[name](tf.keras), RECORDED[name])


def _model(**options):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, activation="softmax", input_shape=(3,))])
    model.compile(options.pop("optimizer", "sgd"), "sparse_categorical_crossentropy", **options)
    return model


def test_datasets_with_targets_of_one_number(mode):
    x, y = np.random.default_rng(0).normal(size=[20, 3]).astype(np.float32), np.arange(20) % 2
    repeated = tf.data.Dataset.from_tensor_slices((x, y)).batch(5).repeat()
    model, other = _model(metrics=["accuracy"]), _model(metrics=["accuracy"])
    other.set_weights(model.get_weights())
    found = model.fit(repeated, epochs=2, steps_per_epoch=4, verbose=0).history
    expected = other.fit(x, y, batch_size=5, epochs=2, shuffle=False, verbose=0).history
    assert sorted(found) == ["acc", "loss"]
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
    once = tf.data.Dataset.from_tensor_slices((x, y)).batch(5)
    np.testing.assert_allclose(
        model.evaluate(once, verbose=0), other.evaluate(x, y, batch_size=5, verbose=0), rtol=1e-5
    )
    assert model.predict(once).shape == (20, 2)


def test_names_of_metrics_differ_from_that_of_the_loss(mode):
    def loss(labels, outputs):
        return tf.reduce_mean(outputs, axis=-1)

    model = _model(metrics=[loss, "accuracy"])
    assert model.metrics_names == ["loss", "loss_1", "acc"]


def test_optimizers_of_tf_train_train_models(mode):
    x, y = np.random.default_rng(0).normal(size=[8, 3]).astype(np.float32), np.arange(8) % 2
    model = _model(optimizer=tf.train.AdamOptimizer(0.05))
    losses = model.fit(x, y, epochs=20, batch_size=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
