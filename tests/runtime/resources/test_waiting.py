"""Wait queues by themselves: order, progress, cancellation, and the callbacks of attempts."""

from collections import deque

import pytest

from thalweg._src.base import errors
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import NO_PROGRESS, PROGRESS, Attempt, Resource, UnorderedWaitQueue


class Pile(Resource):
    """Units that attempts take, some at a time."""

    def __init__(self, queue):
        super().__init__("pile", queue)
        self.units = 0
        self.ends = []

    def take(self, name, count, step=None):
        step = step or Step()
        attempt = Take(self, count, step, lambda *r: self.ends.append(name), lambda s, e: self.ends.append((name, e)))
        self.attempt(self.wait_queues[0], attempt)
        return step

    def add(self, units):
        with self.lock:
            self.units += units
            ended = self.advance()
        for attempt, outcome in ended:
            attempt.end(outcome)


class Take(Attempt):
    def __init__(self, pile, count, step, finish, fail):
        super().__init__(step, finish, fail)
        self.pile, self.count, self.taken = pile, count, 0

    def advance(self):
        units = min(self.pile.units, self.count - self.taken)
        if not units:
            return NO_PROGRESS
        self.pile.units -= units
        self.taken += units
        return PROGRESS if self.taken < self.count else ()

    def undo(self):
        self.pile.units += self.taken


def test_the_first_takes_what_there_is_and_waits_for_the_rest():
    pile = Pile(deque())
    pile.take("a", 3)
    pile.take("b", 1)
    pile.add(2)
    assert pile.ends == [] and pile.units == 0
    pile.add(1)
    assert pile.ends == ["a"]
    pile.add(1)
    assert pile.ends == ["a", "b"]


def test_a_cancelled_attempt_returns_what_it_has_taken_to_the_next():
    pile = Pile(deque())
    step = pile.take("a", 3)
    pile.take("b", 2)
    pile.add(2)
    step.fail(errors.CancelledError(None, None, "no longer"))
    assert pile.ends == ["b"] and pile.units == 0


def test_an_attempt_of_a_step_that_has_ended_takes_nothing():
    pile = Pile(deque())
    step = Step()
    step.fail(errors.CancelledError(None, None, "before"))
    pile.add(2)
    pile.take("a", 1, step)
    assert pile.ends == [] and pile.units == 2 and not pile.wait_queues[0]


def test_in_an_unordered_queue_a_small_attempt_overtakes():
    pile = Pile(UnorderedWaitQueue())
    pile.take("a", 2)
    pile.take("b", 1)
    pile.add(1)
    assert pile.ends == []  # the first has taken it, and keeps it
    pile.add(2)
    assert pile.ends == ["a", "b"]


@pytest.mark.parametrize("queue", [deque, UnorderedWaitQueue])
def test_a_destroyed_resource_fails_what_waits(queue):
    pile = Pile(queue())
    for name in "ab":
        pile.take(name, 1)
    pile.destroy()
    assert [name for name, _ in pile.ends] == ["a", "b"]
    assert all(isinstance(error, errors.CancelledError) for _, error in pile.ends)
    pile.add(2)
    assert len(pile.ends) == 2 and pile.units == 2


def test_callbacks_may_use_the_resource_again():
    pile = Pile(deque())
    attempt = Take(pile, 1, Step(), lambda: pile.take("again", 1), lambda step, error: None)
    pile.attempt(pile.wait_queues[0], attempt)
    pile.add(2)
    assert pile.ends == ["again"]
