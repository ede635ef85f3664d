"""Models that TensorFlow 2 saved are loaded and served with equal outputs; `make conformance` records them."""

import tarfile

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.saved_model.tensorflow_2 import FIXTURES, MODELS, assert_served
from thalweg._src.deploy.saved_model.files import read_saved_model
from thalweg._src.graph.trust import RefusedOpsError


def _extracted(name, folder):
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_models_are_served(name, tmp_path):
    assert_served(_extracted(name, tmp_path), name)


def test_predictors(tmp_path):
    folder = _extracted("dense", tmp_path)
    kept = np.load(folder / "dense.npz")
    predict = tf.contrib.predictor.from_saved_model(str(folder / "dense"))
    (result,) = predict({"x": kept["0/in/x"]}).values()
    np.testing.assert_allclose(result, kept["0/out/output_0"], rtol=1e-5)


def test_a_loaded_model_can_be_trained(tmp_path):
    folder = _extracted("recurrent", tmp_path)
    kept = np.load(folder / "recurrent.npz")
    with tf.Session(graph=tf.Graph()) as session:
        message = tf.saved_model.load(session, [tf.saved_model.SERVING], str(folder / "recurrent"))
        signature = message.signature_def["serving_default"]
        x, y = (
            session.graph.get_tensor_by_name(next(iter(infos.values())).name)
            for infos in (signature.inputs, signature.outputs)
        )
        with session.graph.as_default():
            loss = tf.reduce_sum(tf.square(y))
            slope = tf.gradients(loss, x)[0]
        feeds = {x: kept["0/in/x"]}
        found, before = session.run([slope, loss], feeds)
        for index in ((0, 0, 0), (1, 5, 2), (2, 3, 1)):
            moved = feeds[x].copy()
            moved[index] += 1e-2
            after = session.run(loss, {x: moved})
            np.testing.assert_allclose((after - before) / 1e-2, found[index], rtol=0.1, atol=1e-3)


def test_it_is_saved_again(tmp_path):
    folder = _extracted("branches", tmp_path)
    graph_def = tf.saved_model.load(tf.Session(graph=tf.Graph()), ["serve"], str(folder / "branches")).graph_def
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        written = graph.as_graph_def()
    assert {f.signature.name: f for f in written.library.function} == {
        f.signature.name: f for f in graph_def.library.function
    }


def test_a_signature_may_not_write_checkpoints_in_a_function(tmp_path):
    folder = _extracted("affine", tmp_path)
    path = folder / "affine" / "saved_model.pb"
    message = read_saved_model(str(folder / "affine"))
    graph = message.meta_graphs[0]
    graph.signature_def["serving_default"].outputs["y"].name = graph.saver_def.save_tensor_name
    path.write_bytes(message.SerializeToString())
    with tf.Session(graph=tf.Graph()) as session, pytest.raises(RefusedOpsError, match="writes checkpoints"):
        tf.saved_model.load(session, ["serve"], str(folder / "affine"))
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], str(folder / "affine"), trusted=True)


@pytest.mark.parametrize("name", ["affine", "dense"])
def test_models_without_trust(name, tmp_path):
    """What restores variables is allowed, although it is in functions."""
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], str(_extracted(name, tmp_path) / name), trusted=False)
