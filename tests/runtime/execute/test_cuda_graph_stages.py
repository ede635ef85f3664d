"""The captured segment by itself: its stages, its signatures, and when it captures, replays and gives up."""

import random

import numpy as np
import pytest
import torch

from tests.runtime.execute.recorded_calls import record
from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.compile.bind import bind
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.compile.tiers import WARM_UP_RUNS, Tiers
from thalweg._src.runtime.execute import cuda_graph
from thalweg._src.runtime.resources.accelerators import Accelerator
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

FLOAT = dtypes.float32


class Captures:
    """The captures of a device, of which each replay computes into the tensors that its capture has returned."""

    def __init__(self):
        self.records = []
        self.error = None

    def __call__(self, function, generators):
        if self.error is not None:
            raise self.error
        return record(function, self.records)

    @property
    def count(self):
        return len(self.records)

    @property
    def replays(self):
        return sum(notes.count for notes in self.records)


@pytest.fixture
def captures():
    return Captures()


@pytest.fixture
def device(register, captures):
    accelerator = Accelerator("FAKE", "cpu", lambda: 1, capture=captures)
    register(accelerator)
    return Device("/device:FAKE:0", "FAKE", torch.device("cpu"), Containers(), accelerator=accelerator)


def feed(name):
    return Node(name, OPS.lookup("_Arg"), [], {"T": FLOAT, "index": 0, "_host": False}, [FLOAT], [(2,)])


def node(op_type, name, *producers, **attrs):
    inputs = [Output(producer, 0) for producer in producers]
    return Node(name, OPS.lookup(op_type), inputs, {"T": FLOAT, **attrs}, [FLOAT], [(2,)])


def chain(source, count=4):
    nodes = [node("Tanh", "tanh_0", source)]
    for i in range(1, count):
        nodes.append(node("Tanh", f"tanh_{i}", nodes[-1]))
    return nodes


def captured(nodes, feeds, fetches, device):
    """Returns the captured segment of some nodes, None if a capture is not worthwhile."""
    outputs = [Output(fetch, 0) for fetch in fetches]
    step = StepGraph([*feeds, *nodes], feeds, outputs)
    segment = Segment(0, nodes, [Output(source, 0) for source in feeds], outputs)
    return cuda_graph.captured(segment, bind(step, device), device, Tiers())


def cut(nodes, device):
    """Returns the names of the nodes in each stage."""
    step = StepGraph(nodes, [n for n in nodes if n.type == "_Arg"], [])
    segment = Segment(0, [n for n in nodes if n.type != "_Arg"])
    return [[n.name for n in stage] for stage in cuda_graph._cut(segment, bind(step, device), device)]


def test_a_node_that_cannot_be_captured_goes_before_or_after(device):
    x = feed("x")
    first = node("CheckNumerics", "first", x, message="")
    inner = node("Tanh", "inner", first)
    last = node("CheckNumerics", "last", inner, message="")
    follower = node("Tanh", "follower", last)
    beside = node("Tanh", "beside", x)
    assert cut([x, first, inner, last, follower, beside], device) == [
        ["first"],
        ["inner", "beside"],
        ["last", "follower"],
    ]


def test_a_node_of_the_host_is_captured_where_it_depends_on_shapes_of_the_device(device):
    x = feed("x")
    inner = node("Tanh", "inner", x)
    shape = Node(
        "shape",
        OPS.lookup("Shape"),
        [Output(inner, 0)],
        {"T": FLOAT, "out_type": dtypes.int32, "_host": True},
        [dtypes.int32],
        [(1,)],
    )
    early = Node(
        "early",
        OPS.lookup("Shape"),
        [Output(x, 0)],
        {"T": FLOAT, "out_type": dtypes.int32, "_host": True},
        [dtypes.int32],
        [(1,)],
    )
    assert cut([x, early, inner, shape], device) == [["early"], ["inner", "shape"], []]


@pytest.mark.parametrize("seed", range(20))
def test_no_node_is_in_an_earlier_stage_than_one_that_it_depends_on(device, seed):
    rng = random.Random(seed)
    nodes = [feed("x")]
    for i in range(25):
        op_type, attrs = rng.choice([("Tanh", {}), ("Exp", {}), ("CheckNumerics", {"message": ""})])
        nodes.append(node(op_type, f"n{i}", rng.choice(nodes), **attrs))
    stage_of = {name: stage for stage, names in enumerate(cut(nodes, device)) for name in names}
    assert len(stage_of) == 25
    for n in nodes[1:]:
        assert all(stage_of[p.name] <= stage_of[n.name] for p in n.predecessors() if p.name in stage_of)
        assert n.type != "CheckNumerics" or stage_of[n.name] != 1


@pytest.mark.parametrize(
    ("value", "on_host", "signature"),
    [
        (torch.zeros(2, 3), False, (torch.float32, (2, 3), (3, 1))),
        (torch.zeros(3, 2).t(), False, (torch.float32, (2, 3), (1, 2))),
        (torch.tensor([4, 5]), True, (torch.int64, (2,), (4, 5))),
        (torch.zeros(65), True, None),  # too large to be compared in each step
        (3, True, 3),
        (True, True, True),
        (np.array([b"text"], object), False, None),
    ],
)
def test_a_signature_is_the_layout_of_a_device_value_and_all_of_a_host_value(value, on_host, signature):
    assert cuda_graph._signature_of(value, on_host) == signature


def test_a_few_kernels_are_not_worth_a_capture(device):
    x = feed("x")
    assert captured(chain(x, 3), [x], [], device) is None
    assert captured(chain(x, 4), [x], [], device) is not None


def test_a_device_without_captures_has_none(device):
    x = feed("x")
    device.accelerator = Accelerator("FAKE", "cpu", lambda: 1)
    assert captured(chain(x), [x], [], device) is None


def test_a_capture_follows_the_warm_up_and_is_replayed(device, captures):
    x = feed("x")
    nodes = chain(x)
    run = captured(nodes, [x], [nodes[-1]], device)
    values = [torch.full((2,), 0.1 * i) for i in range(10)]
    results = [run(Step(), value)[0] for value in values]
    assert captures.count == 1 and captures.replays == len(values) - WARM_UP_RUNS
    for value, result in zip(values, results):  # also those of earlier replays: what leaves is a copy
        torch.testing.assert_close(result, value.tanh().tanh().tanh().tanh())


def test_a_value_that_only_the_last_stage_uses_is_not_copied(device):
    x = feed("x")
    nodes = chain(x)
    last = node("CheckNumerics", "last", nodes[-1], message="")
    end = node("Exp", "end", last)
    run = captured([*nodes, last, end], [x], [end, nodes[1]], device)
    leaving = dict(zip(run._middle.segment.outputs, run._leaving))
    assert leaving == {Output(nodes[1], 0): True, Output(nodes[-1], 0): True}  # CheckNumerics returns its input
    plain = captured([*nodes, node("Where", "last", nodes[-1])], [x], [], device)
    assert plain._leaving == [False]


def test_layouts_are_captured_separately(device, captures):
    x = feed("x")
    nodes = chain(x)
    run = captured(nodes, [x], [nodes[-1]], device)
    for i in range(2 * (WARM_UP_RUNS + 2)):
        value = torch.rand(2 + i % 2)
        torch.testing.assert_close(run(Step(), value)[0], value.tanh().tanh().tanh().tanh())
    assert captures.count == 2


def test_after_a_failed_capture_the_segment_stays_eager(device, captures):
    x = feed("x")
    nodes = chain(x)
    run = captured(nodes, [x], [nodes[-1]], device)
    captures.error = RuntimeError("a wait for the device")
    value = torch.ones(2)
    for _ in range(WARM_UP_RUNS + 3):
        torch.testing.assert_close(run(Step(), value)[0], value.tanh().tanh().tanh().tanh())
    captures.error = None
    run(Step(), value)
    assert captures.count == 0 and run._tiers.is_eager(run)


def test_while_another_step_uses_the_memory_a_step_runs_eagerly(device, captures):
    x = feed("x")
    nodes = chain(x)
    run = captured(nodes, [x], [nodes[-1]], device)
    value = torch.ones(2)
    for _ in range(WARM_UP_RUNS + 1):
        run(Step(), value)
    replays = captures.replays
    with run._in_use:
        torch.testing.assert_close(run(Step(), value)[0], value.tanh().tanh().tanh().tanh())
    assert captures.replays == replays
    run(Step(), value)
    assert captures.replays == replays + 1


def variable_step(device):
    """Returns a captured segment that updates a variable, its value, and the variable."""
    attrs = {"dtype": FLOAT, "shape": (2,), "container": "", "shared_name": "v", "allowed_devices": ()}
    handle = Node("v", OPS.lookup("VarHandleOp"), [], attrs, [dtypes.resource], [()])
    read = Node("read", OPS.lookup("ReadVariableOp"), [Output(handle, 0)], {"dtype": FLOAT}, [FLOAT], [(2,)])
    nodes = [read, *chain(read, 3)]
    inputs = [Output(handle, 0), Output(nodes[-1], 0)]
    update = Node("update", OPS.lookup("AssignAddVariableOp"), inputs, {"dtype": FLOAT}, [], [])
    nodes = [handle, *nodes, update]
    outputs = [Output(nodes[-2], 0)]
    step = StepGraph(nodes, [], outputs)
    bound = bind(step, device)
    variable = bound.constants[Output(handle, 0)]
    variable.assign(torch.tensor([0.5, 1.0]))
    segment = Segment(0, nodes, [], outputs)
    return cuda_graph.captured(segment, bound, device, Tiers()), variable


def test_a_buffer_that_is_referenced_postpones_the_capture(device, captures):
    run, variable = variable_step(device)
    held = []
    expected = torch.tensor([0.5, 1.0])
    for call in range(3 * WARM_UP_RUNS):
        if call == WARM_UP_RUNS:
            held.append(variable.value)  # a fetched value, at the moment of the capture
        before = variable.value.clone()
        run(Step())
        expected = before + before.tanh().tanh().tanh()
        torch.testing.assert_close(variable.value, expected)
        if held and call == WARM_UP_RUNS:
            assert captures.count == 0
            held.clear()
    assert captures.count == 1 and not run._tiers.is_eager(run)


def test_an_assigned_variable_returns_to_the_captured_buffer(device, captures):
    run, variable = variable_step(device)
    for _ in range(WARM_UP_RUNS + 2):
        run(Step())
    address, replays = variable.captured.data_ptr(), captures.replays
    start = torch.tensor([0.25, -0.25])
    variable.assign(start)
    assert variable.value.data_ptr() != address
    run(Step())
    assert variable.value.data_ptr() == address and captures.replays == replays + 1
    torch.testing.assert_close(variable.value, start + start.tanh().tanh().tanh())


def test_a_captured_buffer_that_is_referenced_is_not_written(device, captures):
    run, variable = variable_step(device)
    for _ in range(WARM_UP_RUNS + 2):
        run(Step())
    held, replays = variable.captured, captures.replays
    before = held.clone()
    run(Step())
    torch.testing.assert_close(held, before)
    torch.testing.assert_close(variable.value, before + before.tanh().tanh().tanh())
    assert captures.replays == replays


def test_a_transaction_keeps_the_segment_from_replaying(device, captures):
    run, variable = variable_step(device)
    for _ in range(WARM_UP_RUNS + 2):
        run(Step())
    before, replays = variable.value.clone(), captures.replays
    variable.remember()
    run(Step())
    assert captures.replays == replays
    torch.testing.assert_close(variable.value, before + before.tanh().tanh().tanh())
    variable.undo()
    torch.testing.assert_close(variable.value, before)
