"""Readiness: events in, instructions out, without a session or a thread."""

import ast
import inspect

import pytest
from hypothesis import given, settings, strategies as st

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.execute import readiness, token_machine
from thalweg._src.runtime.execute.readiness import Readiness, Schedule


def node(name):
    return Node(name, OPS.lookup("_Recv"), [], {}, [dtypes.float32], [()])


class Events:
    """Feeds events to a Readiness and checks after each what must always hold."""

    def __init__(self, before, taken=()):
        self.before = before
        self.readiness = Readiness(Schedule(before, taken))
        self.ready, self.ended = set(), set()

    def start(self):
        return self._checked(self.readiness.start())

    def finished(self, item):
        assert item in self.ready - self.ended
        self.ended.add(item)
        return self._checked(self.readiness.finished(item))

    def _checked(self, new):
        assert len(set(new)) == len(new)
        assert self.ready.isdisjoint(new)
        assert all(self.ended.issuperset(self.before[item]) for item in new)
        self.ready.update(new)
        assert min(self.readiness.waits.values(), default=0) >= 0
        assert self.readiness.left == len(self.before) - len(self.ended)
        assert self.readiness.over == (self.ended == set(self.before))
        return new


def test_chain():
    events = Events({0: (), 1: (0,), 2: (1,)})
    assert events.start() == [0]
    assert events.finished(0) == [1]
    assert events.finished(1) == [2]
    assert not events.readiness.over
    assert events.finished(2) == []
    assert events.readiness.over


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_diamond_joins_after_its_second_side(order):
    events = Events({0: (), 1: (0,), 2: (0,), 3: (1, 2)})
    assert events.start() == [0]
    assert events.finished(0) == [1, 2]
    assert events.finished(order[0]) == []
    assert events.finished(order[1]) == [3]


def test_waiting_nodes_between_segments():
    first, second = node("first"), node("second")
    events = Events({0: (), 1: (first, 0), 2: (first, second), first: (), second: (1,)})
    assert events.start() == [0, first]
    assert events.finished(first) == []
    assert events.finished(0) == [1]
    assert events.finished(1) == [second]
    assert events.finished(second) == [2]
    assert events.finished(2) == []
    assert events.readiness.over


def test_independent_items_are_over_after_the_last():
    events = Events({0: (), 1: (), 2: ()})
    assert events.start() == [0, 1, 2]
    over = []
    for item in (2, 0, 1):
        assert events.finished(item) == []
        over.append(events.readiness.over)
    assert over == [False, False, True]


def test_empty_program_is_over_at_once():
    events = Events({})
    assert events.start() == []
    assert events.readiness.over


def test_values_are_dropped_after_their_last_use():
    producer = node("producer")
    once, twice = Output(producer, 0), Output(producer, 1)
    events = Events({producer: (), 0: (producer,), 1: (producer,)}, taken=[once, twice, twice])
    assert events.readiness.used(twice) is False
    assert events.readiness.used(once) is True
    assert events.readiness.used(twice) is True
    assert events.readiness.uses == {once: 0, twice: 0}


def test_fetched_values_are_kept():
    producer = node("producer")
    fetch = Output(producer, 0)
    events = Events({producer: (), 0: (producer,)}, taken=[fetch, fetch])  # the fetch itself and segment 0
    assert events.readiness.used(fetch) is False
    assert events.readiness.uses == {fetch: 1}


def test_runs_of_one_schedule_are_independent():
    value = (node("producer"), 0)
    schedule = Schedule({0: (), 1: (0,)}, [value])
    for _ in range(2):
        run = Readiness(schedule)
        assert run.start() == [0]
        assert run.finished(0) == [1]
        assert run.used(value)
        assert run.finished(1) == []
        assert run.over


@st.composite
def dags(draw):
    """Gives the predecessors of each of a few items; the items are listed in any order."""
    count = draw(st.integers(0, 12))
    before = {i: draw(st.sets(st.integers(0, i - 1))) if i else set() for i in range(count)}
    return {item: before[item] for item in draw(st.permutations(range(count)))}


@settings(deadline=None)
@given(dags(), st.data())
def test_every_item_becomes_ready_once_after_its_predecessors(before, data):
    events = Events(before)
    pending = events.start()
    while pending:
        item = pending.pop(data.draw(st.integers(0, len(pending) - 1)))
        pending += events.finished(item)
    assert events.ready == set(before)
    assert events.readiness.over


@pytest.mark.parametrize("module", [readiness, token_machine])
def test_state_machines_import_no_threads_clock_or_kernels(module):
    imported = set()
    for statement in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(statement, ast.Import):
            imported.update(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            imported.update(f"{statement.module}.{alias.name}" for alias in statement.names)
    assert not [name for name in imported if name.split(".")[0] in ("threading", "time", "torch")]
    ours = [name.removeprefix("thalweg._src.") for name in imported if name.startswith("thalweg.")]
    assert all(name.startswith(("base.errors", "graph.")) for name in ours)
