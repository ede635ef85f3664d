"""Functions travel: TensorFlow runs our libraries, gradients included, and we run those that TensorFlow traces."""

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from tests.graph.function_maker import case_, floats, if_, while_
from thalweg._src.graph.ops.functional import call

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

RUN = """
graph_def = tf.GraphDef.FromString(open(sys.argv[1] + "/graph.pb", "rb").read())
with tf.Graph().as_default(), tf.Session() as session:
    tf.import_graph_def(graph_def, name="")
    results = [session.run(sys.argv[2:], {"x:0": x, "y:0": y}) for x, y in ((3.0, 1.0), (0.5, 2.0))]
np.save(sys.argv[1] + "/theirs.npy", results)
"""


def test_tensorflow_runs_ours(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = (tf.placeholder(tf.float32, [], name=name) for name in "xy")
        product = floats("product", lambda a, b: [tf.exp(a) * b, a + b], 2)
        nested = floats("nested", lambda a: [call(product, [a, tf.sin(a)]).outputs[0]])
        minus = floats("minus", lambda a: [-a * a])
        of_graph = floats("of_graph", lambda a: [tf.cond(a > 1.0, lambda: tf.sin(a), lambda: tf.cos(a))])
        condition = floats("condition", lambda a, b: [a < 50.0], 2)
        body = floats("body", lambda a, b: [a * 2 + b * b, b], 2)
        values = [
            *call(product, [x, y]).outputs,
            *call(nested, [x]).outputs,
            *call(of_graph, [x]).outputs,
            *if_(x > y, nested, minus, [x]),
            *case_(tf.cast(y, tf.int32), [nested, minus, nested], [x]),
            *while_(condition, body, [x, y]),
        ]
        names = [tensor.name for tensor in values]
        grads = tf.gradients(values, [x, y])
        second = tf.gradients(grads[0], [x])
        names += [tf.identity(tensor).name for tensor in (*grads, *second)]
        ours = [session.run(names, {x: a, y: b}) for a, b in ((3.0, 1.0), (0.5, 2.0))]
        (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    run_tensorflow(RUN, tmp_path, *names)
    np.testing.assert_allclose(np.load(tmp_path / "theirs.npy"), ours, rtol=1e-4)


TRACE = """
tf.enable_v2_behavior()
tf = tensorflow_2

@tf.function
def loop(x, y):
    def body(i, x):
        return i + 1, tf.cond(x > y, lambda: x * 0.5 + tf.sin(y), lambda: x + y)
    return tf.while_loop(lambda i, x: i < 3, body, [0, x])[1]

@tf.function
def program(x, y):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = loop(x, y) * tf.exp(-x) + loop(y, x)
    return [tf.identity(each) for each in (z, tape.gradient(z, x), tape.gradient(z, y))]

spec = tf.TensorSpec([], tf.float32)
traced = program.get_concrete_function(spec, spec)
open(sys.argv[1] + "/graph.pb", "wb").write(traced.graph.as_graph_def().SerializeToString())
names = [tensor.name for tensor in (*traced.inputs, *traced.outputs)]
open(sys.argv[1] + "/names.txt", "w").write("\\n".join(names))
calls = [program(tf.constant(a), tf.constant(b)) for a, b in ((3.0, 1.0), (0.5, 2.0))]
np.save(sys.argv[1] + "/theirs.npy", [[value.numpy() for value in results] for results in calls])
"""


def test_we_run_what_tensorflow_traces(tmp_path):
    run_tensorflow(TRACE, tmp_path)
    x, y, *results = (tmp_path / "names.txt").read_text().splitlines()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(GraphDef.FromString((tmp_path / "graph.pb").read_bytes()), name="")
        ours = [session.run(results, {x: a, y: b}) for a, b in ((3.0, 1.0), (0.5, 2.0))]
        np.testing.assert_allclose(ours, np.load(tmp_path / "theirs.npy"), rtol=1e-4)
        inputs, value = [graph.get_tensor_by_name(name) for name in (x, y)], graph.get_tensor_by_name(results[0])
        again = tf.gradients(value, inputs)
        for (a, b), (_, *grads) in zip(((3.0, 1.0), (0.5, 2.0)), ours):
            np.testing.assert_allclose(session.run(again, {x: a, y: b}), grads, rtol=1e-4)
