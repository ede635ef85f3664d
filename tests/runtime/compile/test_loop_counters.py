"""Loop counters by themselves: which variables and nodes of a loop become Python numbers, and their arithmetic."""

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime import passes
from thalweg._src.runtime.compile.loop_counters import number_call
from thalweg._src.runtime.kernels.registry import invoke


def numbers_of(fetch, monkeypatch):
    """Returns the types of the nodes of a step that compute with numbers, sorted."""
    numbers = []
    count = passes.count_in_numbers

    def counted(step, on_host):
        nodes = count(step, on_host)
        numbers.extend(nodes)
        return nodes

    monkeypatch.setattr(passes, "count_in_numbers", counted)
    with tf.Session() as session:
        session.run(fetch)
    return sorted(node.type for node in numbers)


def test_a_counter_and_its_condition_are_numbers(monkeypatch):
    i, _ = tf.while_loop(lambda i, v: i < 10, lambda i, v: (i + 1, tf.tanh(v)), [0, tf.ones([3])])
    types = numbers_of(i, monkeypatch)
    assert "Less" in types and any(name.startswith("Add") for name in types) and "Tanh" not in types


def test_counters_that_depend_on_each_other_are_numbers(monkeypatch):
    loop = tf.while_loop(lambda a, b: a < 50, lambda a, b: (a + b, b * 2 - a // 3), [0, 1])
    types = numbers_of(loop, monkeypatch)
    assert {"Less", "Mul", "FloorDiv"} <= set(types)


def test_a_counter_whose_next_value_is_computed_by_another_op_stays_a_tensor(monkeypatch):
    loop = tf.while_loop(lambda i: i < 10, lambda i: tf.bitwise.bitwise_or(i, 8) + 1, [0])
    assert numbers_of(loop, monkeypatch) == []


def test_a_vector_stays_a_tensor(monkeypatch):
    loop = tf.while_loop(lambda v: tf.reduce_sum(v) < 10, lambda v: v + 1, [tf.zeros([2], tf.int32)])
    assert numbers_of(loop, monkeypatch) == []


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_a_counter_overflows_as_a_tensor_does(dtype):
    largest = dtype.max
    start = tf.constant(largest - 2, dtype)
    i, _ = tf.while_loop(lambda i, n: n < 5, lambda i, n: (i * 3 + i, n + 1), [start, 0])
    expected = np.array(largest - 2, dtype.as_numpy_dtype)
    with np.errstate(over="ignore"):
        for _ in range(5):
            expected = (expected * 3 + expected).astype(dtype.as_numpy_dtype)
    with tf.Session() as session:
        assert session.run(i) == expected


_VALUES = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize(
    "op_type", ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "FloorMod", "FloorDiv", "Less", "Equal"]
)
def test_numbers_give_the_results_of_tensors(op_type):
    feeds = [Node(name, OPS.lookup("_Arg"), [], {"T": dtypes.int32}, [dtypes.int32], [()]) for name in "ab"]
    boolean = op_type in ("Less", "Equal")
    output = dtypes.bool if boolean else dtypes.int32
    node = Node("n", OPS.lookup(op_type), [Output(f, 0) for f in feeds], {"T": dtypes.int32}, [output], [()])
    kernels = {
        "AddV2": torch.add,
        "Sub": torch.sub,
        "Mul": torch.mul,
        "Maximum": torch.maximum,
        "Minimum": torch.minimum,
        "FloorMod": torch.remainder,
        "FloorDiv": torch.floor_divide,
        "Less": torch.lt,
        "Equal": torch.eq,
    }
    call = number_call(node)
    for a in _VALUES:
        for b in _VALUES:
            if (b == 0 and op_type.startswith("Floor")) or (op_type, a, b) == ("FloorDiv", -(2**31), -1):
                continue  # an error, or what the processor makes of an overflow
            tensors = [torch.tensor(v, dtype=torch.int32) for v in (a, b)]
            assert invoke(call, [a, b]) == kernels[op_type](*tensors).item(), (a, b)
