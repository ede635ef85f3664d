"""tf.contrib.graph_editor: selection, copying and rewiring of parts of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

ge = tf.contrib.graph_editor


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def names(elements: Any) -> list[str]:
    return [element.name for element in elements]


def run(fetches: Any, feed: Any = None, graph: Any = None) -> Any:
    with tf.Session(graph=graph) as session:
        return session.run(fetches, feed)


def chain() -> tuple[Any, ...]:
    """Returns a + b, its square and the sum of both, with a control edge from `first` to the square."""
    a, b = tf.constant([1.0, 2.0], name="a"), tf.constant([3.0, 4.0], name="b")
    with tf.name_scope("inner"):
        total = tf.add(a, b, name="total")
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            square = tf.square(total, name="square")
    return a, b, total, square, tf.add(total, square, name="result")


# -- selection --------------------------------------------------------------------------------------------------------


def test_walks_follow_edges(graph: Any) -> None:
    a, _, total, square, result = chain()
    assert set(names(ge.get_backward_walk_ops(result.op))) == {"result", "inner/total", "inner/square", "a", "b"}
    assert names(ge.get_backward_walk_ops([square], inclusive=False, stop_at_ts=[a])) == ["inner/total", "b"]
    assert "inner/first" in names(ge.get_backward_walk_ops([result], control_inputs=True))
    assert names(ge.get_forward_walk_ops(a)) == ["inner/total", "inner/square", "result"]
    assert names(ge.get_forward_walk_ops([total.op], within_ops=[total.op, result.op])) == ["inner/total", "result"]
    first = graph.get_operation_by_name("inner/first")
    assert names(ge.get_forward_walk_ops(first, control_outputs=ge.ControlOutputs(graph))) == [
        "inner/first",
        "inner/square",
        "result",
    ]
    assert names(ge.get_walks_intersection_ops([a], [square])) == ["inner/total", "inner/square"]
    assert set(names(ge.get_walks_union_ops([square.op], [total.op]))) == {
        *("inner/square", "result", "inner/total", "a", "b")
    }
    assert names(ge.get_forward_walk_ops(a, within_ops_fn=lambda op: op.type != "Square")) == ["inner/total", "result"]
    assert names(ge.get_forward_walk_ops(a, within_ops=[result.op])) == ["inner/total", "result"]


def test_selection_by_name(graph: Any) -> None:
    a, _, total, square, _ = chain()
    assert ge.get_name_scope_ops(graph, "inner/") == ge.select_ops("^inner/", graph=graph)
    assert names(ge.filter_ops_from_regex(graph, "square|first")) == ["inner/first", "inner/square"]
    assert names(ge.filter_ts([square.op], True)) == ["inner/total:0", "inner/square:0"]
    assert names(ge.filter_ts_from_regex(graph, r"^[ab]:0$")) == ["a:0", "b:0"]
    assert ge.select_ts(r"total:0", a, graph=graph) == [total, a]
    assert ge.select_ops_and_ts("(?#ts)^a:0", "^b$", graph=graph) == ([graph.get_operation_by_name("b")], [a])
    assert ge.filter_ops(graph, lambda op: op.type == "Square") == [square.op]
    assert ge.get_tensors(graph) == [t for op in graph.get_operations() for t in op.outputs]
    with pytest.raises(ValueError, match="expected a graph"):
        ge.select_ops("a")
    with pytest.raises(TypeError, match=r"tf\.Operation"):
        ge.make_list_of_op([a])
    assert ge.make_list_of_op([a, a.op], ignore_ts=True) == [a.op]


def test_elements_of_two_graphs_are_refused() -> None:
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(2.0)
    with pytest.raises(ValueError, match="another graph"):
        ge.sgv(a.op, b.op)


def test_neighbours_and_boundaries() -> None:
    a, b, total, square, result = chain()
    assert set(names(ge.get_ops_ios([total.op]))) == {"a", "b", "inner/square", "result"}
    assert ge.compute_boundary_ts([total.op, square.op]) == ([a, b], [total, square], [total])
    assert ge.get_generating_ops([a, total]) == [a.op, total.op]
    assert ge.get_consuming_ops([total, square]) == [square.op, result.op]
    everything = [a.op, b.op, total.op, square.op, result.op]
    assert set(ge.get_within_boundary_ops(everything, a.op, [total.op])) == {a.op, total.op}
    assert ge.get_within_boundary_ops(everything, a.op, [total.op], inclusive=False) == [a.op]


# -- views ------------------------------------------------------------------------------------------------------------


def test_a_view_has_inputs_and_outputs_that_can_be_remapped(graph: Any) -> None:
    a, b, total, square, result = chain()
    view = ge.sgv(total.op, square.op)
    assert (view.inputs, view.outputs, view.ops) == ([a, b], [total, square], [total.op, square.op])
    assert view.remap_inputs([1, 0]).inputs == [b, a] and view.remap_outputs([1]).outputs == [square]
    assert view.remap_outputs({0: 1}).outputs == [square, square]
    assert view.remap([1], [square, total]).outputs == [square, total]
    assert view.remap_inputs([1]).remap_default().inputs == [a, b]
    assert view.remap_outputs([0, 0, 1]).remap_outputs_make_unique().outputs == [total, square]
    assert view.consumers() == [result.op] and view.graph is graph and view
    assert view.find_op_by_name("inner/square") is square.op and view.op(0) is total.op
    assert view.input_index(b) == 1 and view.output_index(square) == 1
    passing = ge.sgv(square.op, a)
    assert passing.passthroughs == [a] and passing.inputs == [total, a] and passing.connected_inputs == [total]
    assert set(names(ge.sgv_scope("inner", graph).ops)) == {"inner/total", "inner/first", "inner/square"}
    assert not ge.SubGraphView()
    with pytest.raises(ValueError, match="positions below 2"):
        view.remap_inputs([2])
    with pytest.raises(ValueError, match="each input once"):
        view.remap_inputs([0, 0])
    with pytest.raises(ValueError, match="not found"):
        view.find_op_by_name("nothing")


# -- rewiring ---------------------------------------------------------------------------------------------------------


def test_consumers_get_another_tensor() -> None:
    a, b, total, square, result = chain()
    other = tf.constant([10.0, 20.0])
    assert ge.reroute_ts([other], [total], can_modify=[square.op]) == 1
    assert run(result).tolist() == [104.0, 406.0]
    assert total.consumers() == [result.op] and other.consumers() == [square.op]
    assert ge.reroute_ts(other, total, cannot_modify=[result.op]) == 0
    assert ge.swap_ts(a, b) == 2
    assert list(total.op.inputs) == [b, a]


def test_a_session_sees_the_change() -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.constant([5.0])
    doubled = x * 2.0
    with tf.Session() as session:
        assert session.run(doubled, {x: [1.0]}).tolist() == [2.0]
        ge.reroute_ts(y, x)
        assert session.run(doubled).tolist() == [10.0]


def test_what_was_derived_from_the_old_input_is_forgotten() -> None:
    a, later = tf.constant([2, 3]), tf.placeholder(tf.int32, [None], name="later")
    doubled = a * 2
    filled = tf.fill(doubled, 1.0)
    assert tf.contrib.util.constant_value(doubled).tolist() == [4, 6] and filled.shape.as_list() == [4, 6]
    ge.reroute_ts(later, a)
    assert tf.contrib.util.constant_value(doubled) is None
    assert doubled.shape.as_list() == [None] and filled.shape.ndims is None
    assert run(filled, {later: [1, 2, 1]}).shape == (2, 4, 2)


def test_wrong_replacements_are_refused() -> None:
    a, b = tf.constant([1.0]), tf.constant([1])
    with pytest.raises(TypeError, match="int32"):
        ge.reroute_ts(b, a)
    tf.negative(a)
    with pytest.raises(ValueError, match="Cannot update edge, incompatible shapes"):
        ge.reroute_ts(tf.constant([1.0, 2.0]), a)
    with pytest.raises(ValueError, match="same size"):
        ge.reroute_ts([a, a], a)
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError):
        ge.swap_ts(a, a.op.outputs[0].consumers()[0].outputs[0])


def test_control_inputs_are_added_and_removed(graph: Any) -> None:
    counter = tf.get_variable("counter", initializer=0, use_resource=True)
    update = counter.assign_add(1)
    update = getattr(update, "op", update)
    result = tf.constant(7) + 1
    ge.add_control_inputs(result.op, update)
    with pytest.raises(ValueError, match="already"):
        ge.add_control_inputs(result.op, update)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(result)
        assert session.run(counter) == 1
        ge.remove_control_inputs(result.op, update)
        session.run(result)
        assert session.run(counter) == 1
    with pytest.raises(ValueError, match="not a control input"):
        ge.remove_control_inputs(result.op, update)


def two_branches() -> tuple[Any, ...]:
    x, y = tf.constant(2.0, name="x"), tf.constant(3.0, name="y")
    p, q = tf.negative(x, name="p"), tf.square(y, name="q")
    return x, y, p, q, tf.identity(p, name="r"), tf.identity(q, name="s")


def test_inputs_and_outputs_of_views() -> None:
    _, _, p, q, r, s = two_branches()
    ge.swap_inputs(p.op, q.op)
    assert run([r, s]) == [-3.0, 4.0]
    ge.swap_outputs(p.op, q.op)
    assert run([r, s]) == [4.0, -3.0]
    ge.swap_ios(p.op, q.op)
    assert run([r, s]) == [-2.0, 9.0]
    ge.reroute_inputs(p.op, q.op)
    assert run([r, s]) == [-2.0, 4.0]
    ge.reroute_outputs(p.op, q.op)
    assert run([r, s]) == [-2.0, -2.0]


def test_detaching_and_connecting(graph: Any) -> None:
    x, y, p, q, r, s = two_branches()
    view, (fed,), (given,) = ge.detach(p.op)
    assert fed.name == "geph__x_0:0" and given.name == "geph__p_0:0"
    assert run(p, {fed: 7.0}) == -7.0 and run(r, {given: 1.0}) == 1.0
    ge.connect(ge.sgv(q.op), view)
    assert run(p) == -9.0
    _, (hole,) = ge.bypass(q.op)
    assert run(s) == 3.0 and run(q, {hole: 5.0}) == 25.0
    with pytest.raises(ValueError, match="cannot be connected"):
        ge.connect(ge.sgv(x.op, y.op), ge.sgv(s.op))


# -- copies -----------------------------------------------------------------------------------------------------------


def test_a_copy_has_placeholders_as_inputs() -> None:
    *_, total, square, result = chain()
    copied, info = ge.copy(ge.sgv_scope("inner", tf.get_default_graph()), dst_scope="twin", src_scope="inner")
    assert names(copied.ops) == ["twin/total", "twin/first", "twin/square"]
    assert names(copied.inputs) == ["twin/geph__a_0:0", "twin/geph__b_0:0"]
    assert names(info.transformed(square).op.control_inputs) == ["twin/first"]
    assert info.original(info.transformed(square.op)) is square.op and info.transformed(result) is None
    assert run(info.transformed(square), dict(zip(copied.inputs, ([1.0, 1.0], [2.0, 0.0])))).tolist() == [9.0, 1.0]
    again, _ = ge.copy(total.op, dst_scope="twin", src_scope="inner")
    assert names(again.ops) == ["twin_1/total"]
    with pytest.raises(ValueError, match="source scope"):
        ge.copy(result.op, src_scope="inner")


def test_a_copy_in_another_graph() -> None:
    *_, result = chain()
    with tf.device("/cpu:0"):
        seeded = tf.random_uniform([2], seed=1) + result
    other = tf.Graph()
    _, info = ge.copy(tf.get_default_graph(), other)
    assert info.transformed(seeded).graph is other
    assert [op.name for op in other.get_operations()] == [op.name for op in tf.get_default_graph().get_operations()]
    assert info.transformed(seeded.op).device == seeded.op.device
    assert run(info.transformed(result), graph=other).tolist() == [20.0, 42.0]


def test_a_copy_with_other_inputs_keeps_the_rest() -> None:
    a, b, total, square, _ = chain()
    tf.add_to_collection("totals", total)
    copied, info = ge.copy_with_input_replacements(ge.sgv(total.op, square.op), {b: tf.zeros([2])})
    assert run(copied.outputs[1]).tolist() == [1.0, 4.0]
    assert info._transformed_ops[total.op].name == "inner/total_1"
    assert copied.inputs[0] is a
    assert tf.get_collection("totals") == [total, info.transformed(total)]


def test_targets_are_computed_again_with_replacements() -> None:
    a, b, total, square, result = chain()
    other = tf.constant([0.0, 1.0])
    new = ge.graph_replace({"r": result, "t": [total, a, b]}, {a: other})
    assert run(new["r"]).tolist() == [12.0, 30.0] and run(new["t"][0]).tolist() == [3.0, 5.0]
    assert new["t"][1:] == [other, b] and run(result).tolist() == [20.0, 42.0]
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(a, {result: square})


def test_a_loop_is_copied() -> None:
    start, limit = tf.constant(1, name="start"), tf.constant(50, name="limit")
    end = tf.while_loop(lambda i: i < limit, lambda i: i * 3, [start])
    new = ge.graph_replace(end, {start: tf.constant(2), limit: tf.constant(1000)})
    assert run([end, new]) == [81, 1458]


def test_gradients_flow_through_a_copy() -> None:
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3, 2])
    y = tf.reduce_sum(tf.tanh(tf.matmul(x, w)))
    z = tf.identity(x) * 2.0
    new = ge.graph_replace(y, {x: z})
    value = np.random.default_rng(3).normal(size=(4, 3)), np.random.default_rng(4).normal(size=(3, 2))
    feed = {x: value[0], w: value[1]}
    grad, wanted = run([tf.gradients(new, w)[0], tf.gradients(y, w)[0]], feed)
    np.testing.assert_allclose(grad, run(tf.gradients(y, w)[0], {x: 2 * value[0], w: value[1]}), rtol=1e-5)
    assert not np.allclose(grad, wanted)


def test_gradients_with_recomputed_activations() -> None:
    """The scheme of gradient checkpointing: the backward pass uses copies of what lies between checkpoints."""
    x = tf.placeholder(tf.float32, [None, 4])
    weights = [tf.get_variable(f"w{i}", [4, 4], use_resource=True) for i in range(4)]
    layers = [x]
    for w in weights:
        layers.append(tf.tanh(tf.matmul(layers[-1], w)))
    loss = tf.reduce_sum(layers[-1])
    wanted = tf.gradients(loss, weights)
    checkpoint = layers[2]
    disconnected = tf.stop_gradient(checkpoint, name="checkpoint_sg")
    forward = ge.get_backward_walk_ops([loss.op], inclusive=True)
    between = set(ge.get_backward_walk_ops(loss.op, stop_at_ts=[checkpoint])) & set(forward) - {checkpoint.op}
    between = [op for op in between if op.inputs and op.type != "ReadVariableOp"]
    _, info = ge.copy_with_input_replacements(ge.sgv(between), {})
    ge.reroute_ts([disconnected], [checkpoint], can_modify=info._transformed_ops.values())
    boundary = tf.gradients(info.transformed(loss), [disconnected, *weights[2:]])
    first = tf.gradients(checkpoint, weights[:2], grad_ys=boundary[0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {x: np.random.default_rng(5).normal(size=(3, 4))}
        for got, expected in zip(session.run([*first, *boundary[1:]], feed), session.run(wanted, feed)):
            np.testing.assert_allclose(got, expected, rtol=1e-5)
