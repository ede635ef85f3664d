"""Step graphs arrive in another process as they were sent, or it is said why they cannot be sent."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import thalweg as tf
from tests.graph.ir.graphs import GRAPHS, loops
from tests.graph.ir.serialized import Partitions, assert_same, assert_same_value, partitions_of
from thalweg._src.base import dtypes
from thalweg._src.graph.ir.serialize import VERSION, external_nodes, from_bytes, to_bytes
from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.op_def import OPS

NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0123))[0]


def step_with(value: Any, op: str = "NoOp", key: str = "_value") -> Partitions:
    node = Node("holder", OPS.lookup(op), [], {key: value}, [], [])
    return {"/device:CPU:0": StepGraph([node], [], [], [node])}


def arrived(value: Any) -> Any:
    return from_bytes(to_bytes(step_with(value)))["/device:CPU:0"].nodes[0].attrs["_value"]


@pytest.mark.parametrize("build", GRAPHS)
def test_graphs_arrive_as_they_were(build: Callable[[], Partitions]) -> None:
    sent = build()
    assert_same(sent, from_bytes(to_bytes(sent)))


def test_the_graphs_have_what_is_to_be_tested() -> None:
    partitions = [graph for build in GRAPHS for graph in _built(build).values()]
    nodes = [node for graph in partitions for node in graph.everything()]
    assert any(graph.is_unstructured for graph in partitions)
    assert any(graph.positions for graph in partitions)
    assert any(len(node.guard) > 1 for node in nodes)
    assert any(
        inner.type == "_While" for graph in partitions for region in graph.regions() for inner in region.body.nodes
    )
    assert {"_Send", "_Recv", "_Choose", "Merge", "NextIteration"} <= {node.type for node in nodes}
    assert any(node.controls for node in nodes)


def _built(build: Callable[[], Partitions]) -> Partitions:
    with tf.Graph().as_default():
        return build()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        1.5,
        -0.0,
        float("-inf"),
        NAN,
        "",
        "\u00e4 \U0001f600 \udc80 \ud83d",
        b"",
        b"\x00\xff",
        tf.float32,
        tf.resource,
        tf.int32._as_ref,
        tf.TensorShape(None),
        tf.TensorShape([None, 3, 0]),
        [],
        (),
        (1, True, 1.0, None, "1", b"1", [(2,), []]),
        {},
        {"a": 1, 2: ("b", None)},
        np.float32(1.5),
        np.int64(-3),
        np.bool_(True),
        ((None, 2), None, ()),
        [np.arange(3), np.array(b"x", object)],
    ],
    ids=repr,
)
def test_values_of_attributes_arrive_as_they_were(value: Any) -> None:
    assert_same_value(value, arrived(value))


@pytest.mark.parametrize("dtype", sorted((d for d in dtypes.ALL if d.size), key=lambda d: d.name), ids=lambda d: d.name)
def test_arrays_of_every_type_arrive_as_they_were(dtype: tf.DType) -> None:
    kind = np.dtype(dtype.as_numpy_dtype)
    bits = np.random.default_rng(0).integers(0, 2 if dtype.is_bool else 256, 24 * kind.itemsize, np.uint8)
    array = bits.view(kind).reshape(4, 6)
    for layout in (array, array[:0], array[1, 1].reshape(()), array.T, array[::-1, ::2]):
        assert_same_value(layout, arrived(layout))


def test_arrays_of_other_layouts_arrive_as_they_were() -> None:
    strings = np.array([[b"a", "b\udc80"], [b"", "\u20ac"]], object)
    for layout in (np.arange(6, dtype=">i4"), strings, strings.T, strings[:, :0], np.array(1.5, ml_dtypes.bfloat16)):
        assert_same_value(layout, arrived(layout))


@pytest.mark.parametrize("value", [np.float32(2.5), np.array(b"text", object)])
def test_a_repeated_value_stays_one_value(value: Any) -> None:
    array = np.broadcast_to(value, (1000, 1000))
    message = to_bytes(step_with(array))
    assert len(message) < 500
    received = from_bytes(message)["/device:CPU:0"].nodes[0].attrs["_value"]
    assert received.strides == (0, 0)
    assert received[999, 999] == value
    rows = np.broadcast_to(np.arange(50), (1000, 50))
    assert arrived(rows).strides[0] == 0
    assert_same_value(rows, arrived(rows))


def test_an_array_of_several_nodes_is_sent_once_and_not_copied() -> None:
    array = np.random.default_rng(0).random(10_000)
    nodes = [
        Node(name, OPS.lookup("Const"), [], {"value": array, "dtype": tf.float64}, [tf.float64], [(10_000,)])
        for name in ("a", "b")
    ]
    message = to_bytes({"": StepGraph(nodes, [], [(nodes[0], 0)], nodes)})
    assert len(message) < array.nbytes + 1000
    first, second = (node.attrs["value"] for node in from_bytes(message)[""].nodes)
    assert first is second
    assert np.shares_memory(first, np.frombuffer(message, np.uint8))
    assert not first.flags.writeable
    changeable = bytearray(message)
    assert not from_bytes(changeable)[""].nodes[0].attrs["value"].flags.writeable


@pytest.mark.parametrize("offset", range(0, 16, 3))
def test_constants_are_aligned_wherever_the_message_is(offset: int) -> None:
    message = to_bytes(step_with([np.array([1j]), np.arange(1), np.array([2j])]))
    moved = memoryview(bytearray(offset) + message)[offset:]
    for array in from_bytes(moved)["/device:CPU:0"].nodes[0].attrs["_value"]:
        assert array.__array_interface__["data"][0] % 16 == 0


def test_condition_and_body_of_a_loop_share_their_arguments() -> None:
    received = from_bytes(to_bytes(loops()))
    regions = [region for partition in received.values() for region in partition.regions()]
    assert regions
    for region in regions:
        assert all(a is b for a, b in zip(region.condition.feeds, region.body.feeds, strict=True))


def test_names_and_attributes_are_written_once() -> None:
    value = {"_text": "a long text that all nodes have" * 3, "_shapes": ((1, 2, 3, 4),) * 5}
    nodes = [Node(f"n{i}", OPS.lookup("NoOp"), [], dict(value), [], [], device="/device:CPU:0") for i in range(1000)]
    assert len(to_bytes({"": StepGraph(nodes, [], [], nodes)})) < 40_000


@pytest.mark.parametrize("value", [print, object(), 2**63, 1j, [lambda: 1], np.array([object()]), np.array("a")])
def test_an_object_of_this_process_cannot_be_sent(value: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"NoOp 'holder' runs only in the process.*'_value'"):
        to_bytes(step_with(value))


def test_a_list_that_contains_itself_cannot_be_sent() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'_value'"):
        to_bytes(step_with(value))


def test_python_functions_and_datasets_cannot_be_sent() -> None:
    called = tf.py_func(np.sin, [1.0], tf.float64, name="called")
    element = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"PyFunc 'called' runs only in the process .*'token'"):
        to_bytes(partitions_of(called))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"OneShotIterator' runs only in the process .*'token'"):
        to_bytes(partitions_of(element))


def test_functions_in_attributes_arrive() -> None:
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList

    for value in (AttrValue(i=3), NameAttrList(name="f", attr={"T": AttrValue(type=1)})):
        assert arrived(value) == value


def test_another_version_is_named() -> None:
    message = bytearray(to_bytes(step_with(1)))
    struct.pack_into("<I", message, 4, 7)
    with pytest.raises(
        ValueError, match=f"the message has version 7 of the format, this process reads version {VERSION}"
    ):
        from_bytes(message)


@pytest.mark.parametrize("data", [b"", b"TWSG", b"\x80\x04K\x01.", bytes(1000)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="do not start as a message"):
        from_bytes(data)


def test_nodes_that_reach_files_are_found_in_loops_as_well() -> None:
    def body(i: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.io.write_file("name", "text")]):
            return i + 1

    read = tf.io.read_file("other")
    loop = tf.while_loop(lambda i: i < 2, body, [0])
    received = from_bytes(to_bytes(partitions_of([read, loop])))
    assert sorted(external_nodes(received)) == [
        ("ReadFile", "ReadFile", "reads files"),
        ("while/WriteFile", "WriteFile", "writes files"),
    ]
