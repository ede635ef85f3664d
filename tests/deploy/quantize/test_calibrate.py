"""Calibration of trained models on a dataset."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.transform.graphs import inputs, ops, run
from thalweg._src.runtime.eager.mode import eager_mode

calibrate = tf.export.calibrate
RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.normal(size=(32, 8, 8, 3)).astype(np.float32)


def dataset():
    return tf.data.Dataset.from_tensor_slices(IMAGES).batch(8)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Returns the folder of a SavedModel with all kinds of layers."""
    folder = str(tmp_path_factory.mktemp("calibrate") / "saved")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        hidden = tf.layers.conv2d(x, 8, 3, padding="same", use_bias=False, name="conv1")
        hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, name="norm1"), name="relu1")
        inner = tf.layers.separable_conv2d(hidden, 8, 3, padding="same", activation=tf.nn.relu, name="conv2")
        joined = tf.nn.relu(tf.add(hidden, inner, name="join"), name="joined")
        features = tf.layers.flatten(tf.layers.max_pooling2d(joined, 2, 2))
        logits = tf.layers.dense(features, 5, name="logits")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, folder, {"images": x}, {"logits": logits})
    return folder


@pytest.fixture(scope="module")
def model(saved):
    return calibrate(saved, dataset)


def kinds(graph_def, op):
    return {node.name: node for node in graph_def.node if node.op == op}


def test_weights_and_activations_are_rounded(model):
    weights = kinds(model.graph_def, "FakeQuantWithMinMaxVarsPerChannel")
    activations = kinds(model.graph_def, "FakeQuantWithMinMaxVars")
    assert len(weights) == 4 and all(node.attr["narrow_range"].b for node in weights.values())
    names = {name.removesuffix("/act_quant/FakeQuantWithMinMaxVars") for name in activations}
    assert names == {"x", "relu1", "conv2/separable_conv2d/depthwise", "conv2/Relu", "joined"} == set(model.ranges)
    assert not kinds(model.graph_def, "FusedBatchNormV3") and model.inputs == {"images": "x:0"}
    assert all(low <= 0.0 <= high for low, high in model.ranges.values())


def test_a_rounded_model_computes_nearly_the_same(model):
    expected = run(model.original, {"x:0": IMAGES}, model.outputs["logits"])
    found = run(model.graph_def, {"x:0": IMAGES}, model.outputs["logits"])
    assert 0 < np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


def test_the_measured_ranges_are_those_of_the_data(model):
    assert model.ranges["x"] == (IMAGES.min(), IMAGES.max())
    joined = run(model.original, {"x:0": IMAGES}, "joined:0")
    np.testing.assert_allclose(model.ranges["joined"], (0.0, joined.max()), rtol=1e-6)
    low = kinds(model.graph_def, "Const")["x/act_quant/min"]
    assert tf.make_ndarray(low.attr["value"].tensor) == IMAGES.min()


def test_outputs_are_not_rounded_where_they_are_only_forwarded():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        scores = tf.matmul(tf.nn.relu(tf.matmul(x, RANDOM.normal(size=(4, 8)).astype(np.float32))), np.eye(8, 3))
        tf.reshape(tf.identity(scores), [-1, 3, 1], name="y")
    ranges = calibrate(graph.as_graph_def(), [np.ones([2, 4], np.float32)], ["x"], ["y"]).ranges
    assert set(ranges) == {"x", "Relu"}


def test_layers_in_functions_are_found():
    @tf.function
    def layer(x):
        return tf.nn.relu(tf.matmul(x, tf.constant(np.eye(3, 5), tf.float32)))

    with tf.Graph().as_default() as graph:
        tf.matmul(layer(tf.placeholder(tf.float32, [None, 3], name="x")), np.ones([5, 2], np.float32), name="y")
    found = calibrate(graph.as_graph_def(), [np.ones([2, 3], np.float32)], ["x"], ["y"])
    assert len(kinds(found.graph_def, "FakeQuantWithMinMaxVarsPerChannel")) == 2 and len(found.ranges) == 2


def test_inputs_may_be_outputs_of_one_operation():
    with tf.Graph().as_default() as graph:
        one, other = tf.split(tf.placeholder(tf.float32, [None, 4], name="x"), 2, 1, name="split")
        tf.matmul(one + other, np.eye(2, dtype=np.float32), name="y")
    batch = {"split": np.ones([1, 2], np.float32), "split:1": np.ones([1, 2], np.float32)}
    found = calibrate(graph.as_graph_def(), [batch], ["split:0", "split:1"], ["y"])
    assert found.inputs == {"split": "split:0", "split:1": "split:1"}


def test_more_bits_leave_smaller_differences(saved):
    found = [calibrate(saved, dataset, weight_bits=bits, activation_bits=bits) for bits in (4, 8, 12)]
    differences = [each.compare(dataset).difference for each in found]
    assert differences[0] > 4 * differences[1] > 16 * differences[2] > 0


def test_channels_of_their_own_are_more_exact_than_one_range(saved):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        weights = RANDOM.normal(size=(3, 4)).astype(np.float32) * np.float32([[0.01], [1.0], [100.0]])
        tf.matmul(x, weights, transpose_b=True, name="y")
    data = [RANDOM.normal(size=(16, 4)).astype(np.float32)]
    exact, coarse = (
        calibrate(graph.as_graph_def(), data, ["x"], ["y"], per_channel=each, activation_bits=16).graph_def
        for each in (True, False)
    )
    expected = data[0] @ weights.T
    for graph_def, limit in ((exact, 0.02), (coarse, 3.0)):
        error = np.abs(run(graph_def, {"x:0": data[0]}) - expected)[:, 0] / np.abs(expected[:, 0]).mean()
        assert error.max() < limit
    assert error.max() > 0.1  # of the coarse one
    assert ops(coarse)["y/weights_quant/FakeQuantWithMinMaxVars"] and inputs(exact, "y")[0].startswith("x/act_quant")


def test_percentiles_are_narrower(saved, model):
    found = calibrate(saved, dataset, method="percentile", percentile=99.0)
    for name, (low, high) in model.ranges.items():
        assert found.ranges[name][0] >= low and found.ranges[name][1] < high


@pytest.mark.parametrize(
    "given",
    [
        lambda: [IMAGES],
        lambda: [{"images": IMAGES}],
        lambda: [(IMAGES, np.zeros(32))],
        lambda: (lambda: tf.data.Dataset.from_tensors({"images": IMAGES})),
        lambda: tf.data.Dataset.from_tensor_slices((IMAGES, np.zeros(32))).batch(20),
    ],
)
def test_samples_come_in_several_forms(saved, model, given):
    with tf.Graph().as_default():
        found = calibrate(saved, given()).ranges
    assert list(found) == list(model.ranges)
    np.testing.assert_allclose(list(found.values()), list(model.ranges.values()), rtol=1e-5)


def test_a_part_of_the_samples_is_enough(saved, model):
    found = calibrate(saved, dataset, max_batches=1)
    assert found.ranges["x"] == (IMAGES[:8].min(), IMAGES[:8].max()) != model.ranges["x"]


def test_models_are_compared(model):
    labels = run(model.original, {"x:0": IMAGES}, model.outputs["logits"]).argmax(1)
    found = model.compare([(IMAGES[:16], labels[:16]), (IMAGES[16:], labels[16:])])
    assert found.accuracy == 1.0 and found.quantized_accuracy == found.agreement > 0.8
    weights = 27 * 8 + 9 * 8 + 64 + 128 * 5
    assert (found.bytes, found.quantized_bytes) == (4 * weights, weights)
    assert "accuracy 1.0000, quantized 0." in str(found) or "quantized 1.0000" in str(found)
    assert model.compare([IMAGES]).accuracy is None


def test_bad_arguments_are_refused(saved, model):
    for arguments, words in (
        ({"method": "mean"}, "method: expected 'min_max' or 'percentile'"),
        ({"method": "percentile", "percentile": 0.1}, "percentile: expected more than 50"),
        ({"weight_bits": 1}, "weight_bits: expected 2 to 16, received 1"),
        ({"signature_def_key": "none"}, "no signature 'none'"),
        ({"dataset": []}, "dataset: it has no elements"),
        ({"dataset": [{"x": IMAGES}]}, "an element lacks the inputs images; it has x"),
        ({"dataset": [IMAGES * np.inf]}, "not finite"),
    ):
        with pytest.raises(ValueError, match=words):
            calibrate(saved, **{"dataset": dataset, **arguments})
    with pytest.raises(TypeError, match=r"dataset: expected a tf\.data\.Dataset"):
        calibrate(saved, IMAGES)
    with pytest.raises(TypeError, match="model: expected the folder"):
        calibrate(tf.Graph(), dataset)
    with pytest.raises(ValueError, match="inputs, outputs: expected"):
        calibrate(model.original, dataset)
    with pytest.raises(ValueError, match="no elements"):
        model.compare([])


def test_a_graph_without_layers_is_refused():
    with tf.Graph().as_default() as graph:
        tf.negative(tf.placeholder(tf.float32, [None, 3], name="x"), name="y")
    with pytest.raises(ValueError, match="no convolution or matrix product with constant weights"):
        calibrate(graph.as_graph_def(), [np.ones([1, 3])], ["x"], ["y"])


def test_eager_programs_calibrate_too(saved):
    with eager_mode():
        data = tf.data.Dataset.from_tensors(np.ones([2, 8, 8, 3], np.float32))
        assert calibrate(saved, data).ranges["x"] == (0.0, 1.0)
        assert calibrate(saved, lambda: data).ranges["x"] == (0.0, 1.0)
