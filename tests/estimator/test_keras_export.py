"""Keras models as SavedModels with a graph for each mode."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.saved_models import data, outputs_of, trained


@pytest.fixture(params=["graph", "eager"], autouse=True)
def mode(request):
    if request.param == "eager":
        request.getfixturevalue("fresh")
        tf.keras.backend.clear_session()
        yield "eager"
    else:
        with tf.Graph().as_default():
            yield "graph"


@pytest.mark.parametrize("name", ["functional", "images", "nested"])
def test_a_model_is_made_again(name, tmp_path):
    model = trained(tf.keras, name)
    path = str(tmp_path / "model")
    tf.keras.experimental.export_saved_model(model, path)
    again = tf.keras.experimental.load_from_saved_model(path)
    assert again.to_json() == model.to_json()
    assert again.optimizer is None
    assert outputs_of(again, name) == outputs_of(model, name)


def _run(path, tag, key, feeds, fetches, times=1):
    """Returns values of a signature after several runs of it."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        message = tf.saved_model.load(session, [tag], path)
        signature = message.signature_def[key]
        updates = tf.get_collection(tf.GraphKeys.TRAIN_OP) if tag == "train" else []
        given = {signature.inputs[name].name: value for name, value in feeds.items()}
        wanted = {name: signature.outputs[name].name for name in fetches}
        return [session.run([wanted, updates], given)[0] for _ in range(times)]


def test_every_mode_runs_in_a_session(tmp_path):
    model = trained(tf.keras, "functional")
    path = str(tmp_path / "model")
    tf.contrib.saved_model.save_keras_model(model, path)
    x, y = data("functional")
    (served,) = _run(path, "serve", "serving_default", {"i": x}, ["o"])
    np.testing.assert_allclose(served["o"], model.predict(x), rtol=1e-5)
    loss, accuracy = model.evaluate(x, y, verbose=0)
    feeds = {"i": x, "o_target": y}
    first, second = _run(path, "eval", "eval", feeds, ["loss", "metrics/acc/value", "metrics/acc/update_op"], times=2)
    assert first["loss"] == pytest.approx(loss, rel=1e-5)
    assert second["metrics/acc/value"] == pytest.approx(accuracy)
    found = _run(path, "train", "train", feeds, ["loss", "predictions/o"], times=3)
    expected = [model.train_on_batch(x, y)[0] for _ in range(3)]
    np.testing.assert_allclose([each["loss"] for each in found], expected, rtol=1e-4)
    assert tf.contrib.saved_model.load_keras_model(path).count_params() == model.count_params()


def test_what_is_written_and_refused(tmp_path):
    model = trained(tf.keras, "functional")
    path = str(tmp_path / "serving")
    tf.keras.experimental.export_saved_model(model, path, as_text=True, serving_only=True)
    with pytest.raises(RuntimeError, match=r"it has \['serve'\]"):
        _run(path, "train", "train", {}, [])
    with pytest.raises(AssertionError, match="already exists"):
        tf.keras.experimental.export_saved_model(model, path)
    with pytest.raises(OSError, match="not written by export_saved_model"):
        tf.keras.experimental.load_from_saved_model(str(tmp_path))
    model.compile(tf.train.AdamOptimizer(), "mse")
    tf.keras.experimental.export_saved_model(model, str(tmp_path / "evaluated"))
    with pytest.raises(RuntimeError, match=r"it has \['eval'\], \['serve'\]"):
        _run(str(tmp_path / "evaluated"), "train", "train", {}, [])

    class Own(tf.keras.Model):
        def call(self, inputs):
            return inputs

    with pytest.raises(ValueError, match="`call` of its own"):
        tf.keras.experimental.export_saved_model(Own(), str(tmp_path / "own"))
