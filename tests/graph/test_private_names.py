"""Names of graphs, operations and tensors that are not public, but that TensorFlow 1 programs read."""

import pytest

import thalweg as tf


def test_tensors():
    x = tf.split(tf.zeros([2, 3]), 2)[1]
    assert x._op is x.op and x._value_index == 1 and x._dtype is tf.float32 and x._shape.as_list() == [1, 3]
    assert (x._shape_as_list(), x._shape_tuple(), x._rank()) == ([1, 3], (1, 3), 2)
    assert tf.placeholder(tf.float32)._shape_as_list() is None and x._id != x.op.outputs[0]._id


def test_operations():
    x = tf.constant(1.0)
    op = (x + 2).op
    assert (op._id_value, op._graph, op._op_def) == (op._id, tf.get_default_graph(), op.op_def)
    assert op._node_def == op.node_def and op._inputs == op.inputs and op._outputs == op.outputs
    assert op._input_types == [tf.float32] * 2 and op._output_types == [tf.float32.as_datatype_enum]
    assert op._get_attr("T") is tf.float32 and op._control_flow_context is None


def test_an_attribute_is_set():
    tf.RegisterGradient("TenTimes")(lambda op, grad: grad * 10.0)
    x = tf.constant(2.0)
    y = tf.square(x)
    y.op._set_attr("_gradient_op_type", tf.AttrValue(s=b"TenTimes"))
    with tf.Session() as session:
        assert session.run(tf.gradients(y, x)) == [10.0]
    with pytest.raises(ValueError, match="type"):
        y.op._set_attr("T", tf.AttrValue(s=b"text"))


def test_an_input_is_replaced():
    x, y = tf.constant(2.0), tf.constant(5.0)
    z = tf.square(x)
    with tf.Session() as session:
        assert session.run(z) == 4.0
        z.op._update_input(0, y)
        assert session.run(z) == 25.0
        later = y + 1.0
        z.op._update_input(0, later)
        assert session.run(z) == 36.0 and tf.gradients(z, x) == [None]
    assert x.consumers() == [] and later.consumers() == [z.op]
    with pytest.raises(TypeError, match="float32, not int32"):
        z.op._update_input(0, tf.constant(1))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="a different graph"):
        z.op._update_input(0, tf.constant(1.0))


def test_control_inputs_are_added_and_removed():
    counter = tf.Variable(0)
    add = tf.assign_add(counter, 1)
    value = tf.constant(1.0) + 1.0
    value.op._add_control_inputs([add.op])
    with tf.Session() as session:
        session.run(counter.initializer)
        session.run(value)
        value.op._remove_all_control_inputs()
        session.run(value)
        assert session.run(counter) == 1 and value.op.control_inputs == []


def test_graphs():
    with tf.Graph().as_default() as graph, tf.name_scope("outer"):
        x = tf.constant(1.0)
        assert graph._name_stack == "outer" and graph._nodes_by_name == {"outer/Const": x.op}
        assert graph._nodes_by_id == {x.op._id: x.op} and graph._last_id == 1
        with tf.control_dependencies([x]), graph.container("box"):
            assert graph._current_control_dependencies() == {x.op} and graph._container == "box"
            assert len(graph._control_dependencies_stack) == 1
        with graph.gradient_override_map({"Relu": "Guided"}), tf.colocate_with(x):
            assert graph._gradient_override_map == {"Relu": "Guided"} and graph._colocation_stack == [x.op]
        assert graph._as_graph_element_locked("outer/Const:0") is x and not graph._building_function
        assert graph._registered_ops["Add"].name == "Add" and not graph._is_function("f")


def test_devices_as_functions():
    graph = tf.get_default_graph()
    with tf.device("/gpu:0"), tf.device(None), tf.device("/job:worker"), tf.device(lambda op: "/cpu:1"):
        outer, inner = graph._device_functions_outer_to_inner
        assert outer(tf.NodeDef(device="/device:GPU:1")) == "/job:worker/device:GPU:1" and inner(None) == "/cpu:1"


def test_names_of_the_last_versions_of_tensorflow_1():
    graph = tf.get_default_graph()
    graph.switch_to_thread_local()
    assert not graph.building_function and graph.graph_def_versions == graph.as_graph_def().versions
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    assert slices.consumers() == [] and tf.GraphKeys.VARIABLES == tf.GraphKeys.GLOBAL_VARIABLES
    assert [dim.size for dim in tf.TensorShape([2, None]).as_proto().dim] == [2, -1]
    assert tf.TensorShape(None).as_proto().unknown_rank
