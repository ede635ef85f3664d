"""Order hints: respected if both operations run, rejected if they are impossible."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.watched import held_in
from thalweg._src.graph.order_hints import after

ONE = tf.ConfigProto(device_count={"CPU": 1, "GPU": 0})


def noting(seen, name, value=0.0):
    return tf.py_func(lambda: seen.append(name) or np.float32(value), [], tf.float32, name=name)


def test_hinted_operations_run_in_order():
    seen = []
    a, b, c = (noting(seen, name) for name in "abc")
    with tf.Session(config=ONE) as session:
        session.run([a, b, c])
        assert seen == ["a", "b", "c"]
        after([b, c], then=a)  # plans that exist are made again
        seen.clear()
        session.run([a, b, c])
        assert seen == ["b", "c", "a"]


def test_hints_add_no_operations_to_a_step():
    seen = []
    a, b = noting(seen, "a"), noting(seen, "b")
    after(a, b)
    with tf.Session(config=ONE) as session:
        session.run(b)
    assert seen == ["b"]


def test_pure_operations_are_ordered_to_save_memory():
    def peak(ordered):
        large = [tf.random_uniform([1 << 16]) for _ in range(6)]
        small = [tf.reduce_sum(tf.sin(tensor)) for tensor in large]
        if ordered:
            for earlier, later in zip(small, large[1:]):
                after(earlier, later)
        with tf.Session(config=ONE) as session:
            return held_in(session, tf.add_n(small))

    real, estimate = peak(ordered=True)
    assert real < 3 << 18 and estimate.peak < 3 << 18
    real, estimate = peak(ordered=False)
    assert real > 6 << 18 and estimate.peak > 6 << 18


def test_across_devices():
    seen = []
    with tf.device("/cpu:0"):
        a = noting(seen, "a")
    with tf.device("/cpu:1"):
        b = noting(seen, "b")
        c = noting(seen, "c")
    after(b, a)
    after(a, c.op)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        for _ in range(3):
            seen.clear()
            session.run([a, b, c])
            assert seen == ["b", "a", "c"]


def test_inside_a_loop():
    seen = []

    def body(i):
        a = tf.py_func(lambda n: seen.append("a") or n, [i], tf.int32)
        b = tf.py_func(lambda n: seen.append("b") or n, [i], tf.int32)
        after(b, a)
        return i + 1 + tf.reshape(0 * (a + b), [])

    with tf.Session(config=ONE) as session:
        assert session.run(tf.while_loop(lambda i: i < 2, body, [0], back_prop=False)) == 2
    assert seen == ["b", "a", "b", "a"]


def test_only_the_operation_waits_not_its_inputs():
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    read, write = v.read_value(), v.assign(5.0)
    after(write, [read.op.inputs[0] if read.op.type == "Identity" else read])
    with tf.Session(config=ONE) as session:
        session.run(v.initializer)
        assert session.run([read, write])[0] == 5.0


def test_a_cycle_is_rejected_with_its_path():
    a = tf.random_uniform([], name="a")
    b = tf.sin(a, name="b")
    with tf.control_dependencies([b]):
        c = tf.random_normal([], name="c")
    d = tf.random_uniform([], name="d")
    after(c, d)
    with pytest.raises(ValueError, match="cannot wait for") as caught:
        after(d, a)
    text = str(caught.value)
    assert "'a' cannot wait for 'd', which waits for it" in text
    assert "received: 'a' -> 'b' -> " in text and text.index("'c") < text.rindex("'d'")
    assert "defined at: test_order_hints.py:" in text
    with pytest.raises(ValueError, match="'a' cannot wait for 'a'"):
        after(a, a)
    with tf.Session(config=ONE) as session:
        session.run([a, d])  # rejected hints leave no trace


def test_invalid_hints():
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match="expected a tensor, an operation or a list"):
        after(x, "y")
    with pytest.raises(ValueError, match="a different graph"), tf.Graph().as_default():
        after(x, tf.constant(1.0))
    inner = []

    def body(i):
        inner.append(tf.identity(i, name="inner"))
        return inner[0] + 1

    y = tf.while_loop(lambda i: i < 2, body, [0])
    with pytest.raises(ValueError, match="operations of the same branch or loop"):
        after(x, inner[0])
    with pytest.raises(ValueError, match="operations of the same branch or loop"):
        after(inner[0], x)
    after(x, y)
    graph = tf.get_default_graph()
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        after(x, y)


def test_hints_survive_graph_def_round_trips():
    seen = []
    a, b = noting(seen, "a"), noting(seen, "b")
    after(b, a)
    definition = tf.get_default_graph().as_graph_def()
    assert next(node for node in definition.node if node.name == a.op.name).attr["_after"].list.s == [
        b.op.name.encode()
    ]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="", trusted=True)
        with tf.Session(graph=graph, config=ONE) as session:
            session.run([a.name, b.name])
    assert seen == ["b", "a"]
