"""Host memory: shape arithmetic stays on the host, and there is one copy per value and memory."""

import pytest

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.partition.host_memory import arguments, assign_memory
from thalweg._src.graph.ir.step_graph import Node


def assigned(fetches, feeds=(), targets=()):
    step = step_graph(list(feeds), list(fetches), list(targets))
    assign_memory(step)
    seen = set()
    for node in step.nodes:  # still in order
        assert all(p in seen for p in node.predecessors())
        seen.add(node)
    return step


def named(step, name) -> Node:
    return next(node for node in step.nodes if node.name == name)


def copies(step, kind="_Copy"):
    return [node.name for node in step.nodes if node.type.startswith(kind)]


def on_host(step):
    return {node.name for node in step.nodes if "_host" in node.attrs}


def test_feeds_are_copied_to_the_device_and_fetches_back():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.sin(x, name="y")
    step = assigned([y], [x])
    assert [node.type for node in step.nodes] == ["_Arg", "_CopyToDevice", "Sin", "_CopyToHost"]
    assert step.fetches[0][0].type == "_CopyToHost"


def test_one_copy_per_value_and_memory():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.sin(x, name="y")
    step = assigned([tf.cos(x), y + tf.tan(x), y, tf.identity(y), y], [x])
    assert len([n for n in copies(step) if n == "_arg_x_0/_to_device"]) == 1
    assert len([n for n in copies(step) if n == "y/_to_host"]) == 1
    assert step.fetches[2] == step.fetches[4]


def test_a_fed_value_that_is_only_fetched_is_not_copied():
    x = tf.placeholder(tf.float32, [None], name="x")
    step = assigned([x], [x])
    assert [node.type for node in step.nodes] == ["_Arg"]


def test_shape_arithmetic_stays_on_the_host():
    x = tf.placeholder(tf.float32, [None, None], name="x")
    y = tf.exp(x, name="y")
    size = tf.shape(y, name="size")
    half = tf.floordiv(size[0], 2, name="half")
    rows = tf.stack([half, -1], name="rows")
    z = tf.reshape(y, rows, name="z")
    step = assigned([z], [x])
    assert {"half", "rows"} <= on_host(step)
    assert "y" not in on_host(step) and "z" not in on_host(step)
    assert copies(step) == ["_arg_x_0/_to_device", "z/_to_host"]  # none for the shapes
    assert named(step, "z").inputs[1] == (named(step, "rows"), 0)


def test_a_shape_that_is_fetched_is_on_the_host_already():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.exp(x)
    step = assigned([tf.size(y, name="count") * 2], [x])
    assert copies(step, "_CopyToHost") == []


def test_floats_are_computed_on_the_device():
    x = tf.placeholder(tf.float32, [None], name="x")
    n = tf.cast(tf.size(x), tf.float32, name="n")
    mean = tf.divide(tf.reduce_sum(x), n, name="mean")
    step = assigned([mean], [x])
    assert "n" not in on_host(step) and "mean" not in on_host(step)


def test_integers_computed_from_values_of_the_device_stay_there():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.exp(x)
    index = tf.cast(y, tf.int32, name="index")
    step = assigned([tf.add(index, 1, name="next")], [x])
    assert not {"index", "next"} & on_host(step)
    assert "next/_to_host" in copies(step)


def test_a_size_computed_on_the_device_is_copied_to_the_host_once():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.exp(x)
    n = tf.cast(tf.reduce_sum(y), tf.int32, name="n")
    a, b = tf.fill([2, n], 1.0), tf.reshape(y, tf.expand_dims(n, 0))
    dims = tf.stack([n, n], name="dims")
    step = assigned([a, b, tf.reshape(y, dims, name="c"), tf.reshape(y, dims, name="d")], [x])
    assert copies(step).count("dims/_to_host") == 1


def test_constants_are_replicated_rather_than_copied():
    x = tf.placeholder(tf.float32, [None], name="x")
    shape = tf.constant([2, 2], name="shape")
    y = tf.reshape(tf.exp(x), shape, name="y")
    on_device = tf.cast(tf.exp(x), tf.int32) + tf.reduce_sum(shape)
    step = assigned([y, on_device], [x])
    assert {node.name for node in step.nodes if node.type == "Const"} >= {"shape", "shape/_host"}
    assert named(step, "y").inputs[1] == (named(step, "shape/_host"), 0)
    assert not any(name.startswith("shape") for name in copies(step))
    assert "_host" not in named(step, "shape").attrs


def test_a_fetched_constant():
    c = tf.constant([1.0, 2.0], name="c")
    step = assigned([c, tf.sin(c)])
    assert step.fetches[0] == (named(step, "c/_host"), 0)


def test_a_constant_used_only_on_the_host_stays_there():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.reshape(tf.exp(x), tf.constant([2, 2], name="shape"))
    step = assigned([y], [x])
    assert [node.name for node in step.nodes if node.type == "Const"] == ["shape/_host"]


def test_variables_stay_on_the_device():
    v = tf.Variable([1, 2], name="v")
    step = assigned([v.read_value()], targets=[tf.assign_add(v, [1, 1]).op])
    assert not any(
        node.type in ("VarHandleOp", "ReadVariableOp", "AssignAddVariableOp")
        for node in step.nodes
        if "_host" in node.attrs
    )
    assert not any("v/" in name for name in copies(step, "_CopyToDevice"))


def test_the_users_graph_is_not_changed():
    x = tf.placeholder(tf.float32, [None, None], name="x")
    count = tf.size(x) * 2
    before = dict(count.op.attrs)
    assigned([tf.fill(tf.stack([count]), 1.0)], [x])
    assert count.op.attrs == before


def test_arguments_name_each_flat_input():
    x = tf.placeholder(tf.float32, [2])
    stacked = step_graph([x], [tf.concat([x, x, x], 0)], []).nodes[-1]
    names = [arg.name for arg in arguments(stacked.definition.inputs, stacked.attrs, 4)]
    assert names == ["values", "values", "values", "axis"]
    function = step_graph([x], [tf.py_func(lambda a, b: a, [x, 1], tf.float32)], []).nodes[-1]
    assert [arg.name for arg in arguments(function.definition.inputs, function.attrs, 2)] == ["input", "input"]
    with pytest.raises(AssertionError):
        arguments(stacked.definition.inputs, stacked.attrs, 5)
