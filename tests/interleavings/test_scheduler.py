"""The scheduler finds planted faults, says the same of a seed each time, and repeats what it reports."""

import contextlib
import queue
import threading
import time
from concurrent import futures

import pytest

from tests.interleavings import scheduler
from tests.interleavings.explore import ScheduleFailed, Settings, explore, search
from tests.interleavings.strategies import decode, encode
from tests.interleavings.threads import run_all

# -- planted faults ---------------------------------------------------------------------------------------------------


def locks_in_two_orders():
    first, second = threading.Lock(), threading.Lock()

    def take(one, other):
        with one, other:
            pass

    run_all(lambda: take(first, second), lambda: take(second, first))


def a_wake_up_before_the_wait():
    """The waiter looks at the flag before it has the lock."""
    changed, is_set = threading.Condition(), []

    def wait():
        if not is_set:
            with changed:
                changed.wait()

    def wake():
        is_set.append(True)
        with changed:
            changed.notify()

    run_all(wait, wake)


def one_notification_for_two():
    """The one that is woken does not pass it on."""
    changed, items = threading.Condition(), []

    def take():
        with changed:
            while not items:
                changed.wait()
            items.pop()

    def put():
        with changed:
            items.extend([1, 2])
            changed.notify()

    run_all(take, take, put)


def check_then_act():
    """Two threads create what only one may."""
    lock, created = threading.Lock(), []

    def create():
        with lock:
            is_missing = not created
        if is_missing:
            with lock:
                created.append(1)

    run_all(create, create)
    assert len(created) == 1


def an_event_that_is_cleared_too_late():
    """The consumer clears what tells of an item that has come meanwhile."""
    come, items, taken = threading.Event(), [], []

    def consume():
        while len(taken) < 2:
            come.wait()
            taken.extend(items)
            items.clear()
            come.clear()

    def produce():
        for item in range(2):
            items.append(item)
            come.set()

    run_all(consume, produce)


class Counter:
    """A counter without a lock."""

    def __init__(self):
        self.value = 0

    def __repr__(self):
        return "Counter"

    def increment(self):
        value = self.value
        self.value = value + 1


def an_unsynchronized_counter():
    counter = Counter()
    run_all(counter.increment, counter.increment)
    assert counter.value == 2


def a_timeout_that_comes_while_its_event_does():
    """A thread that gives up a request does not look whether it was answered meanwhile."""
    answered, lock, results = threading.Event(), threading.Lock(), []

    def ask():
        if not answered.wait(1.0):
            with lock:
                results.append("given up")

    def answer():
        with lock:
            pass
        with lock:
            results.append("answered")
            answered.set()

    run_all(ask, answer)
    assert results == ["answered"]


FAULTS = [
    locks_in_two_orders,
    a_wake_up_before_the_wait,
    one_notification_for_two,
    check_then_act,
    an_event_that_is_cleared_too_late,
]
OTHERS = {an_unsynchronized_counter: {"lines": [__file__]}, a_timeout_that_comes_while_its_event_does: {"early": True}}


def failure(body, schedules=500, **options):
    with pytest.raises(ScheduleFailed) as caught:
        explore(body, schedules, **options)
    return caught.value


@pytest.mark.parametrize("body", [*FAULTS, *OTHERS], ids=lambda body: body.__name__)
def test_a_planted_fault_is_found_and_repeated(body, monkeypatch):
    first = failure(body, **OTHERS.get(body, {}))
    assert str(failure(body, **OTHERS.get(body, {}))) == str(first), "another run says the same"
    monkeypatch.setattr(Settings, "schedule", first.schedule)
    assert str(failure(body, **OTHERS.get(body, {}))) == str(first), "the schedule alone repeats it"
    assert "something else" not in str(first) and "not only the schedule" not in str(first)


@pytest.mark.parametrize("body", FAULTS, ids=lambda body: body.__name__)
def test_a_fault_is_repeated_by_the_choices_alone(body, monkeypatch):
    first = failure(body)
    (choices,) = [line.split()[-1] for line in str(first).splitlines() if "choices:" in line]
    monkeypatch.setattr(Settings, "schedule", choices)
    again = failure(body)
    assert type(again.error) is type(first.error) and points_of(again) == points_of(first)


def points_of(failed):
    return str(failed).partition("points (")[2].partition("events of")[0]


@pytest.mark.parametrize("body", FAULTS, ids=lambda body: body.__name__)
def test_a_search_finds_all_faults_with_two_preemptions(body):
    with pytest.raises(ScheduleFailed):
        search(body, preemptions=2)


def test_a_search_visits_each_schedule_once():
    seen = []

    def body():
        order, lock = [], threading.Lock()

        def enter(name):
            for _ in range(2):
                with lock:
                    order.append(name)

        run_all(lambda: enter("a"), lambda: enter("b"))
        seen.append("".join(order))

    assert search(body, preemptions=0) == 3
    counts = [search(body, preemptions=n) for n in (1, 2, 8)]
    assert counts == sorted(counts) and set(seen) == {"aabb", "abab", "abba", "baab", "baba", "bbaa"}


def test_a_fault_of_one_preemption_is_not_found_without_any():
    assert search(check_then_act, preemptions=0) > 1
    with pytest.raises(ScheduleFailed):
        search(check_then_act, preemptions=1)


def test_a_counter_is_correct_between_points():
    """Without points between lines, what no lock protects is not interrupted."""
    assert explore(an_unsynchronized_counter, 50) == 50


# -- what a report says -----------------------------------------------------------------------------------------------


def test_a_deadlock_names_threads_locks_and_lines():
    text = str(failure(locks_in_two_orders))
    assert "deadlock: every thread waits" in text
    assert "'Thread-1 (<lambda>)' waits to acquire Lock of test_scheduler.py" in text and "held by 2" in text
    assert "with one, other" in text and "repeat with: --schedule " in text


def test_an_error_in_a_thread_fails_the_schedule():
    text = str(failure(lambda: run_all(lambda: 1 // 0)))
    assert "ZeroDivisionError" in text and "run_all" not in text.partition("Traceback")[0]


def test_threads_that_run_forever_are_reported():
    def spin():
        event = threading.Event()
        while not event.is_set():
            pass

    assert "the threads still run after 100 points" in str(failure(spin, max_points=100))


def test_a_thread_that_never_ends_is_reported():
    def leave():
        threading.Thread(target=threading.Event().wait).start()

    assert "ends after Thread-1" in str(failure(leave))


def test_a_daemon_may_be_left():
    assert explore(lambda: threading.Thread(target=threading.Event().wait, daemon=True).start(), 10) == 10


def test_a_thread_that_waits_for_something_else_is_reported(monkeypatch):
    monkeypatch.setattr(scheduler, "_STUCK_SECONDS", 0.1)
    real = threading.Lock()  # not of the scheduler
    real.acquire()

    def body():
        thread = threading.Thread(target=lambda: (real.acquire(), real.release()), daemon=True)
        thread.start()
        thread.join()

    try:
        assert "waits for something outside of the scheduler" in str(failure(body, 1))
    finally:
        real.release()


def test_allowed_errors_are_no_failures():
    def body():
        raise KeyError("x")

    assert explore(body, 3, allowed=(KeyError,)) == 3
    assert "KeyError" in str(failure(body))


# -- threads, time and queues -----------------------------------------------------------------------------------------


def test_time_passes_when_nothing_else_can_happen():
    def body():
        began, order = scheduler.active.now, []

        def late():
            time.sleep(3600)
            order.append("late")

        def early():
            assert not threading.Event().wait(60)
            order.append("early")

        run_all(late, early)
        assert order == ["early", "late"] and scheduler.active.now == began + 3600
        with pytest.raises(queue.Empty):
            queue.Queue().get(timeout=5)
        with pytest.raises(queue.Empty):
            queue.SimpleQueue().get(timeout=5)
        assert scheduler.active.now == began + 3610
        assert time.monotonic() == time.perf_counter() == scheduler.active.now

    explore(body, 30)


def test_a_condition_that_times_out_has_its_lock_again():
    def body():
        changed = threading.Condition()
        with changed:
            assert not changed.wait(1.0)
            assert changed._is_held() and not changed.wait_for(lambda: False, 2.0)
            with changed:
                assert not changed.wait(1.0)
            assert changed._is_held()
        assert not changed._is_held()

    explore(body, 10)


def test_threads_are_real():
    local = threading.local()

    def body():
        names = []

        def note():
            assert not hasattr(local, "name")
            local.name = threading.current_thread().name
            names.append((local.name, threading.get_ident() == threading.current_thread().ident))

        run_all(note, note)
        assert sorted(names) == [("Thread-1 (note)", True), ("Thread-2 (note)", True)]

    explore(body, 20, fresh_threads=True)


@pytest.mark.parametrize("kind", [queue.Queue, lambda size: queue.SimpleQueue(), queue.LifoQueue])
def test_queues_pass_each_item_once(kind):
    def body():
        items, taken = kind(2), []
        run_all(
            lambda: [items.put(i) for i in range(3)],
            lambda: [taken.append(items.get()) for _ in range(2)],
            lambda: taken.append(items.get()),
        )
        assert sorted(taken) == [0, 1, 2]

    explore(body, 100)


def test_the_rest_of_threading_works():
    def body():
        inside, most, lock = [], [], threading.RLock()
        places, barrier = threading.BoundedSemaphore(2), threading.Barrier(3)

        def work():
            barrier.wait()
            with places, lock:
                inside.append(1)
                with lock:
                    most.append(len(inside))
            with places:
                inside.pop()

        run_all(work, work, work)
        assert max(most) <= 3 and not inside
        fired = []
        timer = threading.Timer(10, fired.append, [1])
        timer.start()
        timer.join()
        assert fired == [1]
        cancelled = threading.Timer(10, fired.append, [2])
        cancelled.start()
        cancelled.cancel()
        cancelled.join()
        assert fired == [1]

    explore(body, 50)


def test_executors_work():
    def body():
        with futures.ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(lambda x: x * x, range(4))) == [0, 1, 4, 9]
            done, _ = futures.wait([pool.submit(time.sleep, n) for n in (1, 2)], timeout=1.5)
            assert len(done) == 1

    explore(body, 50)


def test_a_subclass_of_thread_is_managed():
    class Worker(threading.Thread):
        def run(self):
            time.sleep(1)
            self.result = threading.current_thread() is self

    def body():
        worker = Worker()
        worker.start()
        assert worker.is_alive()
        worker.join(0.5)
        assert worker.is_alive()
        worker.join()
        assert worker.result and not worker.is_alive()
        with pytest.raises(RuntimeError, match="once"):
            worker.start()

    explore(body, 20)


def test_nothing_is_replaced_afterwards():
    before = threading.Lock, threading.Event, threading.Thread.start, time.sleep, time.monotonic, queue.SimpleQueue
    with contextlib.suppress(ScheduleFailed):
        explore(locks_in_two_orders, 100)
    after = threading.Lock, threading.Event, threading.Thread.start, time.sleep, time.monotonic, queue.SimpleQueue
    assert before == after and scheduler.active is None


def test_random_priorities_meet_a_fault_as_often_as_promised():
    """Two threads, two changes of priority at most: a fault of depth 2 in 1 of n * k schedules at least."""
    points = []
    missed = 0
    for seed in range(0, 400, 2):
        try:
            explore_one(f"priorities:{seed}:2:14", points)
        except ScheduleFailed:
            continue
        missed += 1
    assert 200 - missed >= 200 / (3 * 14)


def explore_one(schedule, points):
    Settings.schedule = schedule
    try:
        explore(check_then_act, 1)
    finally:
        Settings.schedule = None


def test_choices_are_written_in_short():
    choices = [0, 0, 0, 1, 10, 10, 2]
    assert encode(choices) == "0x3.1.10x2.2" and decode(encode(choices)) == choices and decode("") == []
