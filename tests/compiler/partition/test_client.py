"""Partial runs: feeds are received from the client, and fetches are sent to it."""

import thalweg as tf
from tests.compiler.graphs import same
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.partition.client import receive_feeds, send_fetches


def step():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.exp(x, name="y")
    return step_graph([x], [y], [tf.group(y, name="z")])


def keys(graph, op_type):
    return [
        tuple(node.attrs[key] for key in ("tensor_name", "send_device", "recv_device"))
        for node in graph.nodes
        if node.type == op_type
    ]


def test_feeds_become_receives():
    graph = step()
    receive_feeds(graph, ["x:0"])
    expected = """
        _arg_x_0/_recv_0 = _Recv()
        y = Exp(_arg_x_0/_recv_0)
        z = NoOp() after y
        -> y, z"""
    assert same(graph, expected, in_order=False)
    assert graph.feeds == [] and keys(graph, "_Recv") == [("feed x:0", "client", "")]


def test_fetches_become_sends_and_targets_signals():
    graph = step()
    send_fetches(graph, ["y:0"], ["z"])
    expected = """
        _arg_x_0 = _Arg()
        y = Exp(_arg_x_0)
        y/_send_0 = _Send(y)
        z = NoOp() after y
        z/_signal = Const(False)
        z/_signal/_send_0 = _Send(z/_signal) after z
        -> y/_send_0, z/_signal/_send_0"""
    assert same(graph, expected, in_order=False)
    assert keys(graph, "_Send") == [("fetch y:0", "", "client"), ("fetch ^z", "", "client")]
