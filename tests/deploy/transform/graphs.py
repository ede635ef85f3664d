"""Graphs to transform, and the comparison of what they compute before and after."""

import numpy as np

import thalweg as tf
from thalweg.tools.graph_transforms import TransformGraph

RANDOM = np.random.RandomState(3)


def values(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def ops(graph_def):
    """Returns the types of all nodes, by name."""
    return {node.name: node.op for node in graph_def.node}


def inputs(graph_def, name):
    (found,) = (list(node.input) for node in graph_def.node if node.name == name)
    return found


def run(graph_def, feeds, output="y:0"):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(output, feeds)


def transformed(graph, transforms, feed, rtol=1e-5, atol=1e-5):
    """Returns the graph from x to y after transforms, which must change neither its numbers nor the argument."""
    before = graph.as_graph_def()
    copy = tf.GraphDef.FromString(before.SerializeToString())
    after = TransformGraph(before, ["x"], ["y"], [transforms])
    assert before == copy
    expected = run(before, {"x:0": feed})
    np.testing.assert_allclose(run(after, {"x:0": feed}), expected, rtol=rtol, atol=atol)
    return after
