"""Locks and transactions: the sections of a step that reads and updates consistent variables."""

import pytest

import thalweg as tf
from tests.compiler.graphs import text
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.consistency import make_consistent, order_first_reads
from thalweg._src.graph.consistency import LOCK_DEVICE, ONE_STATE, READ_FIRST

TASKS = ["/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"]
CPU = "/device:CPU:0"


def variable(name):
    return tf.get_variable(name, [], use_resource=True)


def consistent(fetches, targets, tasks, one_state=False):
    """Returns the nodes by short name after locks are added; tasks: of each variable."""
    step = step_graph([], fetches, targets)
    for node in step.nodes:
        if node.name in tasks:
            node.attrs = {**node.attrs, LOCK_DEVICE: TASKS[0] + CPU, ONE_STATE: one_state}
    devices = {}
    for node in step.nodes:
        handles = [output.node.name for output in node.inputs if output.node.name in tasks]
        devices[node] = TASKS[tasks.get(node.name, tasks.get(handles[0], 0) if handles else 0)] + CPU
    make_consistent(step, devices, [task + CPU for task in TASKS])
    return step, devices


def of_type(step, op_type):
    return [node for node in step.nodes if node.type == op_type]


def test_steps_without_consistent_variables_stay():
    v = variable("v")
    step, _ = consistent([v.read_value()], [], {})
    assert "Mutex" not in text(step)


def test_reads_hold_a_shared_lock_until_all_are_done():
    v, w = variable("v"), variable("w")
    step, _ = consistent([v.read_value(), w.read_value()], [], {"v": 0, "w": 0})
    (lock,), (end,) = of_type(step, "MutexLock"), of_type(step, "ConsumeMutexLock")
    reads = of_type(step, "ReadVariableOp")
    assert all(lock in read.controls for read in reads)
    assert set(reads) <= set(end.controls) and end.inputs[0].node is lock and end in step.targets


def test_the_lock_of_the_coordinator_comes_first():
    v, w = variable("v"), variable("w")
    step, devices = consistent([v.read_value(), w.read_value()], [], {"v": 0, "w": 1}, one_state=True)
    first, second = sorted(of_type(step, "MutexLock"), key=devices.__getitem__)
    assert first not in second.inputs and second.controls == [first]


def test_updates_are_a_transaction_with_two_phases():
    v, w = variable("v"), variable("w")
    updates = [v.assign_add(1.0, read_value=False), w.assign_add(1.0, read_value=False)]
    step, devices = consistent([], updates, {"v": 0, "w": 1})
    begun = of_type(step, "_BeginTransaction")
    (prepare,), (commit,), (end,) = (of_type(step, f"_{what}Transaction") for what in ("Prepare", "Commit", "End"))
    assert {devices[node] for node in begun} == {TASKS[0] + CPU, TASKS[1] + CPU}
    assert devices[prepare] == devices[end] == TASKS[1] + CPU and devices[commit] == TASKS[0] + CPU
    for update in of_type(step, "AssignAddVariableOp"):
        (transaction,) = [node for node in begun if devices[node] == devices[update]]
        assert transaction in update.controls
        assert update in (commit if devices[update] == TASKS[0] + CPU else prepare).controls
    assert prepare in [output.node for output in commit.inputs]  # commits when all have prepared
    assert commit in [output.node for output in end.inputs]


def test_updates_begin_after_the_reads_have_ended():
    v = variable("v")
    step, _ = consistent([v.read_value()], [v.assign_add(1.0, read_value=False)], {"v": 0})
    (end,), (begun,) = of_type(step, "ConsumeMutexLock"), of_type(step, "_BeginTransaction")
    assert end in begun.controls


def test_a_read_after_an_update_is_made_when_it_is_decided():
    v = variable("v")
    with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
        later = v.read_value()
    step, _ = consistent([later], [], {"v": 0})
    (commit,), (read,), (release,) = (
        of_type(step, name) for name in ("_CommitTransaction", "ReadVariableOp", "_ReleaseTransaction")
    )
    assert commit in read.controls and read in release.controls
    assert not of_type(step, "MutexLock")


def test_updates_of_different_variables_lose_their_order():
    v, w = variable("v"), variable("w")
    first = v.assign_add(1.0, read_value=False)
    with tf.control_dependencies([first]):
        second = w.assign_add(1.0, read_value=False)
    step, _ = consistent([], [second], {"v": 0, "w": 0})
    one, other = of_type(step, "AssignAddVariableOp")
    assert one not in other.controls and other not in one.controls


def test_updates_of_one_variable_keep_their_order():
    v = variable("v")
    first = v.assign_add(1.0, read_value=False)
    with tf.control_dependencies([first]):
        second = v.assign_add(2.0, read_value=False)
    step, _ = consistent([], [second], {"v": 0})
    one, other = of_type(step, "AssignAddVariableOp")
    assert one in other.controls


def test_unstructured_loops_are_an_error():
    v = variable("v")
    step = step_graph([], [v.read_value()], [])
    (handle,) = of_type(step, "VarHandleOp")
    handle.attrs = {**handle.attrs, LOCK_DEVICE: TASKS[0] + CPU}
    step.is_unstructured = True
    with pytest.raises(tf.errors.InvalidArgumentError, match="sequential consistency"):
        make_consistent(step, {}, [TASKS[0] + CPU])


def test_first_reads_come_before_all_others():
    v, w = variable("v"), variable("w")
    step = step_graph([], [v.read_value(), w.read_value()], [])
    other, first = of_type(step, "ReadVariableOp")
    first.attrs = {**first.attrs, READ_FIRST: True}
    order_first_reads(step)
    assert other.controls == [first] and first.controls == []
    assert step.nodes.index(first) < step.nodes.index(other)
