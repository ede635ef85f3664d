"""Collective ops over devices of one process."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ops import collective
from thalweg._src.graph.ops.nccl import nccl_all_reduce_op, nccl_broadcast_op, nccl_reduce_op

VALUES = [np.array([[4, 1], [6, 3]]), np.array([[2, 5], [7, 1]]), np.array([[3, 3], [2, 1]])]
MERGE = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}


def _session(devices=3):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": devices}))


def _on_devices(make, dtype="float32", values=VALUES):
    """Returns what a function makes of each value, on a device of its own."""
    made = []
    for index, value in enumerate(values):
        with tf.device(f"/cpu:{index}"):
            made.append(make(index, tf.constant(value.astype(dtype))))
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("merge_op", MERGE)
def test_reduction_is_the_same_on_all_devices(merge_op, dtype):
    reduced = _on_devices(lambda index, value: collective.all_reduce(value, 3, 1, 1, merge_op, "Id"), dtype)
    assert [tensor.shape for tensor in reduced] == [(2, 2)] * 3
    with _session() as session:
        found = session.run(reduced)
    for value in found:
        np.testing.assert_array_equal(value, MERGE[merge_op].reduce(VALUES))
        assert value.dtype == dtype


def test_final_division_gives_the_mean():
    mean = _on_devices(lambda index, value: collective.all_reduce(value, 3, 1, 1, "Add", "Div"))
    with _session() as session:
        np.testing.assert_allclose(session.run(mean)[2], np.mean(VALUES, axis=0), rtol=1e-6)


def test_gathered_tensors_are_in_the_order_of_devices():
    gathered = _on_devices(lambda index, value: collective.all_gather(value, 3, 1, 1))
    assert gathered[0].shape == (6, 2)
    with _session() as session:
        for value in session.run(gathered):
            np.testing.assert_array_equal(value, np.concatenate(VALUES))


@pytest.mark.parametrize("source", [0, 2])
def test_broadcast_reaches_all_devices(source):
    def make(index, value):
        if index == source:
            return collective.broadcast_send(value, [2, 2], tf.float32, 3, 1, 1)
        return collective.broadcast_recv([2, 2], tf.float32, 3, 1, 1)

    with _session() as session:
        for value in session.run(_on_devices(make)):
            np.testing.assert_array_equal(value, VALUES[source])


def test_a_collective_may_use_the_result_of_another():
    first = _on_devices(lambda index, value: collective.all_reduce(value, 3, 1, 1))
    second = []
    for index, tensor in enumerate(first):
        with tf.device(f"/cpu:{index}"):
            second.append(collective.all_reduce(tensor + index, 3, 1, 2, "Max"))
    with _session() as session:
        np.testing.assert_array_equal(session.run(second)[0], np.sum(VALUES, axis=0) + 2)


def test_collectives_run_in_every_iteration_of_a_loop():
    def body(i, a, b):
        with tf.device("/cpu:0"):
            a = collective.all_reduce(a, 2, 1, 1)
        with tf.device("/cpu:1"):
            b = collective.all_reduce(b, 2, 1, 1) + 1.0
        return i + 1, a, b

    with tf.device("/cpu:0"):
        start = (tf.constant(0), tf.constant(1.0), tf.constant(2.0))
    loop = tf.while_loop(lambda i, a, b: i < 3, body, start)
    with _session(2) as session:
        assert list(session.run(loop)) == [3, 15.0, 16.0]


def test_control_dependencies_of_members_hold():
    with tf.device("/cpu:1"):
        variable = tf.get_variable("v", initializer=1.0, use_resource=True)
        add = variable.assign_add(1.0)
    with tf.device("/cpu:0"):
        first = collective.all_reduce(tf.constant(1.0), 2, 1, 1)
    with tf.device("/cpu:1"), tf.control_dependencies([add]):
        second = collective.all_reduce(tf.constant(2.0), 2, 1, 1)
    with tf.device("/cpu:0"), tf.control_dependencies([first, second]):
        after = variable.read_value()
    with _session(2) as session:
        session.run(variable.initializer)
        assert session.run([first, after]) == [3.0, 2.0]


def test_a_group_of_one_returns_its_input():
    with _session(1) as session:
        assert session.run(collective.all_reduce(tf.constant(3.0), 1, 1, 1, "Add", "Div")) == 3.0
        assert session.run(collective.all_gather(tf.constant([3.0]), 1, 1, 2)) == [3.0]


@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("group sizes", lambda i, x: collective.all_reduce(x, 2 + i, 1, 1)),
        ("types", lambda i, x: collective.all_reduce(tf.cast(x, ["float32", "int32"][i]), 2, 1, 1)),
        ("shapes", lambda i, x: collective.all_reduce(x[: i + 1], 2, 1, 1)),
        ("reductions", lambda i, x: collective.all_reduce(x, 2, 1, 1, ["Add", "Max"][i])),
        ("final operations", lambda i, x: collective.all_reduce(x, 2, 1, 1, "Add", ["Id", "Div"][i])),
        ("operations", lambda i, x: [collective.all_reduce, collective.all_gather][i](x, 2, 1, 1)),
    ],
)
def test_members_that_differ_are_named(what, make):
    with _session(2) as session, pytest.raises(tf.errors.InvalidArgumentError, match=f"different {what}") as raised:
        session.run(_on_devices(make, values=VALUES[:2]))
    assert "CPU:0" in str(raised.value) and "CPU:1" in str(raised.value)


def test_a_missing_member_is_an_error_instead_of_a_wait():
    first, _ = _on_devices(lambda index, value: collective.all_reduce(value, 2, 1, 1), values=VALUES[:2])
    with _session(2) as session, pytest.raises(tf.errors.InvalidArgumentError, match="a group of 2 members"):
        session.run(first)


def test_two_members_on_one_device_are_refused():
    with tf.device("/cpu:0"):
        both = [collective.all_reduce(tf.constant(1.0), 2, 1, 1) for _ in range(2)]
    with _session(2) as session, pytest.raises(tf.errors.InvalidArgumentError, match="on the device of another member"):
        session.run(both)


def test_a_broadcast_has_one_sender():
    both = _on_devices(
        lambda index, value: collective.broadcast_send(value, [2, 2], tf.float32, 2, 1, 1), values=VALUES[:2]
    )
    with _session(2) as session, pytest.raises(tf.errors.InvalidArgumentError, match="sends, as another member"):
        session.run(both)
    none = _on_devices(lambda index, value: collective.broadcast_recv([2, 2], tf.float32, 2, 1, 2), values=VALUES[:2])
    with _session(2) as session, pytest.raises(tf.errors.InvalidArgumentError, match="receives, as all other members"):
        session.run(none)


def test_arguments_are_checked_when_the_graph_is_built():
    with pytest.raises(ValueError, match="group_size to all_reduce must be at least 1"):
        collective.all_reduce(1.0, 0, 1, 1)
    with pytest.raises(ValueError, match="group_size to broadcast_recv must be at least 2"):
        collective.broadcast_recv([], tf.float32, 1, 1, 1)
    with pytest.raises(ValueError, match="dtype: expected float32"):
        collective.broadcast_send(1.0, [], tf.int32, 2, 1, 1)
    with pytest.raises(ValueError, match="shape: expected"):
        collective.broadcast_send(1.0, [2], tf.float32, 2, 1, 1)


# -- NCCL -------------------------------------------------------------------------------------------------------------


def _nccl(tensors, reduction="sum", name="group"):
    made = []
    for tensor in tensors:
        with tf.device(tensor.device):
            made.append(nccl_all_reduce_op(tensor, reduction=reduction, num_devices=len(tensors), shared_name=name))
    return made


@pytest.mark.parametrize(("reduction", "combine"), [("sum", np.add), ("prod", np.multiply), ("min", np.minimum)])
def test_nccl_ops_reduce(reduction, combine):
    tensors = _on_devices(lambda index, value: value)
    everywhere = _nccl(tensors, reduction)
    with tf.device("/cpu:1"):
        at_one = nccl_reduce_op(tensors, reduction=reduction)
    with _session() as session:
        for value in [*session.run(everywhere), session.run(at_one)]:
            np.testing.assert_array_equal(value, combine.reduce(VALUES))


def test_gradients_of_nccl_sums_are_sums_and_broadcasts():
    tensors = _on_devices(lambda index, value: value)
    weighted = [(index + 1.0) * total for index, total in enumerate(_nccl(tensors))]
    with tf.device("/cpu:0"):
        reduced = nccl_reduce_op(tensors, reduction="sum")
        sent = nccl_broadcast_op(tensors[0], shape=[2, 2])
    with _session() as session:
        for grad in session.run(tf.gradients(weighted, tensors)):
            np.testing.assert_array_equal(grad, np.full([2, 2], 6.0))
        for grad in session.run(tf.gradients(2.0 * reduced, tensors)):
            np.testing.assert_array_equal(grad, np.full([2, 2], 2.0))
        np.testing.assert_array_equal(session.run(tf.gradients(3.0 * sent, tensors[0])[0]), np.full([2, 2], 3.0))


def test_an_nccl_maximum_has_no_gradient():
    tensors = _on_devices(lambda index, value: value)
    with pytest.raises(LookupError, match="reduction 'max'"):
        tf.gradients(_nccl(tensors, "max"), tensors)
