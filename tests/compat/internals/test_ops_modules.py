"""Modules of tensorflow.python.ops and tensorflow.python.layers beyond the public names."""

import pytest
from thalweg.python.layers import utils
from thalweg.python.ops import (
    control_flow_ops,
    control_flow_util,
    inplace_ops,
    resources,
    rnn_cell_impl,
    summary_op_util,
    variable_scope,
)

import thalweg as tf


def test_linear_maps_share_variables_by_scope():
    x, y = tf.ones([2, 3]), tf.ones([2, 1])
    with tf.variable_scope("cell"):
        first = rnn_cell_impl._linear([x, y], 5, True, kernel_initializer=tf.ones_initializer())
    with tf.variable_scope("cell", reuse=True):
        second = rnn_cell_impl._linear([x, y], 5, True)
    assert [v.op.name for v in tf.global_variables()] == ["cell/kernel", "cell/bias"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([first, second])[1].tolist() == [[4.0] * 5] * 2
    with pytest.raises(ValueError, match="matrices"):
        rnn_cell_impl._linear(tf.ones([2]), 1, False)


def test_a_linear_object_is_applied_again():
    linear = rnn_cell_impl._Linear(tf.ones([2, 3]), 4, False)
    assert linear(tf.ones([7, 3])).shape.as_list() == [7, 4] and len(tf.global_variables()) == 1


def test_sizes_of_states():
    batch = tf.placeholder(tf.int32, [])
    assert rnn_cell_impl._concat(2, [3, 4], static=True) == [2, 3, 4]
    state = rnn_cell_impl._zero_state_tensors((3, tf.TensorShape([4, 5])), batch, tf.float32)
    with tf.Session() as session:
        assert session.run(rnn_cell_impl._concat(batch, [3, 4]), {batch: 2}).tolist() == [2, 3, 4]
        assert [value.shape for value in session.run(state, {batch: 2})] == [(2, 3), (2, 4, 5)]


def test_cells_are_recognized():
    rnn_cell_impl.assert_like_rnncell("cell", tf.nn.rnn_cell.GRUCell(2))
    with pytest.raises(TypeError, match="not an RNNCell"):
        rnn_cell_impl.assert_like_rnncell("cell", 3)
    assert not rnn_cell_impl._like_rnncell(3)
    with pytest.raises(ValueError, match="int32"):
        rnn_cell_impl._check_rnn_cell_input_dtypes([tf.constant(1)])


def test_everything_is_imported_by_a_star():
    names = {}
    exec("from thalweg.python.ops.rnn_cell_impl import *", names)
    assert names["RNNCell"] is tf.nn.rnn_cell.RNNCell and names["array_ops"] is tf.python.ops.array_ops


def test_arguments_of_convolutions():
    assert utils.normalize_tuple(3, 2, "strides") == (3, 3)
    assert utils.convert_data_format("channels_first", 4) == "NCHW"
    assert utils.conv_output_length(10, 3, "valid", 2) == 4 and utils.conv_output_length(10, 3, "full", 1) == 12
    assert utils.conv_input_length(4, 3, "valid", 2) == 9 and utils.conv_output_length(None, 3, "same", 1) is None
    assert utils.deconv_output_length(4, 3, "valid", 2) == 9
    assert utils.smart_cond(True, lambda: 1, lambda: 2) == 1


def test_contexts_of_operations():
    found = {}

    def body(i):
        def branch():
            found["op"] = (i + 1).op
            return i + 1

        return tf.cond(i < 3, branch, lambda: i + 2)

    end = tf.while_loop(lambda i: i < 5, body, [0])
    op = found["op"]
    assert control_flow_util.IsInWhileLoop(op) and control_flow_util.IsInCond(op)
    loop = control_flow_util.GetContainingWhileContext(op._get_control_flow_context())
    assert loop is op._get_control_flow_context().outer
    assert not control_flow_util.IsInWhileLoop(tf.identity(end).op)
    assert control_flow_util.GetOutputContext(end.op) is None and control_flow_util.IsLoopExit(end.op)


def test_a_tensor_waits_for_dependencies():
    counter = tf.Variable(0)
    value = control_flow_ops.with_dependencies([tf.assign_add(counter, 1)], tf.constant(7))
    with tf.Session() as session:
        session.run(counter.initializer)
        assert session.run(value) == 7 and session.run(counter) == 1


def test_rows_are_changed():
    x = tf.zeros([3, 2])
    results = [
        inplace_ops.alias_inplace_update(x, 1, [1.0, 2.0]),
        inplace_ops.alias_inplace_add(x, [0, 2], [[1.0, 1.0], [2.0, 2.0]]),
        inplace_ops.inplace_sub(x, None, tf.ones([3, 2])),
        inplace_ops.empty_like(x),
    ]
    with tf.Session() as session:
        updated, added, subtracted, empty = session.run(results)
    assert updated.tolist() == [[0, 0], [1, 2], [0, 0]] and added.tolist() == [[1, 1], [0, 0], [2, 2]]
    assert subtracted.tolist() == [[-1, -1]] * 3 and empty.shape == (3, 2)


def test_resources_are_initialized_and_reported():
    table = tf.Variable(3.0, name="table", collections=[], use_resource=True)
    resources.register_resource(table.handle, table.initializer, tf.is_variable_initialized(table))
    report = resources.report_uninitialized_resources()
    with tf.Session() as session:
        assert session.run(report).tolist() == [table.handle.name.encode()]
        session.run(resources.initialize_resources(resources.shared_resources()))
        assert session.run(report).tolist() == []


def test_scopes_of_summaries():
    with summary_op_util.summary_scope("loss", family="train") as (tag, scope):
        assert (tag, scope) == ("train/train/loss", "train/loss/")
    value = tf.constant(b"")
    summary_op_util.collect(value, None, ["notes"])
    assert tf.get_collection("notes") == [value] and not summary_op_util.skip_summary()


def test_the_store_of_variables():
    tf.get_variable("v", [])
    assert "v" in variable_scope._get_default_variable_store()._vars


def test_builders_of_savers():
    from thalweg.python.training import saver

    class Builder(saver.BaseSaverBuilder):
        class Doubled(saver.BaseSaverBuilder.SaveableObject):
            def __init__(self, variable):
                spec = saver.BaseSaverBuilder.SaveSpec(variable * 2.0, "", "doubled")
                super().__init__(variable, [spec], "doubled")

    assert Builder.Doubled(tf.Variable(1.0)).specs[0].name == "doubled"
    assert tf.train.Saver([tf.Variable(1.0)], builder=Builder()).saver_def is not None
