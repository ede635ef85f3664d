"""Quantized networks: weights and biases are integers in the file, and onnxruntime chooses integer kernels."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import case, check, equal, random, run, types

IMAGES = random(8, 16, 16, 3)
FILTER = random(3, 3, 3, 5)
ENDS = np.float32([1, 2, 3, 0.5, 0])


def network(x):
    """Returns the scores of a residual network with all kinds of layers."""

    def layer(x, channels, stride=1):
        padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        found = tf.layers.conv2d(padded, channels, 3, stride, use_bias=False)
        return tf.layers.batch_normalization(found, beta_initializer=tf.random_normal_initializer())

    x = tf.nn.max_pool(tf.nn.relu(layer(x, 64)), 3, 2, "SAME")
    x = tf.nn.relu(layer(x, 256, 2) + layer(tf.nn.relu(layer(x, 256, 2)), 256))
    x = tf.layers.separable_conv2d(x, 256, 3, padding="same", activation=tf.nn.relu)
    return tf.layers.dense(tf.layers.dense(tf.reduce_mean(x, [1, 2]), 64, tf.nn.relu), 5)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Returns a folder with a network, exported as it is and calibrated, and the calibrated one."""
    folder = tmp_path_factory.mktemp("quantized")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 16, 16, 3], "x")
        y = network(x)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"y": y})
    tf.onnx.from_saved_model(folder / "saved", path=folder / "float.onnx")
    model = tf.export.calibrate(str(folder / "saved"), [IMAGES])
    tf.onnx.from_graph_def(model.graph_def, model.inputs, model.outputs, folder / "integer.onnx")
    return folder, model


def kernels(model, folder):
    """Returns how often onnxruntime calls each kernel for a model."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node)


def stored(model):
    """Returns the types of a model's constants with two axes or more."""
    return [
        onnx.helper.tensor_dtype_to_np_dtype(each.data_type) for each in model.graph.initializer if len(each.dims) > 1
    ]


def test_a_calibrated_network_has_weights_of_a_byte(files):
    folder, _ = files
    model = onnx.load(folder / "integer.onnx")
    assert stored(model) == [np.int8] * 8
    constants = {each.name for each in model.graph.initializer}
    assert not [node for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] in constants]
    assert (folder / "integer.onnx").stat().st_size <= 0.27 * (folder / "float.onnx").stat().st_size


def test_a_calibrated_network_computes_the_same_as_in_a_session(files):
    folder, model = files
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(model.graph_def, name="")
        expected = session.run(model.outputs["y"], {model.inputs["x"]: IMAGES})
    step = np.abs(expected).max() / 128
    found = run(onnx.load(folder / "integer.onnx"), {"x": IMAGES})[0]
    equal("y", expected, found, rtol=0, atol=3 * step)  # a tie may be rounded the other way
    assert np.abs(found - expected).mean() < step


def test_a_calibrated_network_runs_on_integer_kernels(files):
    folder, _ = files
    found = kernels(onnx.load(folder / "integer.onnx"), folder)
    names = ("QLinearConv", "QGemm", "QLinearAdd", "QLinearGlobalAveragePool", "QuantizeLinear")  # the last, of images
    assert [found[name] for name in names] == [6, 2, 1, 1, 1]
    assert not {"Conv", "Gemm", "Add", "Relu", "DequantizeLinear", "Pad"} & set(found)


def test_a_channel_without_weights_does_not_keep_a_layer_from_integers(tmp_path):
    kernel, bias = random(3, 3, 3, 4), np.float32([1, 2, 300, -4])
    kernel[..., 1:3] = 0
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 16, 16, 3], "x")
        found = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))
        tf.nn.conv2d(found, random(1, 1, 4, 2), 1, "SAME", name="y")
    rounded = tf.export.calibrate(graph.as_graph_def(), [IMAGES], ["x"], ["y"])
    model = tf.onnx.from_graph_def(rounded.graph_def, ["x"], ["y"])
    assert kernels(model, tmp_path)["QLinearConv"] == 1 and "Add" not in types(model)


@pytest.mark.parametrize(
    ("round_weights", "dtype"),
    [
        (lambda x: tf.fake_quant_with_min_max_vars(x, -2.0, 2.0, narrow_range=True), np.int8),
        (lambda x: tf.fake_quant_with_min_max_vars(x, -1.0, 2.5), np.uint8),
        (lambda x: tf.fake_quant_with_min_max_vars(x, -1.0, 2.5, num_bits=4), np.int8),
        (lambda x: tf.fake_quant_with_min_max_vars_per_channel(x, -1 - ENDS, 1 + ENDS, narrow_range=True), np.int8),
        (lambda x: tf.fake_quant_with_min_max_vars_per_channel(x, -1 - ENDS, 2 * (1 + ENDS)), np.uint8),
        (lambda x: tf.fake_quant_with_min_max_vars_per_channel(x, -1 - ENDS, 1 + ENDS[::-1]), np.uint8),
    ],
)
def test_weights_are_stored_in_bytes_where_they_have_so_few_levels(round_weights, dtype):
    def build(x):
        x = tf.fake_quant_with_min_max_args(x, -1.0, 2.0)
        return tf.nn.bias_add(tf.nn.conv2d(x, round_weights(tf.constant(FILTER)), 1, "SAME"), random(5))

    model = check(case("FakeQuantWithMinMaxArgs", build, IMAGES, atol=2e-3))  # the step of the bias
    assert types(model).count("QuantizeLinear") == 1  # of the input
    assert stored(model) == [dtype]
    assert types(model)[-3:] == ["DequantizeLinear", "Conv", "Transpose"]  # the first one is of the bias


def test_weights_with_more_levels_stay_floats():
    def build(x):
        return tf.nn.conv2d(x, tf.fake_quant_with_min_max_vars(tf.constant(FILTER), -1.0, 2.5, num_bits=12), 1, "SAME")

    assert "DequantizeLinear" not in types(check(case("FakeQuantWithMinMaxVars", build, IMAGES)))


@pytest.mark.parametrize(
    "build",
    [
        lambda conv, x: conv(x) + random(16, 16, 5),  # one for each pixel
        lambda conv, x: conv(x) + 2.0,
        lambda conv, x: conv(x) + 1e9,  # too many steps for 32 bits
        lambda conv, x: conv(x) + x[..., :1],
        lambda conv, x: tf.stack([conv(x), conv(x) + random(5)]),
        lambda conv, x: conv(tf.sin(x)) + random(5),
        lambda conv, x: tf.cond(x[0, 0, 0, 0] > 0.0, lambda: conv(x) + 2.0, lambda: conv(x)),
    ],
)
def test_what_is_no_bias_of_integers_is_added(build):
    def product(x):
        weights = tf.fake_quant_with_min_max_args(FILTER, -2.0, 2.0, narrow_range=True)
        return tf.nn.conv2d(x, weights, 1, "SAME")

    model = check(case("Conv2D", lambda x: build(product, tf.fake_quant_with_min_max_args(x, -1.0, 2.0)), IMAGES))
    assert "Add" in types(model) and stored(model)[0] == np.int8


@pytest.mark.parametrize("axes", [[1, 2], [-2, -3]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_mean_of_quantized_images_is_a_pool(axes, keepdims):
    def build(x):
        return tf.reduce_mean(tf.fake_quant_with_min_max_args(x, -1.0, 2.0), axes, keepdims=keepdims)

    assert "GlobalAveragePool" in types(check(case("Mean", build, IMAGES)))


@pytest.mark.parametrize("axes", [[0, 1], [1, 2, 3], 1])
def test_other_means_of_quantized_values_are_not(axes):
    def build(x):
        return tf.reduce_mean(tf.fake_quant_with_min_max_args(x, -1.0, 2.0), axes)

    assert "ReduceMean" in types(check(case("Mean", build, IMAGES)))
