"""The graph: names, scopes, devices, control dependencies, collections, look-up, finalization."""

import threading

import numpy as np
import pytest

import thalweg as tf


def test_names_are_unique_and_case_is_ignored():
    assert tf.constant(1, name="a").op.name == "a"
    assert tf.constant(1, name="a").op.name == "a_1"
    assert tf.constant(1, name="A").op.name == "A_2"
    assert tf.constant(1, name="a_1").op.name == "a_1_1"


def test_name_scopes_nest_repeat_and_reenter():
    with tf.name_scope("outer") as scope:
        assert scope == "outer/"
        assert tf.constant(1, name="x").op.name == "outer/x"
        with tf.name_scope("inner"):
            assert tf.constant(1, name="x").op.name == "outer/inner/x"
    with tf.name_scope("outer"):
        assert tf.constant(1, name="x").op.name == "outer_1/x"
    with tf.name_scope(scope):
        assert tf.constant(1, name="y").op.name == "outer/y"
    with tf.name_scope("outer"), tf.name_scope(None):
        assert tf.constant(1, name="z").op.name == "z"


def test_arguments_are_named_after_their_operation():
    x = tf.placeholder(tf.float32, name="x")
    y = tf.add(x, 1.0, name="sum")
    assert y.op.inputs[1].op.name == "sum/y"


@pytest.mark.parametrize("name", [3, 1.5, object(), dict, ["x"]])
def test_names_that_are_no_text_are_type_errors(name):
    for make in (lambda: tf.add(1, 2, name=name), lambda: tf.placeholder(tf.int32, name=name)):
        with pytest.raises(TypeError, match="name: expected a string or None, received the"):
            make()
    with pytest.raises(TypeError, match="name: expected a string or None"), tf.name_scope(name):
        pass


def test_names_of_operations_and_scopes_may_be_bytes():
    with tf.name_scope(b"outer"):
        assert tf.add(1, 2, name=b"sum").op.name == "outer/sum"
    with pytest.raises(UnicodeDecodeError):
        tf.add(1, 2, name=b"\xff")


def test_devices_that_are_no_text_are_type_errors():
    with pytest.raises(TypeError, match="device: expected a name such as"), tf.device(3):
        pass


@pytest.mark.parametrize("name", ["with space", "_hidden", "a:0", "ä"])
def test_invalid_names_are_rejected(name):
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(1, name=name)


def test_lookup_by_name(graph):
    x = tf.placeholder(tf.float32, name="x")
    assert graph.get_tensor_by_name("x:0") is x
    assert graph.get_operation_by_name("x") is x.op
    assert graph.as_graph_element("x:0") is x
    with pytest.raises(KeyError, match="'y', does not exist in the graph"):
        graph.get_tensor_by_name("y:0")
    with pytest.raises(KeyError, match="only has 1 outputs"):
        graph.get_tensor_by_name("x:1")
    with pytest.raises(ValueError, match="Operation, not a Tensor"):
        graph.get_tensor_by_name("x")
    with pytest.raises(TypeError, match="Can not convert a float"):
        graph.as_graph_element(1.0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="is not an element of this graph"):
        tf.get_default_graph().as_graph_element(x)


def test_inputs_must_belong_to_one_graph():
    x = tf.placeholder(tf.float32)
    with tf.Graph().as_default():
        y = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="must be from the same graph as"):
        tf.add(x, y)


def test_device_strings_merge_and_functions_apply():
    with tf.device("/job:ps/task:1"):
        with tf.device("/cpu:0"):
            assert tf.constant(1).device == "/job:ps/task:1/device:CPU:0"
        with tf.device("/task:2"):
            assert tf.constant(1).device == "/job:ps/task:2"
        with tf.device(None):
            assert tf.constant(1).device == ""
    with tf.device(lambda op: "/gpu:0" if op.type == "Const" else "/cpu:0"):
        x = tf.constant(1.0)
        assert x.device == "/device:GPU:0"
        assert tf.identity(x).device == "/device:CPU:0"


def test_colocation_is_recorded_and_takes_the_device():
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a")
    with tf.get_default_graph().colocate_with(a.op):
        b = tf.constant(2.0)
    assert b.op.colocation_groups() == [b"loc:@a"]
    assert b.device == "/device:CPU:1"


def test_control_dependencies_skip_what_is_implied():
    a, b = tf.constant(1), tf.constant(2)
    with tf.control_dependencies([a, b.op]):
        c = tf.identity(a)
        d = tf.identity(c)
        with tf.control_dependencies(None):
            e = tf.constant(3)
    assert c.op.control_inputs == [b.op]
    assert d.op.control_inputs == []
    assert e.op.control_inputs == []


def test_collections_filter_by_scope(graph):
    with tf.name_scope("s"):
        inside = tf.constant(1)
    tf.add_to_collection("c", inside)
    tf.add_to_collection("c", tf.constant(2))
    assert tf.get_collection("c", scope="s/") == [inside]
    assert len(tf.get_collection("c")) == 2
    tf.get_collection_ref("c").clear()
    assert tf.get_collection("c") == []


def test_finalized_graph_rejects_changes(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        tf.constant(1)


def test_a_symbolic_tensor_has_no_truth_value_and_no_elements():
    x = tf.placeholder(tf.float32, [3], name="x")
    with pytest.raises(TypeError, match=r"as a Python `bool` is not allowed.*tf.cond"):
        bool(x)
    with pytest.raises(TypeError, match=r"only iterable when eager.*tf.unstack"):
        list(x)
    with pytest.raises(NotImplementedError, match="to a numpy array"):
        np.asarray(x)
    with pytest.raises(TypeError, match="len is not well defined"):
        len(x)


def test_numpy_arrays_defer_to_tensor_operators():
    x = tf.placeholder(tf.float32, [2])
    total = np.ones(2, np.float32) + x
    assert isinstance(total, tf.Tensor)
    assert total.op.type == "AddV2"


def test_set_shape_merges_and_rejects_contradictions():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="x:0"):
        x.set_shape([4, 3])


def test_users_can_register_conversion_functions():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    tf.register_tensor_conversion_function(
        Celsius, lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees, dtype, name="celsius")
    )
    y = tf.add(tf.constant(1.0), Celsius(20.0))
    with tf.Session() as sess:
        assert sess.run(y) == 21.0


def test_default_graphs_are_per_thread(graph):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph()))
    thread.start()
    thread.join()
    assert seen[0] is not graph


def test_many_threads_may_build_one_graph(graph):
    def build():
        with graph.as_default():
            for _ in range(100):
                tf.constant(1, name="c")

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [op.name for op in graph.get_operations()]
    assert len(names) == len(set(names)) == 400


def test_dtype_mismatches_name_both_operands():
    x, n = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.int32, name="n")
    with pytest.raises(TypeError, match=r"type int32 that does not match type float32 of argument 'x'.*tf.cast"):
        tf.add(x, n)
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.exp(n)


def test_gradient_override_map_is_recorded(graph):
    with graph.gradient_override_map({"Identity": "Custom"}):
        x = tf.identity(tf.constant(1.0))
    assert x.op.get_attr("_gradient_op_type") == b"Custom"


def test_operations_know_the_users_line():
    x = tf.placeholder(tf.float32, name="x")
    assert x.op.made_at.startswith("test_graph.py:")
    assert x.op.traceback[-1][2] == "test_operations_know_the_users_line"
