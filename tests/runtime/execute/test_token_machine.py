"""The token machine: events in, instructions out, without a session or a thread.

An instruction is written as the name of a node and the iteration that it is ready in, `add/loop:1`; a dead one as
`dead add/loop:1`.
"""

from collections import Counter

import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.execute.token_machine import DEAD, TokenMachine


def node(name, op_type="Identity", *inputs, controls=(), count=1, **attrs):
    outputs = [given if isinstance(given, tuple) else Output(given, 0) for given in inputs]
    definition = OPS.lookup(op_type)
    return Node(name, definition, outputs, attrs, [dtypes.int32] * count, [()] * count, controls=list(controls))


def enter(name, value, frame="loop", is_constant=False, parallel_iterations=10, **options):
    attrs = {"frame_name": frame, "is_constant": is_constant, "parallel_iterations": parallel_iterations}
    return node(name, "Enter", value, **attrs, **options)


class Loop:
    """A while loop over one variable; `merge`, `test`, `switch`, `exit`, `add` and `next` are its nodes."""

    def __init__(self, entered, prefix="", body=()):
        self.merge = node(f"{prefix}merge", "Merge", entered, count=2)
        self.test = node(f"{prefix}test", "Identity", self.merge)
        self.switch = node(f"{prefix}switch", "Switch", self.merge, self.test, count=2)
        self.exit = node(f"{prefix}exit", "Exit", self.switch)
        self.add = node(f"{prefix}add", "Identity", (self.switch, 1), *body)
        self.next = node(f"{prefix}next", "NextIteration", self.add)
        self.merge.inputs.append((self.next, 0))
        self.nodes = [entered, self.merge, self.test, self.switch, self.exit, self.add, self.next]


class Events:
    """Feeds events to a token machine and checks after each what must always hold."""

    def __init__(self, nodes, fetches=()):
        self.machine = TokenMachine(nodes, [Output(fetch, 0) for fetch in fetches])
        self.pending, self.fired = {}, set()

    def start(self):
        return self._checked(self.machine.start())

    def finish(self, label, *outputs):
        """Gives the outputs of an item, none for a dead one, and returns what becomes ready."""
        item = self.pending.pop(label)
        count = len(item.node.dtypes)
        assert len(outputs) == (0 if item.dead else count)
        return self._checked(self.machine.finish(item, [DEAD] * count if item.dead else outputs))

    def finish_all(self, values=None, last=False):
        """Finishes what is pending and what that makes ready, the oldest or the last first, and returns the labels.

        values: the outputs of plain nodes by label; a node that is not listed passes its first input on.
        """
        order = []
        while self.pending:
            label = list(self.pending)[-1 if last else 0]
            item = self.pending[label]
            order.append(label)
            self.finish(label, *(() if item.dead else self._outputs(label, item, values or {})))
        return order

    def _outputs(self, label, item, values):
        if item.node.type == "Merge":
            index, value = next((i, value) for i, value in enumerate(item.inputs) if value is not DEAD)
            return value, index
        if item.node.type == "Switch":
            value, side = item.inputs
            return (DEAD, value) if side else (value, DEAD)
        return [values.get(label, item.inputs[0] if item.inputs else None)][: len(item.node.dtypes)]

    def is_over(self):
        return not self.pending and not self.machine._root.iterations

    def _checked(self, items):
        labels = []
        for item in items:
            labels.append(f"{'dead ' if item.dead else ''}{item.node.name}{item.iteration.path()}")
            assert (item.node, item.iteration) not in self.fired, f"{labels[-1]} is ready twice"
            self.fired.add((item.node, item.iteration))
            self.pending[labels[-1]] = item
        self._check_counts()
        return labels

    def _check_counts(self):
        pending = Counter(item.iteration for item in self.pending.values())
        frames, open_iterations = [self.machine._root], set()
        while frames:
            frame = frames.pop()
            assert frame.enters >= 0
            assert len(frame.iterations) <= frame.parallel
            assert not frame.deferred or len(frame.iterations) == frame.parallel
            for iteration in frame.iterations.values():
                open_iterations.add(iteration)
                assert min([*iteration.left.values(), *iteration.controls_left.values()], default=0) >= 0
                still_entering = iteration.index == 0 and frame.enters > 0
                assert iteration.in_flight == pending[iteration] + still_entering
                frames += iteration.children.values()
        assert open_iterations.issuperset(pending)


def test_chain():
    first = node("first", "Const")
    second = node("second", "Identity", first)
    third = node("third", "Identity", second)
    events = Events([first, second, third], [third])
    assert events.start() == ["first"]
    assert events.finish("first", 1) == ["second"]
    assert events.finish("second", 2) == ["third"]
    assert events.pending["third"].inputs == [2]
    assert events.finish("third", 3) == []
    assert events.is_over()
    assert events.machine.fetched == {Output(third, 0): 3}


def test_node_waits_for_all_of_its_inputs():
    left, right = node("left", "Const"), node("right", "Const")
    both = node("both", "AddN", left, right, left)
    events = Events([left, right, both])
    assert events.start() == ["left", "right"]
    assert events.finish("right", 2) == []
    assert events.finish("left", 1) == ["both"]
    assert events.pending["both"].inputs == [1, 2, 1]


def test_empty_graph_is_over_after_its_start():
    events = Events([])
    assert events.start() == []
    assert events.is_over()


def diamond():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    no, yes = node("no", "Identity", switch), node("yes", "Identity", Output(switch, 1))
    return [value, switch, no, yes, node("merge", "Merge", no, yes, count=2)]


@pytest.mark.parametrize(("taken", "dead"), [("no", "yes"), ("yes", "no")])
def test_merge_takes_the_living_branch_whichever_ends_first(taken, dead):
    for first in (taken, dead):
        events = Events(diamond())
        events.start()
        assert events.finish("value", 1) == ["switch"]
        sides = {"no": "no", "yes": "yes", dead: f"dead {dead}"}
        outputs = ("living", DEAD) if taken == "no" else (DEAD, "living")
        assert events.finish("switch", *outputs) == list(sides.values())
        if first == dead:
            assert events.finish(f"dead {dead}") == []
            assert events.finish(taken, "result") == ["merge"]
        else:
            assert events.finish(taken, "result") == ["merge"]
            assert events.finish(f"dead {dead}") == []
        assert events.pending["merge"].inputs == (["result", DEAD] if taken == "no" else [DEAD, "result"])
        assert events.finish("merge", "result", 0) == []
        assert events.is_over()


def test_merge_of_dead_values_is_dead():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    inner = node("inner", "Switch", Output(switch, 1), value, count=2)
    merge = node("merge", "Merge", inner, Output(inner, 1), count=2)
    events = Events([value, switch, inner, merge], [merge])
    events.start()
    events.finish("value", 1)
    assert events.finish("switch", 1, DEAD) == ["dead inner"]
    assert events.finish("dead inner") == ["dead merge"]
    assert events.finish("dead merge") == []
    assert events.machine.fetched == {Output(merge, 0): DEAD}


def test_fetch_of_a_branch_that_is_not_taken_stays_dead():
    nodes = diamond()
    events = Events(nodes, nodes[2:4])
    events.start()
    events.finish_all({"value": True, "yes": 5})
    assert events.is_over()
    assert events.machine.fetched == {Output(nodes[2], 0): DEAD, Output(nodes[3], 0): 5}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_while_loop(count):
    value = node("value", "Const")
    loop = Loop(enter("enter", value))
    after = node("after", "Identity", loop.exit)
    events = Events([value, *loop.nodes, after], [after])
    assert events.start() == ["value"]
    assert events.finish("value", 0) == ["enter"]
    assert events.finish("enter", 0) == ["merge/loop:0"]
    for i in range(count):
        assert events.finish(f"merge/loop:{i}", i, 0) == [f"test/loop:{i}"]
        assert events.finish(f"test/loop:{i}", True) == [f"switch/loop:{i}"]
        assert events.finish(f"switch/loop:{i}", DEAD, i) == [f"dead exit/loop:{i}", f"add/loop:{i}"]
        assert events.finish(f"dead exit/loop:{i}") == []
        assert events.finish(f"add/loop:{i}", i + 1) == [f"next/loop:{i}"]
        assert events.finish(f"next/loop:{i}", i + 1) == [f"merge/loop:{i + 1}"]
        assert events.pending[f"merge/loop:{i + 1}"].inputs == [DEAD, i + 1]
    assert events.finish(f"merge/loop:{count}", count, 0) == [f"test/loop:{count}"]
    assert events.finish(f"test/loop:{count}", False) == [f"switch/loop:{count}"]
    assert events.finish(f"switch/loop:{count}", count, DEAD) == [f"exit/loop:{count}", f"dead add/loop:{count}"]
    assert events.finish(f"exit/loop:{count}", count) == ["after"]
    assert events.finish(f"dead add/loop:{count}") == [f"dead next/loop:{count}"]
    assert events.finish(f"dead next/loop:{count}") == []
    assert events.finish("after", count) == []
    assert events.is_over()
    assert events.machine.fetched == {Output(after, 0): count}


def counting(parallel_iterations):
    """Returns events of a counter that goes on at once, and of slow work on it in each iteration."""
    value = node("value", "Const")
    loop = Loop(enter("enter", value, parallel_iterations=parallel_iterations))
    slow = node("slow", "Identity", (loop.switch, 1))
    events = Events([value, *loop.nodes, slow], [loop.exit])
    events.start()
    events.finish("value", 0)
    assert events.finish("enter", 0) == ["merge/loop:0"]
    return events, loop


def advance(events, i):
    """Finishes all of an iteration but its slow work and returns what that makes ready."""
    events.finish(f"merge/loop:{i}", i, 0)
    events.finish(f"test/loop:{i}", True)
    events.finish(f"switch/loop:{i}", DEAD, i)
    events.finish(f"dead exit/loop:{i}")
    events.finish(f"add/loop:{i}", i + 1)
    return events.finish(f"next/loop:{i}", i + 1)


@pytest.mark.parametrize("parallel_iterations", [1, 2, 3])
def test_parallel_iterations_bounds_the_open_iterations(parallel_iterations):
    events, loop = counting(parallel_iterations)
    last = parallel_iterations - 1
    for i in range(last):
        assert advance(events, i) == [f"merge/loop:{i + 1}"]
    assert advance(events, last) == []  # deferred: as many iterations are open as may be
    assert list(events.pending) == [f"slow/loop:{i}" for i in range(last + 1)]
    assert events.finish("slow/loop:0", None) == [f"merge/loop:{last + 1}"]
    assert events.pending[f"merge/loop:{last + 1}"].inputs == [DEAD, last + 1]
    events.finish_all({f"test/loop:{last + 1}": False})
    assert events.is_over()
    assert events.machine.fetched == {(loop.exit, 0): last + 1}


def test_deferred_value_waits_for_the_oldest_iteration():
    events, _ = counting(2)
    advance(events, 0)
    assert advance(events, 1) == []
    assert events.finish("slow/loop:1", None) == []
    assert events.finish("slow/loop:0", None) == ["merge/loop:2"]


@pytest.mark.parametrize("early", [True, False])
def test_constant_enters_every_iteration(early):
    value, other = node("value", "Const"), node("other", "Const")
    constant = enter("constant", other, is_constant=True)
    loop = Loop(enter("enter", value), body=[constant])
    events = Events([value, other, constant, *loop.nodes], [loop.exit])
    events.start()
    events.finish("value", 0)
    events.finish("other", 7)
    if early:
        assert events.finish("constant", 7) == []
    events.finish("enter", 0)
    events.finish("merge/loop:0", 0, 0)
    events.finish("test/loop:0", True)
    assert events.finish("switch/loop:0", DEAD, 0) == ["dead exit/loop:0"] + ["add/loop:0"] * early
    events.finish("dead exit/loop:0")
    if not early:
        assert events.finish("constant", 7) == ["add/loop:0"]
    assert events.pending["add/loop:0"].inputs == [0, 7]
    events.finish("add/loop:0", 1)
    assert events.finish("next/loop:0", 1) == ["merge/loop:1"]
    events.finish("merge/loop:1", 1, 1)
    events.finish("test/loop:1", True)
    events.finish("switch/loop:1", DEAD, 1)
    assert events.pending["add/loop:1"].inputs == [1, 7]
    events.finish_all({"test/loop:2": False})
    assert events.is_over()
    assert events.machine.fetched == {(loop.exit, 0): 1}


@pytest.mark.parametrize("last", [False, True])
def test_nested_frames(last):
    value = node("value", "Const")
    outer = Loop(enter("outer_enter", value, "outer"), "outer_")
    inner = Loop(enter("inner_enter", (outer.switch, 1), "inner"), "inner_")
    outer.add.inputs = [(inner.exit, 0)]
    events = Events([value, *outer.nodes, *inner.nodes], [outer.exit])
    events.start()
    values = {f"outer_test/outer:{i}": i < 2 for i in range(3)}  # twice; inside, once and then three times
    for i, count in enumerate((1, 3)):
        values |= {f"inner_test/outer:{i}/inner:{j}": j < count for j in range(count + 1)}
        values |= {f"inner_add/outer:{i}/inner:{j}": (i, j) for j in range(count)}
    order = events.finish_all({"value": "first"} | values, last)
    assert [label for label in order if label.startswith("inner_add")] == [
        "inner_add/outer:0/inner:0",
        *(f"inner_add/outer:1/inner:{j}" for j in range(3)),
    ]
    assert [label for label in order if "inner_enter" in label] == [
        "inner_enter/outer:0",
        "inner_enter/outer:1",
        "dead inner_enter/outer:2",
    ]
    assert "dead outer_add/outer:2" in order
    assert events.is_over()
    assert events.machine.fetched == {(outer.exit, 0): (1, 2)}


def test_dead_enter_gives_a_dead_exit():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    constant = enter("constant", value, is_constant=True)
    loop = Loop(enter("enter", Output(switch, 1)), body=[constant])
    after = node("after", "Identity", loop.exit)
    events = Events([value, switch, constant, *loop.nodes, after], [after])
    events.start()
    assert events.finish("value", False) == ["switch", "constant"]
    assert events.finish("switch", 1, DEAD) == ["dead enter"]
    assert events.finish("dead enter") == []
    assert events.finish("constant", 7) == ["dead after"]  # the frame is closed when its last value has entered
    assert events.finish("dead after") == []
    assert events.is_over()
    assert events.machine.fetched == {Output(after, 0): DEAD}


def test_dead_enter_around_a_nested_loop_gives_the_dead_exit_of_the_outer_frame():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    outer = Loop(enter("outer_enter", Output(switch, 1), "outer"), "outer_")
    inner = Loop(enter("inner_enter", (outer.switch, 1), "inner"), "inner_")
    outer.add.inputs = [(inner.exit, 0)]
    after = node("after", "Identity", outer.exit)
    events = Events([value, switch, *outer.nodes, *inner.nodes, after], [after])
    events.start()
    events.finish("value", False)
    assert events.finish("switch", 1, DEAD) == ["dead outer_enter"]
    assert events.finish("dead outer_enter") == ["dead after"]
    assert events.finish("dead after") == []
    assert events.is_over()


def test_no_iteration_begins_after_the_last():
    value = node("value", "Const")
    constant = enter("constant", value, is_constant=True)
    loop = Loop(enter("enter", value))
    invariant = node("invariant", "Identity", constant)
    events = Events([value, constant, *loop.nodes, invariant])
    events.start()
    order = events.finish_all({"test/loop:0": True, "test/loop:1": False})
    assert [label for label in order if "invariant" in label] == ["invariant/loop:0", "invariant/loop:1"]
    assert events.is_over()


def test_fetch_inside_a_loop_gets_no_value():
    value = node("value", "Const")
    loop = Loop(enter("enter", value))
    events = Events([value, *loop.nodes], [loop.add])
    events.start()
    assert "add/loop:0" in events.finish_all({"test/loop:0": True, "test/loop:1": False})
    assert events.machine.fetched == {}


def test_control_edges_order_and_kill():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    no, yes = node("no", "Identity", switch), node("yes", "Identity", Output(switch, 1))
    after_no = node("after_no", "Identity", value, controls=[no])
    after_yes = node("after_yes", "NoOp", controls=[value, yes], count=0)
    events = Events([value, switch, no, yes, after_no, after_yes])
    assert events.start() == ["value"]
    assert events.finish("value", 1) == ["switch"]
    assert events.finish("switch", 1, DEAD) == ["no", "dead yes"]
    assert events.finish("no", 1) == ["after_no"]
    assert events.pending["after_no"].inputs == [1]
    assert events.finish("dead yes") == ["dead after_yes"]


def test_control_edge_of_a_switch_is_alive():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    after = node("after", "NoOp", controls=[switch], count=0)
    events = Events([value, switch, after])
    events.start()
    events.finish("value", 1)
    assert events.finish("switch", DEAD, 1) == ["after"]


def test_merge_waits_for_its_control_edges():
    value, other = node("value", "Const"), node("other", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    merge = node("merge", "Merge", switch, Output(switch, 1), controls=[other], count=2)
    events = Events([value, other, switch, merge])
    events.start()
    events.finish("value", 1)
    assert events.finish("switch", DEAD, 1) == []
    assert events.finish("other", None) == ["merge"]
    assert events.pending["merge"].inputs == [DEAD, 1]


def test_dead_control_edge_leaves_a_merge_alive():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    no, yes = node("no", "Identity", switch), node("yes", "Identity", Output(switch, 1))
    merge = node("merge", "Merge", switch, yes, controls=[no], count=2)
    events = Events([value, switch, no, yes, merge])
    events.start()
    events.finish("value", 1)
    events.finish("switch", DEAD, 1)
    assert events.finish("yes", 1) == []
    assert events.finish("dead no") == ["merge"]


def test_merge_of_a_loop_waits_for_its_control_edges_in_every_iteration():
    value = node("value", "Const")
    constant = enter("constant", value, is_constant=True)
    loop = Loop(enter("enter", value))
    loop.merge.controls.append(constant)
    events = Events([value, constant, *loop.nodes], [loop.exit])
    events.start()
    assert events.finish("value", 4) == ["constant", "enter"]
    assert events.finish("enter", 4) == []
    assert events.finish("constant", None) == ["merge/loop:0"]
    events.finish_all({"test/loop:0": True, "add/loop:0": 5, "test/loop:1": False})
    assert events.is_over()
    assert events.machine.fetched == {(loop.exit, 0): 5}


def test_control_trigger_runs_after_dead_nodes():
    value = node("value", "Const")
    switch = node("switch", "Switch", value, value, count=2)
    no, yes = node("no", "Identity", switch), node("yes", "Identity", Output(switch, 1))
    trigger = node("trigger", "ControlTrigger", controls=[no, yes], count=0)
    after = node("after", "NoOp", controls=[trigger], count=0)
    events = Events([value, switch, no, yes, trigger, after])
    events.start()
    events.finish("value", 1)
    events.finish("switch", 1, DEAD)
    assert events.finish("dead yes") == []
    assert events.finish("no", 1) == ["trigger"]
    assert events.finish("trigger") == ["after"]
    assert events.finish("after") == []
    assert events.is_over()


def test_control_edge_from_an_exit_follows_the_loop():
    value = node("value", "Const")
    loop = Loop(enter("enter", value))
    after = node("after", "NoOp", controls=[loop.exit], count=0)
    events = Events([value, *loop.nodes, after])
    events.start()
    order = events.finish_all({"test/loop:0": True, "test/loop:1": False})
    assert order.index("after") > order.index("exit/loop:1")
    assert order.count("after") == 1
    assert events.is_over()


def test_exit_outside_of_loops_is_an_error():
    value = node("value", "Const")
    with pytest.raises(errors.InvalidArgumentError, match="'stray' is not inside a loop"):
        TokenMachine([value, node("stray", "Exit", value)], [])


def test_exit_that_is_also_reached_outside_of_loops_is_an_error():
    value = node("value", "Const")
    entered = enter("enter", value)
    merge = node("merge", "Merge", value, entered, count=2)
    events = Events([value, merge, node("exit", "Exit", merge), entered])
    events.start()
    with pytest.raises(errors.InvalidArgumentError, match="'exit' is not inside a loop"):
        events.finish_all()


def test_control_edge_from_a_next_iteration_arrives_once():
    value = node("value", "Const")
    loop = Loop(enter("enter", value))
    outside = node("outside", "Identity", value, controls=[loop.next])
    events = Events([value, *loop.nodes, outside])
    events.start()
    order = events.finish_all({f"test/loop:{i}": i < 3 for i in range(4)})
    assert "exit/loop:3" in order
    assert not [label for label in order if "outside" in label]


def test_node_that_is_signalled_in_place_of_its_input_is_an_error():
    value = node("value", "Const")
    loop = Loop(enter("enter", value))
    in_each_iteration = node("early", "Exit", (loop.switch, 1))
    late = node("late", "Const")
    joined = node("joined", "Identity", late, controls=[in_each_iteration])
    machine = TokenMachine([late, value, *loop.nodes, in_each_iteration, joined], [])
    ready = machine.start()
    with pytest.raises(errors.InvalidArgumentError, match="'joined' receives several values for one input"):
        while ready:
            item = ready.pop()  # the late one last
            taken = [DEAD, 1] if item.iteration.index < 3 else [1, DEAD]
            count = len(item.node.dtypes)
            ready += machine.finish(item, taken if item.node is loop.switch else [DEAD if item.dead else 1] * count)
