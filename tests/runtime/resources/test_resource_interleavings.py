"""Barriers, staging areas, accumulators, mutexes, thread pools and writers of checkpoints, used by several threads."""

import contextlib
import threading
import time

import pytest
import torch

from tests.interleavings.explore import explore
from tests.interleavings.threads import nothing_is_left, run_all
from thalweg._src.base import dtypes, errors
from thalweg._src.runtime.resources.accumulators import Accumulator
from thalweg._src.runtime.resources.barrier import Barrier
from thalweg._src.runtime.resources.checkpoint_writers import BackgroundWriter
from thalweg._src.runtime.resources.mutex import Mutex
from thalweg._src.runtime.resources.staging import MapStagingArea, StagingArea
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.workers import Workers


class Call(Step):
    """A step of a call that may wait, and what it was told: a tuple of results or an error."""

    def __init__(self, call, *args):
        super().__init__()
        self.result = None
        call(*args, self, self.finish, self.note)

    def finish(self, *results):
        assert self.result is None
        self.result = results

    def note(self, step, error):
        assert self.result is None
        self.result = error


def test_elements_of_a_barrier_that_is_closed_meanwhile_are_complete_or_refused():
    def body():
        barrier = Barrier("b", (dtypes.int32, dtypes.int32), ((), ()), -1)
        taken, refused = [], []

        def insert(component):
            for key in (b"x", b"y"):
                try:
                    barrier.insert(component, [key], [(component, key)])
                except errors.CancelledError:
                    refused.append((component, key))

        def take():
            with contextlib.suppress(errors.OutOfRangeError):
                taken.append(Call(barrier.take, 1, False))

        run_all(
            lambda: insert(0),
            lambda: insert(1),
            lambda: barrier.close(False),
            take,
        )
        complete = barrier.ready_size() + sum(isinstance(call.result, tuple) for call in taken)
        assert barrier.incomplete_size() == 0 and complete == 2 - len(refused) / 2
        assert {key for component, key in refused if component} == {key for component, key in refused if not component}

    explore(body, 600)


def test_values_leave_a_staging_area_once_and_in_order():
    def body(draw):
        area, taken = StagingArea("s", draw.choice([0, 1, 2]), 0), []
        values = [(torch.tensor(number),) for number in range(4)]
        puts, takes = [], []

        def take():
            takes.extend(Call(area.take) for _ in range(2))

        def withdraw():
            takes.append(call := Call(area.take))
            call.fail(errors.CancelledError(None, None, ""))

        run_all(lambda: [puts.append(Call(area.put, value)) for value in values], take, withdraw)
        taken = [call.result for call in takes if isinstance(call.result, tuple)]
        while len(taken) < 4:
            taken.append(Call(area.take).result)
        numbers = [int(number) for (number,) in taken]
        assert sorted(numbers) == [0, 1, 2, 3] and numbers[3:] == [max(numbers[3:])]
        assert all(call.result == () for call in puts)

    explore(body, 400)


def test_parts_of_a_key_are_taken_once_all_are_there():
    def body():
        area = MapStagingArea("m", 2, True, 1, 0)
        results = []
        run_all(
            lambda: [results.append(Call(area.put, key, [0], (torch.tensor(key),))) for key in (1, 2)],
            lambda: [results.append(Call(area.put, key, [1], (torch.tensor(-key),))) for key in (1, 2)],
            lambda: [results.append(Call(area.take, key, [0, 1], False)) for key in (1, 2)],
        )
        assert all(call.result is not None for call in results)
        taken = [call.result for call in results if call.result != ()]
        assert [tuple(map(int, values)) for values in taken] == [(1, 1, -1), (2, 2, -2)]
        assert area.size() == area.incomplete_size() == 0

    explore(body, 400)


def test_each_gradient_is_taken_once():
    def body():
        accumulator, takes = Accumulator("a", dtypes.float32, (), "SUM"), []
        run_all(
            lambda: [accumulator.apply(9, torch.tensor(1.0)) for _ in range(2)],
            lambda: [accumulator.apply(9, torch.tensor(10.0)) for _ in range(2)],
            lambda: takes.extend(Call(accumulator.take, count) for count in (2, 1)),
        )
        takes.append(Call(accumulator.take, 1))
        sums = [call.result for call in takes if call.result is not None]
        assert sum(float(total) for total, _ in sums) == 22 and sum(count for _, count in sums) == 4

    explore(body, 400)


def test_a_mutex_admits_one_or_several_that_share_it():
    def body(draw):
        mutex, inside = Mutex("m"), []

        class Entry(Step):
            def __init__(self, is_shared):
                super().__init__()
                self.is_shared, self.is_over = is_shared, threading.Event()

            def enter(self, lock):
                inside.append(self)
                assert len(inside) == 1 or all(entry.is_shared for entry in inside)
                time.sleep(0)
                inside.remove(self)
                lock.release()
                self.is_over.set()

            def leave(self, step, error):
                self.is_over.set()

            def run(self):
                mutex.acquire(self, self.enter, self.leave, self.is_shared)

        entries = [Entry(draw.random() < 0.5) for _ in range(5)]
        cancelled = Step()
        run_all(
            *[lambda entry=entry: (entry.run(), entry.is_over.wait()) for entry in entries],
            lambda: mutex.acquire(cancelled, lambda lock: None, lambda step, error: None),
            lambda: cancelled.fail(errors.CancelledError(None, None, "")),
        )
        assert mutex.holders == 0 and not inside

    explore(body, 300)


def test_a_thread_pool_does_all_work_and_ends_its_threads(monkeypatch):
    def body():
        pool, done = Workers("pool"), []

        def begin(first):
            for number in range(first, first + 3):
                pool.start(lambda number=number: done.append(number))
                time.sleep(number)

        run_all(lambda: begin(0), lambda: begin(2))
        nothing_is_left()
        assert sorted(done) == [0, 1, 2, 2, 3, 4] and pool._busy == 0 and not pool._idle

    monkeypatch.setattr("atexit.register", lambda function: None)
    monkeypatch.setattr("os.register_at_fork", lambda **functions: None)
    explore(body, 300, early=True)


@pytest.mark.parametrize("fails", [False, True])
def test_checkpoints_are_written_in_order_and_waited_for(fails):
    def body():
        writer, written = BackgroundWriter(), []

        def write(number):
            if fails and number == 1:
                raise OSError("the disk is full")
            written.append(number)

        def save():
            for number in range(4):
                writer.put(lambda number=number: write(number), ends=number % 2 == 1)
            try:
                writer.wait()
            except OSError:
                written.append("failed")

        def wait():
            try:
                writer.wait()
            except OSError:
                written.append("failed")

        run_all(save, wait)
        assert not writer.is_busy
        assert [number for number in written if number != "failed"] == [
            number for number in range(4) if not (fails and number == 1)
        ]
        assert written.count("failed") == fails
        nothing_is_left()

    explore(body, 300)
