"""Lowering of collectives: what the members of a group at one task become."""

import pytest

import thalweg as tf
from tests.compiler.graphs import node, same, types
from thalweg._src.compiler.partition.collectives import lower_collectives
from thalweg._src.graph.ir.step_graph import Output, StepGraph

DEVICES = ["/job:a/replica:0/task:0/device:CPU:0", "/job:a/replica:0/task:0/device:CPU:1"]


def member(number, op_type="CollectiveReduce", shape=(4,), **attrs):
    """Returns the partition of a device: a value, and a member of a group that takes it."""
    defaults = {"group_size": 2, "group_key": 1, "instance_key": 7, "merge_op": "Add", "final_op": "Id"}
    x = node(f"x{number}", "_Arg")
    x.order, x.shapes = number, [shape]
    inputs = [] if op_type == "CollectiveBcastRecv" else [x]
    reduced = node(f"r{number}", op_type, *inputs, **{**defaults, **attrs})
    reduced.order, reduced.shapes = 10 + number, [shape]
    return StepGraph([x, reduced], [x], [Output(reduced, 0)])


def lowered(*graphs, is_connected=False):
    lower_collectives(dict(zip(DEVICES, graphs)), is_connected)
    return graphs


def test_the_first_member_adds_the_values_and_sends_the_sum_back():
    first, second = lowered(member(0), member(1))
    expected = """
        x0 = _Arg()
        x1/_recv_0 = _Recv()
        r0 = AddN(x0, x1/_recv_0)
        r0/_send_0 = _Send(r0)
        -> r0, r0/_send_0"""
    assert same(first, expected, in_order=False)
    expected = """
        x1 = _Arg()
        x1/_send_0 = _Send(x1)
        r0/_recv_0 = _Recv()
        -> r0/_recv_0, x1/_send_0"""
    assert same(second, expected, in_order=False)


def test_a_mean_is_divided_by_the_number_of_members():
    first, _ = lowered(member(0, final_op="Div"), member(1, final_op="Div"))
    assert types(first).count("Div") == 1
    (divisor,) = [node for node in first.nodes if node.type == "Const"]
    assert divisor.attrs["value"] == 2


@pytest.mark.parametrize(("merge", "op_type"), [("Mul", "Mul"), ("Min", "Minimum"), ("Max", "Maximum")])
def test_other_reductions_are_pairwise(merge, op_type):
    first, _ = lowered(member(0, merge_op=merge), member(1, merge_op=merge))
    assert op_type in types(first)


def test_a_gather_concatenates_in_the_order_of_devices():
    graphs = [member(number, "CollectiveGather") for number in (0, 1)]
    first, _ = lowered(*graphs)
    (joined,) = [node for node in first.nodes if node.type == "ConcatV2"]
    assert [output.node.name for output in joined.inputs[:2]] == ["x0", "x1/_recv_0"]


def test_a_broadcast_is_sent_from_its_source():
    first, second = lowered(member(0, "CollectiveBcastSend"), member(1, "CollectiveBcastRecv"))
    expected = """
        x0 = _Arg()
        r0 = Identity(x0)
        x0/_send_0 = _Send(x0)
        -> r0, x0/_send_0"""
    assert same(first, expected, in_order=False)
    assert second.fetches[0].node.type == "_Recv"


def test_members_at_other_tasks_are_taken_part_with():
    (graph,) = lowered(member(0), is_connected=True)
    start, wait = (next(n for n in graph.nodes if n.type == f"_Collective{what}") for what in ("Start", "Wait"))
    assert start.inputs[0].node.name == "x0" and start.attrs["local_size"] == 1
    assert wait.inputs[0].node is start and graph.fetches == [Output(wait, 0)]


def test_a_group_of_one_stays():
    (graph,) = lowered(member(0, group_size=1))
    assert types(graph) == ["CollectiveReduce", "_Arg"]


@pytest.mark.parametrize(
    ("graphs", "match"),
    [
        ([member(0)], "belongs to a group of 2 members"),
        ([member(0), member(1, merge_op="Mul")], "have different reductions"),
        ([member(0), member(1, shape=(3,))], "have different shapes"),
        ([member(0, group_size=2), member(1, group_size=3)], "have different group sizes"),
        ([member(0, "CollectiveBcastSend"), member(1, "CollectiveBcastSend")], "sends, as another member"),
        ([member(0, "CollectiveBcastRecv"), member(1, "CollectiveBcastRecv")], "receives, as all other members"),
    ],
)
def test_members_that_do_not_fit_are_errors(graphs, match):
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        lowered(*graphs)
