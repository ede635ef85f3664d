"""What a session keeps is bounded: compiled step signatures, partial runs."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import thalweg as tf
from tests.training.input.waiting import until
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.session import partial_run, session


@pytest.fixture
def most(monkeypatch):
    monkeypatch.setattr(session, "MAX_PLANS", 4)
    return 4


@pytest.fixture
def programs(monkeypatch):
    """Returns the programs that are compiled from now on and not freed."""
    made = weakref.WeakSet()
    create = Program.__init__

    def created(self, *args, **kwargs):
        made.add(self)
        create(self, *args, **kwargs)

    monkeypatch.setattr(Program, "__init__", created)
    return made


def _kept(programs):
    gc.collect()
    return len(programs)


def test_plans_beyond_the_limit_are_freed_with_their_programs(most, programs):
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as sess:
        for i in range(5 * most):
            assert sess.run(x + float(i), {x: 1.0}) == 1.0 + i
        assert len(sess._plans) == most
        assert _kept(programs) == most
    assert _kept(programs) == 0


def test_memory_of_ever_new_signatures_does_not_grow(most):
    x = tf.placeholder(tf.float32, [])
    sums = [x + float(i) for i in range(24 * most)]
    with tf.Session() as sess:

        def run(some):
            for tensor in some:
                sess.run(tensor, {x: 1.0})
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        run(sums[: 4 * most])
        tracemalloc.start()
        try:
            first = run(sums[4 * most : 8 * most])
            grown = run(sums[8 * most :]) - first
        finally:
            tracemalloc.stop()
    assert grown < first  # as much as the four plans take, which were made while memory was traced


def test_plans_in_use_stay(most, programs):
    x = tf.placeholder(tf.float32, [])
    hot = x * 2.0
    with tf.Session() as sess:
        sess.run(hot, {x: 1.0})
        (kept,) = programs
        for i in range(5 * most):
            sess.run(x + float(i), {x: 1.0})
            assert sess.run(hot, {x: 3.0}) == 6.0
        assert kept in programs and any(plan.executable.programs == [kept] for plan in sess._plans.values())


def test_a_running_step_keeps_its_plan(most):
    started, go_on = threading.Event(), threading.Event()
    slow = tf.py_func(lambda: started.set() or (go_on.wait(60) and np.float32(1)), [], tf.float32) + 1.0
    results = []
    with tf.Session() as sess:
        thread = threading.Thread(target=lambda: results.append(sess.run(slow)))
        thread.start()
        assert started.wait(60)
        for i in range(3 * most):
            sess.run(tf.constant(float(i)) + 1.0)
        gc.collect()
        go_on.set()
        thread.join()
    assert results == [2.0]


def test_a_callable_keeps_its_program_until_it_is_deleted(most, programs):
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as sess:
        double = sess.make_callable(x * 2.0, [x])
        (kept,) = programs
        kept = weakref.ref(kept)
        for i in range(3 * most):
            sess.run(x + float(i), {x: 1.0})
        assert _kept(programs) == most + 1 and double(4.0) == 8.0
        del double
        assert _kept(programs) == most and kept() is None


def test_feeds_of_several_tensors_count_as_plans(most):
    sparse = tf.sparse_placeholder(tf.float32)
    value = tf.SparseTensorValue([[0]], [1.0], [1])
    with tf.Session() as sess:
        for i in range(3 * most):
            assert sess.run(sparse.values + float(i), {sparse: value}) == [1.0 + i]
        assert len(sess._plans) == most


def test_unfinished_partial_runs_are_limited(monkeypatch):
    monkeypatch.setattr(partial_run, "MAX_PARTIAL_RUNS", 3)
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session() as sess:
        handles = [sess.partial_run_setup([y], [x]) for _ in range(3)]
        with pytest.raises(tf.errors.ResourceExhaustedError, match="3 partial runs"):
            sess.partial_run_setup([y], [x])
        assert sess.partial_run(handles[0], y, {x: 1.0}) == 2.0
        assert sess.partial_run(sess.partial_run_setup([y], [x]), y, {x: 2.0}) == 3.0


def test_finished_and_failed_partial_runs_are_freed(programs):
    x = tf.placeholder(tf.float32, [])
    y, z = x + 1.0, tf.check_numerics(x, "not a number")
    with tf.Session() as sess:
        handle = sess.partial_run_setup([y], [x])
        sess.partial_run(handle, y, {x: 1.0})
        failed = sess.partial_run_setup([y, z], [x])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
            sess.partial_run(failed, z, {x: np.nan})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup'"):
            sess.partial_run(failed, y)
        until(lambda: _kept(programs) == 0)
        sess.partial_run_setup([y], [x])
        assert len(sess._running) == 1
        until(lambda: all(step.waiting for step in sess._running))  # for its feed
    until(lambda: _kept(programs) == 0)
