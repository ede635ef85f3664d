"""Graphs travel: TensorFlow runs ours, we run TensorFlow's, with the same numbers."""

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from thalweg._src.base import dtypes
from thalweg._src.graph.tensor_proto import MakeNdarray

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

# Both sides build the same network by the same words; ours is this module's `tf`, theirs tf.compat.v1.
NETWORK = """
def network(tf):
    rng = np.random.RandomState(3)
    x = tf.placeholder(tf.float32, [None, 5], name="x")
    labels = tf.placeholder(tf.float32, [None, 3], name="labels")
    with tf.variable_scope("hidden", use_resource=True):
        w = tf.get_variable("w", initializer=tf.constant(rng.normal(size=(5, 7)).astype(np.float32)))
        b = tf.get_variable("b", [7], initializer=tf.zeros_initializer())
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
    with tf.variable_scope("output", use_resource=True):
        v = tf.get_variable("v", initializer=tf.constant(rng.normal(size=(7, 3)).astype(np.float32)))
    logits = tf.matmul(hidden, v, name="logits")
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    tf.identity(tf.gradients(loss, x)[0], name="slope")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    tf.variables_initializer(tf.global_variables(), name="init")
"""
STEPS = '''
def steps(session, prefix=""):
    """Trains a little and returns every number on the way."""
    rng = np.random.RandomState(4)
    feeds = {
        prefix + "x:0": rng.normal(size=(6, 5)).astype(np.float32),
        prefix + "labels:0": np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 1, 2]],
    }
    session.run(prefix + "init")
    result = {"loss": [], "slope": []}
    for _ in range(5):
        loss, slope = session.run([prefix + "loss:0", prefix + "slope:0"], feeds)
        session.run(prefix + "train", feeds)
        result["loss"].append(loss)
        result["slope"].append(slope)
    result["logits"] = session.run(prefix + "logits:0", feeds)
    return {key: np.array(value) for key, value in result.items()}
'''
_defined: dict = {"np": np}
exec(NETWORK + STEPS, _defined)
network, steps = _defined["network"], _defined["steps"]


def _assert_same(a, b):
    assert sorted(a) == sorted(b)
    for key in a:
        np.testing.assert_allclose(a[key], b[key], rtol=1e-4, atol=1e-5, err_msg=key)


def _ours():
    with tf.Graph().as_default() as graph:
        network(tf)
        with tf.Session() as session:
            return graph, steps(session)


def test_tensorflow_runs_our_graph(tmp_path):
    graph, numbers = _ours()
    assert numbers["loss"][-1] < numbers["loss"][0]
    tf.train.write_graph(graph.as_graph_def(add_shapes=True), str(tmp_path), "ours.pb", as_text=False)
    tf.train.write_graph(graph, str(tmp_path), "ours.pbtxt")
    run_tensorflow(
        STEPS
        + """
from google.protobuf import text_format
binary, text, out = sys.argv[1:]
message = tf.GraphDef()
message.ParseFromString(open(binary, "rb").read())
tf.import_graph_def(message, name="ours")
tf.import_graph_def(text_format.Parse(open(text).read(), tf.GraphDef()), name="text")
with tf.Session() as session:
    np.savez(out, **steps(session, "ours/"))
""",
        tmp_path / "ours.pb",
        tmp_path / "ours.pbtxt",
        tmp_path / "theirs.npz",
    )
    _assert_same(dict(np.load(tmp_path / "theirs.npz")), numbers)


def test_we_run_tensorflows_graph(tmp_path):
    run_tensorflow(
        NETWORK
        + STEPS
        + """
binary, out = sys.argv[1:]
network(tf)
with tf.Session() as session:
    np.savez(out, **steps(session))
message = tf.get_default_graph().as_graph_def(add_shapes=True)
open(binary, "wb").write(message.SerializeToString())
""",
        tmp_path / "theirs.pb",
        tmp_path / "theirs.npz",
    )
    message = GraphDef.FromString((tmp_path / "theirs.pb").read_bytes())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="theirs")
        _assert_same(steps(session, "theirs/"), dict(np.load(tmp_path / "theirs.npz")))
    _assert_same(_ours()[1], dict(np.load(tmp_path / "theirs.npz")))


def test_what_tensorflow_writes_comes_back_unchanged(tmp_path):
    """Importing and writing again loses nothing that TensorFlow 1.15 wrote, but for names of newer attributes."""
    run_tensorflow(
        NETWORK
        + """
network(tf)
with tf.device("/job:ps/task:1"), tf.control_dependencies([tf.no_op()]):
    a = tf.constant([[1.5, 2], [3, 4]], name="a")
with tf.colocate_with(a):
    tf.identity(a, name="b")
open(sys.argv[1], "wb").write(tf.get_default_graph().as_graph_def().SerializeToString())
""",
        tmp_path / "theirs.pb",
    )
    message = GraphDef.FromString((tmp_path / "theirs.pb").read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        ours = {node.name: node for node in graph.as_graph_def().node}
    for node in message.node:
        mine = ours[node.name]
        assert (mine.op, mine.device, sorted(mine.input)) == (node.op, node.device, sorted(node.input))
        for key in mine.attr:
            if mine.attr[key].HasField("tensor"):
                np.testing.assert_array_equal(MakeNdarray(mine.attr[key].tensor), MakeNdarray(node.attr[key].tensor))
            else:
                assert mine.attr[key] == node.attr[key], f"{node.name} {key}"


DTYPES = sorted(dtype.name for dtype in dtypes.ALL - {dtypes.resource, dtypes.variant})


def _samples(dtype):
    """Gives a scalar, a matrix, an array of equal elements and an empty one of a type."""
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    for value in (3, [[1, 0, 2], [3, 1, 1]], [2, 2, 2], []):
        if kind is object:
            yield np.array(np.vectorize(lambda e: b"%d" % e, otypes=[object])(value) if value != [] else [], object)
        elif dtype.is_quantized:
            yield np.array(value, np.dtype(kind).fields[dtype.name][0]).view(kind)
        else:
            yield np.array(value).astype(kind)


def test_tensors_of_every_type_travel(tmp_path):
    for name in DTYPES:
        for i, array in enumerate(_samples(tf.as_dtype(name))):
            (tmp_path / f"{name}_{i}").write_bytes(tf.make_tensor_proto(array, name).SerializeToString())
    run_tensorflow(
        """
from tensorflow.core.framework.tensor_pb2 import TensorProto
import os
folder = sys.argv[1]
for name in os.listdir(folder):
    message = TensorProto.FromString(open(os.path.join(folder, name), "rb").read())
    array = tf.make_ndarray(message)
    dtype = tf.as_dtype(message.dtype)
    assert dtype.name == name.split("_")[0], (dtype, name)
    again = tf.make_tensor_proto(array, dtype, shape=array.shape)
    open(os.path.join(folder, name + ".tf"), "wb").write(again.SerializeToString())
""",
        tmp_path,
    )
    for name in DTYPES:
        for i, array in enumerate(_samples(tf.as_dtype(name))):
            back = MakeNdarray(TensorProto.FromString((tmp_path / f"{name}_{i}.tf").read_bytes()))
            assert back.dtype == array.dtype and back.shape == array.shape
            np.testing.assert_array_equal(back, array)
