"""Steps with thousands of feeds, fetches or nodes: the work of each is linear in their number."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

_FEW, _MANY = 100, 800


def _fetches(count: int) -> Callable[[tf.Session], Any]:
    x = tf.placeholder(tf.float32, [])
    sums = [x + float(i) for i in range(count)]
    nested = {"pairs": list(zip(sums, reversed(sums))), "names": {str(i): sums[i].name for i in range(count)}}
    return lambda session: session.run([nested, [t.op for t in sums]], {x: 1.0})


def _feeds(count: int) -> Callable[[tf.Session], Any]:
    placeholders = [tf.placeholder(tf.float32, []) for _ in range(count)]
    total = tf.add_n(placeholders)
    return lambda session: session.run(total, dict.fromkeys(placeholders, 1.0))


def _variables(count: int) -> Callable[[tf.Session], Any]:
    for i in range(count):
        tf.Variable(float(i))
    return lambda session: session.run(tf.global_variables_initializer())


def _feeds_at_a_queue(count: int) -> Callable[[tf.Session], Any]:
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[]])
    full = queue.enqueue_many(np.ones(2, np.float32))
    first, second = queue.dequeue(), queue.dequeue()
    placeholders = [tf.placeholder(tf.float32, []) for _ in range(count)]
    fetches = [first + p for p in placeholders] + [second * p for p in placeholders]
    return lambda session: (session.run(full), session.run(fetches, dict.fromkeys(placeholders, 1.0)))


def _loop_variables(count: int) -> Callable[[tf.Session], Any]:
    x = tf.placeholder(tf.float32, [])
    start = [tf.constant(0), *(x + float(i) for i in range(count))]
    ends = tf.while_loop(lambda i, *_: i < 2, lambda i, *rest: [i + 1, *(v + 1.0 for v in rest)], start)
    return lambda session: session.run(ends, {x: 1.0})


def _branch_outputs(count: int) -> Callable[[tf.Session], Any]:
    x = tf.placeholder(tf.float32, [])
    ends = tf.cond(x > 0, lambda: [x + float(i) for i in range(count)], lambda: [x - float(i) for i in range(count)])
    return lambda session: session.run(ends, {x: 1.0})


def _partial_run(count: int) -> Callable[[tf.Session], Any]:
    placeholders = [tf.placeholder(tf.float32, []) for _ in range(count)]
    shared = tf.constant(1.0)
    for _ in range(count):
        shared = -shared
    sums = [shared + p for p in placeholders]

    def run(session: tf.Session) -> None:
        handle = session.partial_run_setup(sums, placeholders)
        half = count // 2
        session.partial_run(handle, sums[:half], dict.fromkeys(placeholders[:half], 1.0))
        session.partial_run(handle, sums[half:], dict.fromkeys(placeholders[half:], 1.0))

    return run


def _partial_run_of_a_chain(count: int) -> Callable[[tf.Session], Any]:
    placeholders = [tf.placeholder(tf.float32, []) for _ in range(count)]
    sums = list(itertools.accumulate(placeholders, tf.add))

    def run(session: tf.Session) -> None:
        handle = session.partial_run_setup(sums, placeholders)
        for i in range(count):
            assert session.partial_run(handle, sums[i], {placeholders[i]: 1.0}) == i + 1

    return run


def _work(program: Callable[[int], Callable[[tf.Session], Any]], count: int, monkeypatch: Any) -> int:
    """Returns how many functions this thread calls, and how many tensors and nodes it compares, to run a program."""
    done = 0

    def counts(*_: Any) -> Any:
        nonlocal done
        done += 1
        return NotImplemented

    with tf.Graph().as_default(), tf.Session() as session:
        run = program(count)
        with monkeypatch.context() as patch:
            for kind in (Tensor, Operation, Node):
                patch.setattr(kind, "__eq__", counts)  # searching a list compares, finding by hash does not
            sys.setprofile(counts)
            try:
                run(session)
            finally:
                sys.setprofile(None)
    return done


@pytest.mark.parametrize(
    "program",
    [
        *(_fetches, _feeds, _variables, _feeds_at_a_queue, _loop_variables, _branch_outputs),
        *(_partial_run, _partial_run_of_a_chain),
    ],
)
def test_work_is_linear_in_the_size_of_a_step(program: Any, monkeypatch: Any) -> None:
    _work(program, 2, monkeypatch)  # imports and caches
    few, many = (_work(program, count, monkeypatch) for count in (_FEW, _MANY))
    assert many < 1.5 * few * _MANY / _FEW


def test_chain_longer_than_any_stack_runs_interpreted_and_generated() -> None:
    count = 21_000  # more than a program may have whose code is generated before its first step
    with tf.Graph().as_default(), tf.Session() as session:
        x = y = tf.placeholder(tf.int32, [])
        for _ in range(count):
            y = y + 1
        assert [session.run(y, {x: start}) for start in range(3)] == [count, count + 1, count + 2]
