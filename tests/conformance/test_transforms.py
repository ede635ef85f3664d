"""TensorFlow runs frozen graphs after every transform, with our numbers."""

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from thalweg.tools.graph_transforms import TransformGraph

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

TRANSFORMS = {
    "plain": "",
    "folded": "strip_unused_nodes fold_constants fold_batch_norms fold_old_batch_norms merge_duplicate_nodes",
    "small": "strip_unused_nodes fold_constants fold_batch_norms round_weights quantize_weights(minimum_size=16)",
    "anonymous": "remove_nodes(op=Identity) remove_device obfuscate_names sort_by_execution_order",
    "complete": "remove_attribute(attribute_name=data_format) add_default_attributes set_device(device=/cpu:0)",
    "flat": "fold_constants flatten_atrous_conv",
}
RUN = """
folder, *names = sys.argv[1:]
found = {}
for name in names:
    message = tf.GraphDef()
    message.ParseFromString(open(f"{folder}/{name}.pb", "rb").read())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        found[name] = session.run("y:0", {"x:0": np.load(f"{folder}/x.npy")})
np.savez(f"{folder}/theirs.npz", **found)
"""


def network(x):
    """Returns a network whose branches and loops read variables, with both kinds of batch normalization."""
    hidden = tf.layers.conv2d(x, 8, 3, padding="same", use_bias=False)
    hidden = tf.nn.relu(tf.layers.batch_normalization(hidden))
    spread = tf.space_to_batch_nd(hidden, [2, 2], [[2, 2], [2, 2]])
    hidden = tf.nn.conv2d(spread, tf.get_variable("holes", [3, 3, 8, 4]), [1, 1, 1, 1], "VALID")
    hidden = tf.batch_to_space_nd(hidden, [2, 2], [[0, 0], [0, 0]])
    hidden = tf.nn.conv2d(hidden, tf.get_variable("plain", [1, 1, 4, 4]), [1, 1, 1, 1], "SAME")
    mean, variance, offset, scale = (tf.constant([each] * 4) for each in (0.1, 0.5, 0.2, 1.5))
    hidden = tf.nn.batch_normalization(hidden, mean, variance, offset, scale, 0.01)
    w = tf.get_variable("w", [4, 4], use_resource=True)
    features = tf.reduce_mean(hidden, [1, 2])
    chosen = tf.cond(tf.reduce_sum(features) > 0.0, lambda: features @ w, lambda: features - w[0])
    return tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, tf.tanh(z @ w)), [0, chosen])[1]


def test_tensorflow_rounds_as_we_do(tmp_path):
    x = np.random.RandomState(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(1)
        tf.identity(network(tf.placeholder(tf.float32, [2, 8, 8, 3], name="x")), name="y")
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
        tf.contrib.quantize.create_eval_graph(graph)
        session.run(tf.global_variables_initializer())
        trained = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    graphs = {"trained": trained, "calibrated": tf.export.calibrate(frozen, [x], ["x"], ["y"]).graph_def}
    ours = {}
    for name, graph_def in graphs.items():
        assert "FakeQuantWithMinMaxVars" in {node.op for node in graph_def.node}
        (tmp_path / f"{name}.pb").write_bytes(graph_def.SerializeToString())
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(graph_def, name="")
            ours[name] = session.run("y:0", {"x:0": x})
    run_tensorflow(RUN, tmp_path, *graphs)
    theirs = np.load(tmp_path / "theirs.npz")
    for name in graphs:
        np.testing.assert_allclose(theirs[name], ours[name], atol=2e-3)


def test_tensorflow_runs_transformed_graphs(tmp_path):
    x = np.random.RandomState(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        tf.identity(network(tf.placeholder(tf.float32, [2, 8, 8, 3], name="x")), name="y")
        session.run(tf.global_variables_initializer())
        expected = session.run("y:0", {"x:0": x})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    for name, transforms in TRANSFORMS.items():
        found = TransformGraph(frozen, ["x"], ["y"], [transforms])
        kinds = [node.op for node in found.node]
        assert (name == "flat") == ("SpaceToBatchND" not in kinds)
        assert (name == "folded") == ("FusedBatchNormV3" not in kinds)
        (tmp_path / f"{name}.pb").write_bytes(found.SerializeToString())
    run_tensorflow(RUN, tmp_path, *TRANSFORMS)
    theirs = np.load(tmp_path / "theirs.npz")
    for name in TRANSFORMS:
        np.testing.assert_allclose(theirs[name], expected, rtol=1e-4, atol=0.05 if name == "small" else 1e-4)
