"""Segments: random graphs with blocking nodes, split and run for every order of arrival."""

import random
import threading
import tracemalloc

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.compile.segment import split_into_segments
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import local_devices
from thalweg._src.runtime.resources.step import Step

HOST = local_devices(tf.ConfigProto(), Containers())[0]
FLOAT = dtypes.float64


def receive(name, controls=(), order=0):
    attrs = {"tensor_type": FLOAT, "tensor_name": name, "send_device": "outside", "recv_device": "here"}
    return Node(name, OPS.lookup("_Recv"), [], attrs, [FLOAT], [()], controls=list(controls), order=order)


def plain(name, op_type, producers, controls=(), order=0):
    attrs = {"T": FLOAT, "N": len(producers)} if op_type == "AddN" else {"T": FLOAT}
    inputs = [Output(p, 0) for p in producers]
    return Node(name, OPS.lookup(op_type), inputs, attrs, [FLOAT], [()], controls=list(controls), order=order)


def constant(name, value, controls=()):
    attrs = {"value": np.array(value), "dtype": FLOAT}
    return Node(name, OPS.lookup("Const"), [], attrs, [FLOAT], [()], controls=list(controls))


def step_of(nodes, fetches):
    step = StepGraph(list(nodes), [], [Output(node, 0) for node in fetches])
    step.prune_and_sort()
    return step


def run(step, arrivals):
    """Runs a step graph, sending each (name, value) in turn once it has started."""
    executable = Executable([Program(step, HOST)], len(step.fetches), "")
    running = Step()
    finished = running.finished = threading.Event()
    runs = executable.start(running, [], finished.set)
    for name, value in arrivals:
        running.rendezvous.send(f"outside;here;{name}", torch.tensor(value, dtype=torch.float64))
    assert finished.wait(timeout=30), f"still waiting: {running.waiting}"
    if running.cancelled:
        running.stop()
    return [float(value) for value in executable._gather(runs)]


def waits_above(node, cache):
    """Returns the blocking ancestors, by definition."""
    if node not in cache:
        found = set()
        for p in node.predecessors():
            found |= waits_above(p, cache) | ({p} if p.definition.waits else set())
        cache[node] = frozenset(found)
    return cache[node]


def random_step(seed):
    """Returns a random graph with blocking nodes, their names, and a function that computes it directly."""
    rng = random.Random(seed)
    nodes, names = [constant("start", 1.0)], []
    for i in range(rng.randint(2, 40)):
        kind = rng.random()
        if kind < 0.25:
            names.append(f"wait{i}")
            nodes.append(receive(names[-1], rng.sample(nodes, min(len(nodes), rng.randint(0, 2))), order=i + 1))
        else:
            producers = rng.choices(nodes, k=rng.randint(1, 3))
            controls = rng.sample(nodes, min(len(nodes), rng.randint(0, 1)))
            nodes.append(plain(f"n{i}", "AddN" if len(producers) > 1 else "Neg", producers, controls, order=i + 1))
    step = step_of(nodes, rng.sample(nodes, min(3, len(nodes))))
    return step, [name for name in names if any(node.name == name for node in step.nodes)]


def directly(step, arrived):
    values = {}
    for node in step.nodes:
        inputs = [values[p] for p, _ in node.inputs]
        if node.type == "Const":
            values[node] = float(node.attrs["value"])
        elif node.type == "_Recv":
            values[node] = arrived[node.name]
        else:
            values[node] = sum(inputs) if node.type == "AddN" else -inputs[0]
    return [values[node] for node, _ in step.fetches]


def test_nodes_with_equal_blocking_ancestors_share_a_segment():
    a, b = receive("a"), receive("b")
    before = constant("before", 1.0)
    left = plain("left", "Neg", [a])
    alone = plain("alone", "Neg", [before])
    both = plain("both", "AddN", [left, b])
    again = plain("again", "AddN", [b, a, before])
    segments = split_into_segments(step_of([], [both, again, alone, left]))
    sets = {frozenset(w.name for w in s.waits): sorted(n.name for n in s.nodes) for s in segments}
    assert sets == {
        frozenset(): ["alone", "before"],
        frozenset({"a"}): ["left"],
        frozenset({"a", "b"}): ["again", "both"],
    }


def test_chained_blocking_nodes_are_both_counted():
    a = receive("a")
    b = receive("b", controls=[plain("middle", "Neg", [a])])
    last = plain("last", "Neg", [b])
    by_name = {n.name: s for s in split_into_segments(step_of([], [last])) for n in s.nodes}
    assert {w.name for w in by_name["last"].waits} == {"a", "b"}
    assert {w.name for w in by_name["middle"].waits} == {"a"}


def test_values_between_segments_are_inputs_and_outputs():
    a = receive("a")
    one, two = constant("one", 1.0), constant("two", 2.0)
    early = plain("early", "AddN", [one, two])
    late = plain("late", "AddN", [early, a])
    first, second = split_into_segments(step_of([], [late]))
    assert first.outputs == [Output(early, 0)] and not first.inputs
    assert set(second.inputs) == {Output(early, 0), Output(a, 0)} and second.outputs == [Output(late, 0)]
    assert second.after == {first.index} and not first.after


def test_control_edges_cross_segments_without_values():
    a, b = receive("a"), constant("b", 1.0)
    early = plain("early", "Neg", [b])
    late = plain("late", "Neg", [a], controls=[early])
    first, second = split_into_segments(step_of([], [late]))
    assert first.outputs == [] and second.inputs == [Output(a, 0)]
    assert second.after == {first.index}


def _memory_of_a_chain(count):
    """Returns the bytes that a program needs whose every blocking node comes before all later nodes."""
    last = receive("r0")
    for i in range(1, count):
        last = plain(f"n{i}", "AddN", [last, receive(f"r{i}", order=i)], order=i)
    step = step_of([], [last])
    tracemalloc.start()
    try:
        assert Program(step, HOST).schedule.waits
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_the_length_of_a_chain_of_blocking_nodes():
    _memory_of_a_chain(2)  # imports and caches
    assert _memory_of_a_chain(2000) < 1.5 * 8 * _memory_of_a_chain(250)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    step, _ = random_step(seed)
    segments = split_into_segments(step)
    home = {node: segment for segment in segments for node in segment.nodes}
    cache = {}
    assert set(home) == {node for node in step.nodes if not node.definition.waits}
    assert len({segment.waits for segment in segments}) == len(segments)
    for node, segment in home.items():
        assert segment.waits == waits_above(node, cache)
    for segment in segments:
        assert all(segments[i].waits < segment.waits for i in segment.after)  # by inclusion, so without a cycle
        assert segments[segment.index] is segment
        assert segment.nodes == [node for node in step.nodes if home.get(node) is segment]
        _no_path_leaves_and_returns(segment, step)


def _no_path_leaves_and_returns(segment, step):
    members = set(segment.nodes)
    outside = set()  # nodes elsewhere that depend on a member
    for node in step.nodes:
        above = set(node.predecessors())
        if node in members:
            assert not above & outside
        elif above & (members | outside):
            outside.add(node)


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_run_for_every_order_of_arrival(seed):
    step, names = random_step(seed)
    rng = random.Random(seed + 1000)
    arrived = {name: float(rng.randint(1, 9)) for name in names}
    expected = directly(step, arrived)
    order = list(arrived.items())
    rng.shuffle(order)
    assert run(step, order) == expected


def test_segments_wait_only_for_what_they_need():
    """The first segment runs while a node that it does not depend on still blocks."""
    a = receive("a")
    early = plain("early", "Neg", [constant("one", 1.0)])
    both = plain("both", "AddN", [early, a])
    sent = Node(
        "sent",
        OPS.lookup("_Send"),
        [Output(early, 0)],
        {"T": FLOAT, "tensor_name": "early", "send_device": "here", "recv_device": "outside"},
        [],
        [],
    )
    step = StepGraph([], [], [Output(both, 0)], [sent])
    step.prune_and_sort()
    executable = Executable([Program(step, HOST)], 1, "")
    running = Step()
    finished = running.finished = threading.Event()
    runs = executable.start(running, [], finished.set)

    def answer(value):  # the value for `a` is made from `early`
        running.rendezvous.send("outside;here;a", value * 10)

    running.rendezvous.receive("here;outside;early", answer)
    assert finished.wait(timeout=30)
    assert float(executable._gather(runs)[0]) == -11.0


def test_a_blocking_node_after_a_constant_with_control_inputs():
    """A constant is known before the step, but its consumers must wait for its control inputs."""
    order = []

    def note():
        order.append("function")
        return np.float64(0)

    function = tf.py_func(note, [], tf.float64, name="function").op
    node = Node("function", function.definition, [], function.attrs, [FLOAT], [None])
    pause = constant("pause", 1.0, controls=[node])
    wait = receive("a", controls=[pause])
    last = plain("last", "Neg", [wait])
    program = Program(step_of([], [last]), HOST)
    segment = next(s.index for s in program.segments if node in s.nodes)
    assert wait in program.schedule.followers.get(segment, [])
    assert run(step_of([], [last]), [("a", 2.0)]) == [-2.0]
    assert order == ["function"]
