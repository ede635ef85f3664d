"""Random sequences of operations on each type of queue, compared with a model."""

import pytest
from hypothesis import given, settings, strategies as st

from tests.runtime.resources.queue_model import Model, Request
from thalweg._src.base import errors
from thalweg._src.runtime.resources.cancellation import Cancellation
from thalweg._src.runtime.resources.queues import ByPriority, InOrder, Queue, Shuffled

STORES = {
    "fifo": lambda stay: InOrder(),
    "shuffle": lambda stay: Shuffled(stay, (3, 5)),
    "priority": lambda stay: ByPriority(),
}
SEED = 3 << 64 | 5

OPERATIONS = st.one_of(
    st.tuples(st.just("put"), st.integers(1, 1), st.integers(0, 3)),
    st.tuples(st.just("put_many"), st.integers(1, 6), st.integers(0, 3)),
    st.tuples(st.just("take"), st.just(1), st.just(0)),
    st.tuples(st.just("take_many"), st.integers(1, 6), st.just(0)),
    st.tuples(st.just("take_up_to"), st.integers(1, 6), st.just(0)),
    st.tuples(st.just("close"), st.just(0), st.just(0)),
    st.tuples(st.just("close_and_cancel"), st.just(0), st.just(0)),
    st.tuples(st.just("cancel"), st.integers(0, 100), st.just(0)),
)
# A queue that is closed early shows little: most sequences close it late or never.
SEQUENCES = st.tuples(
    st.lists(OPERATIONS.filter(lambda o: not o[0].startswith("close")), max_size=25), st.lists(OPERATIONS, max_size=12)
).map(lambda parts: parts[0] + parts[1])


class Step:
    """Is what a queue sees of a step, and keeps what it is told."""

    def __init__(self):
        self.cancellation = Cancellation()
        self.result = None

    @property
    def cancelled(self):
        return self.cancellation.error is not None

    def finish(self, *results):
        assert self.result is None
        self.result = results

    @staticmethod
    def fail(step, error):
        assert step.result is None
        step.result = "out of range" if isinstance(error, errors.OutOfRangeError) else "cancelled"
        assert "'q'" in str(error)


class Pair:
    """The queue and its model, to which the same is done."""

    def __init__(self, kind, capacity, stay):
        self.queue = Queue("q", kind, STORES[kind](stay), capacity=capacity)
        self.model = Model(kind, capacity, stay, SEED)
        self.requests = []
        self.count = 0

    def elements(self, count, priority):
        self.count += count
        return [((priority + i) % 3, self.count - i) for i in range(count)]

    def do(self, operation, number, priority):
        step = Step()
        args = (step, step.finish, step.fail)
        if operation == "cancel":
            waiting = [pair for pair in self.requests if pair[0].result is None]
            if waiting:
                request, step = waiting[number % len(waiting)]
                self.model.cancel(request)
                step.cancellation.cancel(ValueError())
            return
        if operation == "close_and_cancel":
            self.model.close_and_cancel()
            self.queue.close(True, *args)
            assert step.result == ()
            return
        if operation.startswith("put"):
            elements = self.elements(number, priority)
            request = Request("put", elements=elements)
            self.queue.enqueue(elements[0], *args) if operation == "put" else self.queue.enqueue_many(elements, *args)
        elif operation == "take":
            request = Request("take", wanted=1)
            self.queue.dequeue(*args)
        elif operation == "close":
            request = Request("close")
            self.queue.close(False, *args)
        else:
            request = Request("take", wanted=number, small=operation == "take_up_to")
            self.queue.dequeue_many(number, request.small, *args)
        self.model.request(request)
        self.requests.append((request, step))

    def check(self):
        assert self.queue.size() == len(self.model.items)
        assert self.queue.is_closed == self.model.closed
        for request, step in self.requests:
            if isinstance(request.result, list):
                taken = step.result[0] if isinstance(step.result[0], list) else [step.result]
                assert taken == request.result
            else:
                assert step.result == {"done": (), "withdrawn": None}.get(request.result, request.result)


@pytest.mark.parametrize("kind", STORES)
@settings(max_examples=300, deadline=None)
@given(sequence=SEQUENCES, capacity=st.integers(3, 7) | st.just(-1), stay=st.integers(0, 2))
def test_queue_matches_its_model(kind, sequence, capacity, stay):
    pair = Pair(kind, capacity, stay)
    for operation in sequence:
        pair.do(*operation)
        pair.check()
    pair.queue.destroy()
    assert all(step.result is not None for request, step in pair.requests if request.result != "withdrawn")


@settings(max_examples=100, deadline=None)
@given(sequence=SEQUENCES)
def test_no_runnable_attempt_waits_and_no_element_is_lost(sequence):
    """What was put in is taken out, still there, or was never let in."""
    pair = Pair("shuffle", 5, 2)
    for operation in sequence:
        pair.do(*operation)
    taken = [element for r, _ in pair.requests if isinstance(r.result, list) for element in r.result]
    held = [element for r, _ in pair.requests for element in r.taken if not isinstance(r.result, list)]
    inside = [pair.queue._store.take() for _ in range(len(pair.queue._store))]
    outside = [element for r, _ in pair.requests for element in r.elements]
    names = sorted(name for _, name in taken + held + inside + outside)
    assert names == list(range(1, pair.count + 1))


def test_steps_are_served_in_order_of_arrival():
    pair = Pair("fifo", 2, 0)
    for _ in range(20):
        pair.do("take", 1, 0)
    for _ in range(30):
        pair.do("put", 1, 0)
    results = [step.result[0] if step.result else None for request, step in pair.requests[:20]]
    assert [step.result[1] for _, step in pair.requests[:20]] == list(range(1, 21)), results
    assert [step.result for _, step in pair.requests[20:]] == [()] * 22 + [None] * 8


def test_callbacks_run_after_the_lock_is_released():
    """A callback may use the queue immediately."""
    queue = Queue("q", "fifo", InOrder(), capacity=1)
    seen = []
    step = Step()
    queue.dequeue(
        step, lambda value: (seen.append(value), queue.enqueue((value + 1,), step, step.finish, step.fail)), step.fail
    )
    queue.enqueue((1,), Step(), lambda: seen.append("in"), Step.fail)
    assert seen == [1, "in"] and queue.size() == 1


def test_a_cancelled_step_returns_its_elements_in_order():
    queue, waiting = Queue("q", "fifo", InOrder(), capacity=3), Step()
    queue.dequeue_many(3, False, waiting, waiting.finish, waiting.fail)
    for i in range(2):
        queue.enqueue((i,), Step(), lambda: None, Step.fail)
    assert queue.size() == 0
    waiting.cancellation.cancel(ValueError())
    assert queue.size() == 2 and waiting.result is None
    step = Step()
    queue.dequeue_many(2, False, step, step.finish, step.fail)
    assert step.result == ([(0,), (1,)],)


def test_an_already_cancelled_step_does_not_wait():
    queue, step = Queue("q", "fifo", InOrder()), Step()
    step.cancellation.cancel(ValueError())
    queue.dequeue(step, step.finish, step.fail)
    queue.enqueue((1,), Step(), lambda: None, Step.fail)
    assert queue.size() == 1


def test_a_long_step_leaves_no_callbacks_behind():
    queue, step = Queue("q", "fifo", InOrder(), capacity=1), Step()
    for i in range(50):
        queue.dequeue(step, lambda *values: None, step.fail)
        queue.enqueue((i,), step, lambda: None, step.fail)
    assert not step.cancellation._callbacks


def test_shuffled_elements_leave_in_any_order():
    queue = Queue("q", "shuffle", Shuffled(0, (0, 0)))
    queue.enqueue_many([(i,) for i in range(100)], Step(), lambda: None, Step.fail)
    step = Step()
    queue.dequeue_many(100, False, step, step.finish, step.fail)
    (taken,) = step.result
    assert taken != [(i,) for i in range(100)] and sorted(taken) == [(i,) for i in range(100)]


def test_a_cancelled_step_takes_and_adds_nothing():
    queue, cancelled, other = Queue("q", "fifo", InOrder(), capacity=2), Step(), Step()
    queue.enqueue((1,), other, lambda: None, None)
    cancelled.cancellation.cancel(errors.CancelledError(None, None, "closed"))
    ended = []
    queue.dequeue(cancelled, ended.append, None)
    queue.dequeue_many(1, False, cancelled, ended.append, None)
    queue.enqueue((2,), cancelled, lambda: ended.append("enqueued"), None)
    assert not ended
    queue.dequeue(other, ended.append, None)
    queue.enqueue((3,), other, lambda: ended.append("enqueued"), None)
    assert ended == [1, "enqueued"]
