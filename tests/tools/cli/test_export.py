"""`thalweg export`."""

import numpy as np
import onnx
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import run
from tests.tools.cli.test_freeze import invoke

X = np.ones([2, 3], np.float32)


@pytest.fixture
def folder(tmp_path):
    """Returns a folder with a SavedModel, a MetaGraph with its checkpoint, and a frozen graph; y is 3 x."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.identity(x * tf.get_variable("w", initializer=3.0), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"features": x}, {"scores": y})
        tf.train.Saver().save(session, str(tmp_path / "model"))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        (tmp_path / "frozen.pb").write_bytes(frozen.SerializeToString())
    return tmp_path


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (("saved",), "features"),
        (("model.meta", "--inputs", "x", "--outputs", "y"), "x"),
        (("frozen.pb", "--inputs", "x:0", "--outputs", "y:0"), "x"),
    ],
)
def test_models_are_exported(folder, source, name):
    path, *options = source
    status, output = invoke("export", folder / path, "--onnx", folder / "model.onnx", *options)
    assert status == 0 and output.startswith(f"input {name}: float [?, 3]\noutput ") and "1 nodes" in output
    np.testing.assert_allclose(run(onnx.load(folder / "model.onnx"), {name: X})[0], 3 * X)


def test_a_keras_model_is_exported(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), activation="relu")])
        expected = model.predict(X)
        model.save(str(tmp_path / "model.h5"))
    status, output = invoke("export", tmp_path / "model.h5", "--onnx", tmp_path / "model.onnx")
    assert status == 0, output
    exported = onnx.load(tmp_path / "model.onnx")
    np.testing.assert_allclose(run(exported, {exported.graph.input[0].name: X})[0], expected, rtol=1e-5)


def test_sizes_that_are_given_are_those_of_the_model(folder):
    options = ("--onnx", folder / "model.onnx", "--shape", "features=2,3")
    status, output = invoke("export", folder / "saved", *options)
    assert status == 0 and output.startswith("input features: float [2, 3]\noutput scores: float [2, 3]\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("frozen.pb",), "--inputs, --outputs: expected the names of tensors"),
        (("frozen.pb", "--inputs", "x", "--outputs", "nothing"), "outputs: expected tensors of the graph"),
        ((".",), "contains no SavedModel"),
        (("saved", "--signature-def", "other"), "signature: expected one of the model's"),
        (("saved", "--shape", "features"), "'features' is not an input with sizes"),
        (("saved", "--shape", "other=1"), "input_shapes: expected names of inputs (features), received other"),
        (("saved", "--shape", "features=2,4"), "that agrees with [?, 3], received [2, 4]"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(folder, arguments, text):
    path, *options = arguments
    status, output = invoke("export", folder / path, "--onnx", folder / "model.onnx", *options)
    assert status != 0 and text in output and "Traceback" not in output
