"""`thalweg export --calibrate`: models that are quantized with ranges of samples in files."""

import re
import tarfile
from pathlib import Path

import numpy as np
import onnx
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import random, run
from tests.tools.cli.test_freeze import invoke

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
PARAMETERS = (3 + 1) * 256 + (256 + 1) * 64
SAMPLES, IMAGES = random(40, 3), random(40, 8, 8, 3)
GRAPH = ("frozen.pb", "--inputs", "x", "--outputs", "y")


def export(folder, path, samples, *options):
    """Quantizes a model; returns the exit status and the output."""
    given = ("--onnx", folder / "model.onnx", "--calibrate", folder / samples)
    return invoke("export", folder / path, *given, *options)


def save(folder, inputs, y):
    """Saves a network in all forms."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "saved"), inputs, {"scores": y})
        tf.train.Saver().save(session, str(folder / "model"))
        frozen = tf.graph_util.convert_variables_to_constants(session, y.graph.as_graph_def(), [y.op.name])
        (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
        return session.run(y, dict.fromkeys(inputs.values(), SAMPLES))


@pytest.fixture
def network(tmp_path):
    """Returns a folder with a network of two layers and samples, and its scores for them."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.identity(tf.layers.dense(tf.layers.dense(x, 256, tf.nn.relu), 64), name="y")
        scores = save(tmp_path, {"features": x}, y)
    np.savez(tmp_path / "samples.npz", features=SAMPLES, labels=np.zeros(40))
    np.save(tmp_path / "samples.npy", SAMPLES)
    return tmp_path, scores


def check(path, samples, expected):
    """Compares the scores of a quantized model; returns the types of its nodes."""
    model = onnx.load(path)
    (found,) = run(model, {model.graph.input[0].name: samples})
    assert 0 < np.abs(found - expected).max() < 0.05 * np.abs(expected).max()
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize(
    ("source", "samples"),
    [
        (("saved",), "samples.npz"),
        (("saved",), "samples.npy"),
        (("model.meta", "--inputs", "x", "--outputs", "y"), "samples.npy"),
        (GRAPH, "samples.npy"),
        (("frozen.pb", "--inputs", "x:0", "--outputs", "y:0", "--shape", "x=40,3"), "samples.npy"),
    ],
)
def test_models_are_quantized(network, source, samples):
    folder, scores = network
    path, *options = source
    status, output = export(folder, path, samples, *options)
    assert status == 0, output
    before = re.search(r"; ([0-9.]+) KB before quantization\n$", output)
    assert before is not None and 1.0 < float(before[1]) / (4 * PARAMETERS / 1e3) < 1.05, output
    assert (folder / "model.onnx").stat().st_size < 0.4 * (folder / "frozen.pb").stat().st_size
    assert check(folder / "model.onnx", SAMPLES, scores).count("QuantizeLinear") == 2


def test_a_model_of_tensorflow_2_is_quantized(tmp_path):
    with tarfile.open(FIXTURES / "tensorflow_2_models" / "convolutional.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (path,) = (each.parent for each in tmp_path.rglob("saved_model.pb"))
    np.save(tmp_path / "samples.npy", IMAGES)
    assert invoke("export", path, "--onnx", tmp_path / "float.onnx")[0] == 0
    status, output = export(tmp_path, path, "samples.npy")
    assert status == 0, output
    expected = run(onnx.load(tmp_path / "float.onnx"), {"x": IMAGES})[0]
    assert "QuantizeLinear" in check(tmp_path / "model.onnx", IMAGES, expected)


def test_a_keras_model_is_quantized_with_normalization_in_its_weights(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        layers = tf.keras.layers
        first = layers.Conv2D(4, 3, use_bias=False, input_shape=(8, 8, 3))
        inner = [layers.BatchNormalization(), layers.ReLU(), layers.Dropout(0.5), layers.Flatten()]
        model = tf.keras.Sequential([first, *inner, layers.Dense(2)])
        scores = model.predict(IMAGES)
        model.save(str(tmp_path / "model.h5"))
    np.save(tmp_path / "samples.npy", IMAGES)
    status, output = export(tmp_path, "model.h5", "samples.npy")
    assert status == 0, output
    assert not {"BatchNormalization", "Mul", "If"} & set(check(tmp_path / "model.onnx", IMAGES, scores))


def test_samples_of_several_inputs_have_their_names(tmp_path):
    with tf.Graph().as_default():
        one, other = (tf.placeholder(tf.float32, [None, 3], name) for name in ("one", "other"))
        y = tf.layers.dense(tf.concat([one, other], 1), 4)
        save(tmp_path, {"a": one, "b": other}, y)
    np.savez(tmp_path / "samples.npz", a=SAMPLES, b=SAMPLES)
    status, output = export(tmp_path, "saved", "samples.npz")
    assert status == 0 and output.startswith("input a: float [?, 3]\ninput b: float [?, 3]\n"), output
    np.save(tmp_path / "samples.npy", SAMPLES)
    status, output = export(tmp_path, "saved", "samples.npy")
    assert status == 1 and "samples.npy: expected an .npz file with a, b, received a single array" in output


def npz(**arrays):
    return lambda path: np.savez(path.open("wb"), **arrays)


def npy(array):
    return lambda path: np.save(path.open("wb"), array)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (npz(images=SAMPLES), "bad: expected arrays features, received images"),
        (npz(), "bad: expected arrays features, received none"),
        (npz(features=IMAGES), "bad: expected 'features' of shape [?, 3], received [40, 8, 8, 3]"),
        (npy(SAMPLES[:, :2]), "bad: expected 'features' of shape [?, 3], received [40, 2]"),
        (npy(SAMPLES[:0]), "bad: expected 1 samples at least, received 0"),
        (npy(SAMPLES * np.nan), "dataset: an element leads to values that are not finite"),
        (npy(np.full([40, 3], "red")), "could not convert string to float"),
        (lambda path: path.touch(), "bad: expected a file of numpy.savez or numpy.save, received another one"),
        (lambda path: path.write_bytes(b"PK\x03\x04"), "bad: expected a file of numpy.savez or numpy.save"),
        (lambda path: None, "File"),
    ],
)
def test_bad_samples_are_refused_in_one_line(network, write, text):
    folder, _ = network
    write(folder / "bad")
    status, output = export(folder, "saved", "bad")
    assert status != 0 and text in output and "Traceback" not in output and len(output.splitlines()) < 6
    assert not (folder / "model.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("frozen.pb",), "--inputs, --outputs: expected the names of tensors"),
        (("frozen.pb", "--inputs", "x", "--outputs", "z"), "--outputs: expected tensors of the graph, received 'z'"),
        (("frozen.pb", "--inputs", "z:0", "--outputs", "y"), "--inputs: expected tensors of the graph, received 'z:0'"),
        (("model.meta", "--inputs", "x", "--outputs", "z"), "z is not in graph"),
        (("saved", "--signature-def", "other"), "expected one of serving_default"),
        (("saved", "--shape", "features=2,4"), "that agrees with [?, 3], received [2, 4]"),
    ],
)
def test_what_cannot_be_quantized_is_said_in_one_line(network, arguments, text):
    folder, _ = network
    path, *options = arguments
    status, output = export(folder, path, "samples.npy", *options)
    assert status != 0 and text in output and "Traceback" not in output, output


def test_a_model_without_layers_is_not_quantized(tmp_path):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        save(tmp_path, {"x": x}, tf.multiply(x, tf.get_variable("w", initializer=3.0), name="y"))
    np.save(tmp_path / "samples.npy", SAMPLES)
    status, output = export(tmp_path, "saved", "samples.npy")
    assert status == 1 and "no convolution or matrix product" in output
