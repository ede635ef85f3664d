"""Queues used by several threads: what they see is what the model of queue_model.py explains."""

import threading

import pytest

from tests.interleavings.explore import explore
from tests.interleavings.histories import History
from tests.runtime.resources.queue_model import Model, Request
from tests.runtime.resources.test_queues import SEED, STORES, Step
from thalweg._src.runtime.resources.queues import Queue

KINDS = ("put", "put", "put_many", "take", "take", "take_many", "take_up_to", "cancel", "close", "close_and_cancel")
ELEMENTS = {"put": 1, "put_many": 3}


class Operation:
    """A call to make, with the step that makes it.

    A cancellation takes effect at two moments: the request makes no more progress, and it is withdrawn, with what it
    has taken. So does a request that may be cancelled: it waits, and if it is cancelled by then, it withdraws itself.
    """

    def __init__(self, kind, number, elements, target):
        self.kind = kind
        self.number = number
        self.elements = elements
        self.target = target  # what it cancels
        self.step = Step()
        self.is_told = kind not in ("cancel", "close_and_cancel")
        self.moments = 1
        if target is not None:
            self.moments = target.moments = 2

    def call(self, queue):
        args = (self.step, self.step.finish, self.step.fail)
        if self.kind == "put":
            queue.enqueue(self.elements[0], *args)
        elif self.kind == "put_many":
            queue.enqueue_many(self.elements, *args)
        elif self.kind == "take":
            queue.dequeue(*args)
        elif self.kind.startswith("take"):
            queue.dequeue_many(self.number, self.kind == "take_up_to", *args)
        elif self.kind == "cancel":
            self.target.step.cancellation.cancel(ValueError())
        else:
            queue.close(self.kind == "close_and_cancel", *args)

    def request(self):
        if self.kind.startswith("put"):
            return Request("put", elements=self.elements)
        if self.kind.startswith("take"):
            wanted = 1 if self.kind == "take" else self.number
            return Request("take", wanted=wanted, small=self.kind == "take_up_to")
        return Request(self.kind)

    def seen(self):
        """Returns what the step was told, as a model says it."""
        result = self.step.result
        if self.kind.startswith("take") and isinstance(result, tuple):
            return result[0] if isinstance(result[0], list) else [result]
        return "done" if result == () else result

    def __repr__(self):
        what = self.target if self.target is not None else self.elements or self.number
        return f"{self.kind} {what}: {self.seen()}"


def program(draw):
    """Returns the operations of three threads."""
    operations, count = [], 0
    for _ in range(7):
        kind = draw.choice(KINDS)
        if kind == "cancel" and not operations:
            kind = "put"
        elements = [(draw.randrange(3), count + i) for i in range(ELEMENTS.get(kind, 0))]
        count += len(elements)
        target = draw.choice(operations) if kind == "cancel" else None
        operations.append(Operation(kind, draw.randint(1, 4), elements, target))
    return operations


def explains(operations, is_all, model):
    """Returns whether a model gives what the operations saw, if it gets them in this order."""
    targets = [operation.target for operation in operations if operation.target is not None]
    requests = {operation: operation.request() for operation in [*operations, *targets]}
    begun, over = set(), set()
    for operation in operations:
        is_second, request = operation in begun, requests[operation]
        (over if is_second else begun).add(operation)
        if operation.kind == "cancel":
            target = requests[operation.target]
            target.is_stopped = True
            if is_second and operation.target in over:
                withdraw(target, model)
        elif operation.kind == "close_and_cancel":
            model.close_and_cancel()
        elif not is_second:
            model.request(request)
        elif request.is_stopped:
            withdraw(request, model)
    results = {operation: requests[operation].result for operation in begun if operation.is_told}
    return all(agree(operation.seen(), result) for operation, result in results.items() if is_all or result is not None)


def withdraw(request, model):
    if request.result is None:
        model.cancel(request)


def agree(seen, result):
    """Returns whether a step may see a result: one that was cancelled may yet hear that the queue closes."""
    return seen in (None, "cancelled") if result == "withdrawn" else seen == result


def run(queue, operations, history):
    """Makes the calls on three threads."""

    def work(first):
        for operation in operations[first::3]:
            with history.calling(operation, moments=operation.moments):
                operation.call(queue)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("kind", STORES)
def test_what_threads_see_of_a_queue_is_linearizable(kind):
    def body(draw):
        capacity, stay = draw.choice([-1, 1, 2, 3]), draw.randrange(2)
        if kind == "shuffle" and capacity > 0:
            capacity += stay
        queue, history, operations = Queue("q", kind, STORES[kind](stay), capacity=capacity), History(), program(draw)
        run(queue, operations, history)
        for rest in (Operation("close", 0, (), None), Operation("take_up_to", 100, (), None)):
            with history.calling(rest):
                rest.call(queue)
        history.check(lambda order, is_all: explains(order, is_all, Model(kind, capacity, stay, SEED)))

    explore(body, 700)
