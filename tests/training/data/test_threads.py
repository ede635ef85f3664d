"""Threads of pipelines: they end with iterators, sessions and programs; waiting steps can be cancelled."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.training.data.running import take
from thalweg._src.runtime.resources import workers as workers_module
from thalweg._src.runtime.resources.workers import Workers, workers
from thalweg._src.training.data.iteration import BoundDataset

Dataset = tf.data.Dataset
ignore_errors = tf.data.experimental.ignore_errors


def eventually(condition):
    """Waits for something that must come true before the test's time is over."""
    while not condition():
        time.sleep(0.01)


def idle():
    return workers._busy == 0


@pytest.fixture(autouse=True)
def nobody_is_left_at_work():
    yield
    gc.collect()
    eventually(idle)


@pytest.fixture
def gate():
    """An event that blocked pipelines wait for; it is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def blocked(gate, count=5):
    """Returns a dataset whose elements come when the gate is open."""

    def generate():
        for i in range(count):
            gate.wait()
            yield i

    return Dataset.from_generator(generate, tf.int64, [])


def test_workers_are_created_reused_and_ended(monkeypatch):
    monkeypatch.setattr(workers_module, "_IDLE_TIMEOUT", 0.1)
    pool = Workers("test workers")
    seen = []

    def count():
        return sum(thread.name == "test workers" for thread in threading.enumerate())

    for i in range(5):
        pool.start(lambda i=i: seen.append(i))
        eventually(lambda: pool._busy == 0)
    assert seen == [0, 1, 2, 3, 4] and count() == 1
    gate = threading.Event()
    for _ in range(4):
        pool.start(gate.wait)
    assert count() == 4
    gate.set()
    eventually(lambda: count() == 0)


_FORKING = """
import math, os, threading
from thalweg._src.runtime.resources.workers import Workers

pool, gate, idle = Workers("test workers", exit_timeout=math.inf), threading.Event(), threading.Event()
pool.start(gate.wait)
pool.start(idle.set)
idle.wait()
child = os.fork()
done = threading.Event()
pool.start(done.set)
done.wait()
if child:
    gate.set()
    assert os.waitpid(child, 0)[1] == 0
"""


def test_workers_of_a_forked_process_are_its_own():
    children.run([sys.executable, "-c", _FORKING], env=children.environment(), forked=True)


def test_a_failed_function_ends_its_thread_only(monkeypatch):
    failed = []
    monkeypatch.setattr(threading, "excepthook", lambda args: failed.append(args.exc_type))
    pool, done = Workers("test workers"), threading.Event()
    pool.start(int, "x")
    eventually(lambda: failed)
    pool.start(done.set)
    assert done.wait(60) and failed == [ValueError]


def test_timeout_ends_a_waiting_step_and_keeps_the_element(gate):
    with tf.Graph().as_default(), tf.Session() as session:
        element = blocked(gate).make_one_shot_iterator().get_next()
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError, match="IteratorGetNext"):
                session.run(element, options=tf.RunOptions(timeout_in_ms=100))
        gate.set()
        assert take(session, element) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda d: d,
        lambda d: d.prefetch(2),
        lambda d: d.map(lambda x: x + 1, num_parallel_calls=2),
        lambda d: d.shuffle(3).batch(2),
        lambda d: Dataset.range(2).interleave(lambda _: d, 2, num_parallel_calls=2),
    ],
)
def test_close_ends_a_waiting_step(gate, wrap):
    with tf.Graph().as_default():
        session = tf.Session()
        iterator = wrap(blocked(gate)).make_initializable_iterator()
        element = iterator.get_next()
        session.run(iterator.initializer)
        failed = []

        def run():
            try:
                session.run(element)
            except tf.errors.CancelledError as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        eventually(lambda: session._running)
        session.close()
        thread.join(60)
        assert failed and not thread.is_alive()


@pytest.mark.parametrize(
    "endless",
    [
        lambda: Dataset.range(5).repeat().filter(lambda x: x < 0),
        lambda: Dataset.range(5).repeat().skip(1 << 60),
        lambda: Dataset.range(1).repeat().flat_map(lambda x: Dataset.range(0)),
        lambda: Dataset.range(1 << 60).reduce_to_one(),
        lambda: Dataset.range(5).repeat().apply(tf.data.experimental.unique()).skip(5),
        lambda: tf.data.experimental.RandomDataset().filter(lambda x: x < 0),
        lambda: Dataset.range(3).map(lambda x: tf.reshape(x, [x + 7])).repeat().apply(ignore_errors()),
        lambda: Dataset.from_generator(lambda: iter(int, 1), tf.int64, []).filter(lambda x: x < 0).prefetch(1),
    ],
)
def test_close_ends_a_dataset_that_never_yields(endless, monkeypatch):
    monkeypatch.setattr(
        Dataset,
        "reduce_to_one",
        lambda self: Dataset.range(2).map(lambda x: self.reduce(np.int64(0), lambda s, y: s + y)),
        raising=False,
    )
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = endless().make_initializable_iterator()
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(iterator.get_next(), options=tf.RunOptions(timeout_in_ms=100))
        assert not idle()
    eventually(idle)


def test_reinitialization_stops_work_on_the_old_dataset(gate):
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.Iterator.from_structure(tf.int64, [])
        element = iterator.get_next()
        endless = iterator.make_initializer(Dataset.range(5).repeat().filter(lambda x: x < 0).prefetch(2))
        finite = iterator.make_initializer(Dataset.range(3))
        session.run(endless)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=tf.RunOptions(timeout_in_ms=100))
        session.run(finite)
        assert take(session, element) == [0, 1, 2]
        eventually(idle)


def test_prefetching_stops_when_the_buffer_is_full():
    made = []

    def make(x):
        made.append(int(x))
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(100).map(lambda x: tf.py_func(make, [x], tf.int64)).prefetch(3)
        element = dataset.make_one_shot_iterator().get_next()
        session.run(element)
        eventually(lambda: len(made) == 4)
        eventually(idle)
        assert made == [0, 1, 2, 3]


def test_parallel_calls_are_concurrent_and_bounded():
    at_once, most, lock = [0], [0], threading.Lock()

    def slow(x):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.02)
        with lock:
            at_once[0] -= 1
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(24).map(lambda x: tf.py_func(slow, [x], tf.int64), num_parallel_calls=4)
        assert take(session, dataset.make_initializable_iterator_run(session)) == list(range(24))
    assert 2 <= most[0] <= 4


@pytest.fixture(autouse=True)
def initialized(monkeypatch):
    def run(self, session):
        iterator = self.make_initializable_iterator()
        session.run(iterator.initializer)
        return iterator.get_next()

    monkeypatch.setattr(Dataset, "make_initializable_iterator_run", run, raising=False)


def test_quick_calls_need_no_threads():
    with tf.Graph().as_default(), tf.Session() as session:
        element = Dataset.range(3000).map(lambda x: x + 1, num_parallel_calls=4).make_one_shot_iterator().get_next()
        assert take(session, element, 3000) == list(range(1, 3001))


def test_blocking_functions_are_cancelled():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, tf.int64, shapes=[[]])
        element = Dataset.range(3).map(lambda x: queue.dequeue()).make_initializable_iterator_run(session)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=tf.RunOptions(timeout_in_ms=100))
    eventually(idle)


def test_deleted_session_leaves_no_threads():
    with tf.Graph().as_default():
        session = tf.Session()
        element = Dataset.range(100).repeat().prefetch(5).make_one_shot_iterator().get_next()
        session.run(element)
        del session
    gc.collect()
    eventually(idle)


def test_files_are_closed(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("line\n" * 500_000)

    def is_open():
        return any(
            os.path.realpath(f"/proc/self/fd/{fd}") == str(path)
            for fd in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{fd}")
        )

    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.TextLineDataset(str(path)).prefetch(2).make_one_shot_iterator().get_next()
        session.run(element)
        assert is_open()
    gc.collect()
    eventually(lambda: not is_open())


_BLOCKED = """
import threading, time
import thalweg as tf

def generate():
    while True:
        time.sleep(1000)
        yield 1

dataset = tf.data.Dataset.from_generator(generate, tf.int32, [])
element = dataset.prefetch(2).make_one_shot_iterator().get_next()
session = tf.Session()
try:
    session.run(element, options=tf.RunOptions(timeout_in_ms=200))
except tf.errors.DeadlineExceededError:
    print("over", flush=True)
"""


def test_interpreter_exits_while_a_generator_blocks():
    assert children.run([sys.executable, "-c", _BLOCKED], forked=True).stdout == "over\n"


_INTERRUPTED = (
    _BLOCKED.replace(", options=tf.RunOptions(timeout_in_ms=200)", "")
    .replace("    while True:\n", '    print("waiting", flush=True)\n    while True:\n')
    .replace("tf.errors.DeadlineExceededError", "KeyboardInterrupt")
)


def test_interrupt_ends_a_waiting_step(start_child):
    command = [sys.executable, "-c", _INTERRUPTED]
    process = start_child(command, forked=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    children.interrupt(process)
    assert process.stdout.read() == "over\n" and process.returncode == 0


def test_a_restored_position_shares_no_seeds_with_the_pass_before_it(gate):
    passes = []

    def generate():
        number = len(passes)
        passes.append(number)
        yield from range(5)
        if number == 2:
            gate.wait()

    with tf.Graph().as_default():
        dataset = Dataset.from_generator(generate, tf.int64, []).shuffle(9, seed=1).repeat().batch(10).prefetch(1)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        saved = tf.placeholder(tf.string, [])
        restore = saveable.restore([saved], None)
        with tf.Session() as session:
            session.run(iterator.initializer)
            position = session.run(saveable.specs[0].tensor)
            first = take(session, element, 1)
            eventually(lambda: len(passes) == 3)  # a worker is at the next batch, and stops within it
            session.run(restore, {saved: position})
            gate.set()
            eventually(idle)  # it continued with the next pass, and drew its seeds
            again = take(session, element, 3)
        with tf.Session() as session:
            session.run(iterator.initializer)
            expected = take(session, element, 3)
    assert expected[:1] == first and again == expected


def test_bound_datasets_are_freed_without_garbage_collection():
    alive = weakref.WeakSet()
    make = BoundDataset.__init__

    def noted(self, *args):
        make(self, *args)
        alive.add(self)

    gc.collect()
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch, tf.Graph().as_default(), tf.Session() as session:
            patch.setattr(BoundDataset, "__init__", noted)
            dataset = Dataset.range(50).flat_map(lambda x: Dataset.range(2).shuffle(2, reshuffle_each_iteration=False))
            iterator = dataset.make_initializable_iterator()
            session.run(iterator.initializer)
            assert len(take(session, iterator.get_next())) == 100
            assert len(alive) < 10
    finally:
        gc.enable()


@pytest.mark.parametrize("batched", [False, True])
def test_a_repeated_dataset_that_fails_is_repeated(batched):
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(2).map(lambda x: tf.reshape(x, [1 + 6 * x])).repeat()
        element = (dataset.batch(3) if batched else dataset.skip(1)).make_one_shot_iterator().get_next()
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(element)
            if not batched:
                session.run(element)
