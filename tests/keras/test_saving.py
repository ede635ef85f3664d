"""Models in files: HDF5 files of the real Keras 2 are read here, weights and optimizers included, and checkpoints."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf

FIXTURES = Path(__file__).parents[1] / "fixtures" / "keras_models"
X = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
Y = np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 1]]


@pytest.fixture(params=["graph", "eager"], autouse=True)
def mode(request):
    if request.param == "eager":
        request.getfixturevalue("fresh")
        tf.keras.backend.clear_session()
        yield "eager"
    else:
        with tf.Graph().as_default():
            yield "graph"


def _model():
    layers = tf.keras.layers
    inputs = layers.Input((4,), name="i")
    hidden = layers.Dense(3, activation="relu", name="h", kernel_regularizer="l2")(inputs)
    model = tf.keras.Model(inputs, layers.Dense(2, activation="softmax", name="o")(hidden), name="net")
    model.compile(tf.keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


@pytest.mark.parametrize("name", ["functional", "sequential"])
def test_a_file_of_keras_is_read_and_its_training_continues(name):
    model = tf.keras.models.load_model(str(FIXTURES / f"{name}.h5"))
    expected = json.loads((FIXTURES / f"{name}.json").read_text())
    np.testing.assert_allclose(model.predict(X), expected["outputs"], rtol=1e-5)
    found = [model.train_on_batch(X, Y) for _ in range(3)]
    np.testing.assert_allclose(found, expected["continued"], rtol=1e-4)


def test_a_model_with_the_state_of_its_optimizer(tmp_path):
    model = _model()
    model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    path = str(tmp_path / "model.h5")
    model.save(path)
    again = tf.keras.models.load_model(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.to_json() == model.to_json()
    for _ in range(3):
        np.testing.assert_allclose(again.train_on_batch(X, Y), model.train_on_batch(X, Y), rtol=1e-6)
    plain = tf.keras.models.load_model(path, compile=False)
    assert plain.optimizer is None


def test_weights_in_both_formats(tmp_path):
    model = _model()
    model.train_on_batch(X, Y)
    for name in ("weights.h5", "weights"):
        path = str(tmp_path / name)
        model.save_weights(path)
        other = _model()
        other.load_weights(path)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises(FileExistsError):
        model.save_weights(str(tmp_path / "weights.h5"), overwrite=False)


def test_weights_by_the_names_of_layers(tmp_path):
    model = _model()
    path = str(tmp_path / "weights.h5")
    model.save_weights(path)
    layers = tf.keras.layers
    other = tf.keras.Sequential([layers.Dense(3, input_shape=(4,), name="h"), layers.Dense(7, name="another")])
    other.load_weights(path, by_name=True)
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])
    with pytest.raises(ValueError, match="shape"):
        other.load_weights(path)


def test_a_clone_has_weights_of_its_own():
    model = _model()
    clone = tf.keras.models.clone_model(model)
    assert [layer.name for layer in clone.layers] == [layer.name for layer in model.layers]
    assert not {id(w) for w in clone.weights} & {id(w) for w in model.weights}
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone.predict(X), model.predict(X))


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="does not exist"):
        tf.keras.models.load_model(str(tmp_path / "none.h5"))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"the package h5py: pip install 'thalweg\[keras\]'"):
        _model().save(str(tmp_path / "model.h5"))
