"""Transactions under every order of events and failures: all tasks keep the changes of a step, or none does.

The tasks are real logs, locks, variables and transactions; their events happen one at a time, in all orders. A step can
fail at each task by itself at any moment, whether a worker, a connection or an operation was the reason, and one task
can be lost with its memory. States that were reached before are not explored again.
"""

from dataclasses import dataclass, field

import pytest
import torch

import thalweg as tf
from thalweg._src.runtime.resources.mutex import Mutex
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.transaction_state import Action, Branch, Decisions, Phase
from thalweg._src.runtime.resources.transactions import Transaction, TransactionLog
from thalweg._src.runtime.resources.variables import VariableResource

COORDINATOR = "c"
LOST = tf.errors.UnavailableError(None, None, "lost")


class Asking(Transaction):
    """A transaction that asks when the exploration says so, instead of on a thread."""

    is_asking = False

    def _start_asking(self):
        self.is_asking = True


@dataclass
class Task:
    """A task with one variable, which counts updates, and at the coordinator a record of their numbers."""

    name: str
    log: TransactionLog = field(default_factory=TransactionLog)
    mutex: Mutex = field(default_factory=lambda: Mutex("mutex"))
    variables: list = field(default_factory=list)

    def __post_init__(self):
        for name in ("value", "record"):
            variable = VariableResource(name, tf.int64, (), torch.device("cpu"))
            variable.assign(torch.tensor(0))
            self.variables.append(variable)

    def values(self):
        return [int(variable.value) for variable in self.variables]


class Attempt:
    """An attempt to make an update: what its step has done at each task, and the messages between its parts."""

    def __init__(self, world, number, update):
        self.world, self.number, self.update = world, number, update
        self.steps = {name: Step() for name in world.tasks}
        self.done = {name: [] for name in world.tasks}
        self.transactions, self.messages, self.answers = {}, {}, {}
        for step in self.steps.values():
            step.number = number

    def events(self):
        for name in self.steps:
            if name in self.world.lost:
                continue
            event = self.next_event(name)
            if event is not None:
                yield f"{event} {self.number} {name}"
            if not self.steps[name].cancelled and "release" not in self.done[name]:
                yield f"fail {self.number} {name}"
            transaction = self.transactions.get(name)
            if transaction is not None and transaction.is_asking:
                yield f"{'answer' if name in self.answers else 'ask'} {self.number} {name}"

    def next_event(self, name):
        """Returns what the step does next at a task, if it does not wait; a segment that has begun always ends."""
        done = self.done[name]
        last = done[-1] if done else ""
        if last in ("enter", "change"):
            return {"enter": "change", "change": "leave"}[last]
        if self.steps[name].cancelled or last in ("release", "refused"):
            return None
        if not done:
            return "lock" if name == COORDINATOR or COORDINATOR in self.transactions else None
        if last == "lock":
            return "enter" if name in self.transactions else None
        if name == COORDINATOR:
            is_ready = all(f"prepared {other}" in self.messages for other in self.steps if other != name)
            return {"leave": "commit" if is_ready else None, "commit": "release"}[last]
        following = {"leave": "prepare", "prepare": "decide" if "decided" in self.messages else None}
        return {**following, "decide": "release"}[last]

    def do(self, event, name):
        task, step = self.world.tasks[name], self.steps[name]
        if event not in ("fail", "ask", "answer"):
            self.done[name].append(event)
        try:
            getattr(self, f"_{event}")(task, step, self.transactions.get(name))
        except tf.errors.UnavailableError:
            assert step.cancelled

    def _lock(self, task, step, transaction):
        def begin(lock):
            coordinator = "" if task.name == COORDINATOR else COORDINATOR
            self.transactions[task.name] = Asking(task.log, step, lock, task.variables, coordinator)

        task.mutex.acquire(step, begin, Step.fail, outlives_step=True)

    def _enter(self, task, step, transaction):
        if not transaction.enter():
            self.done[task.name][-1] = "refused"

    def _change(self, task, step, transaction):
        value, record = task.variables
        value.update(lambda buffer: buffer.add_(1))
        if task.name == COORDINATOR and int(record.value) >= self.update:
            transaction.repeat()
        else:
            record.update(lambda buffer: buffer.fill_(self.update))

    def _leave(self, task, step, transaction):
        transaction.leave()

    def _prepare(self, task, step, transaction):
        self.messages[f"prepared {task.name}"] = transaction.prepare()

    def _commit(self, task, step, transaction):
        others = [name for name in self.steps if name != COORDINATOR]
        are_new = [self.messages[f"prepared {name}"] for name in others]
        self.messages["decided"] = transaction.commit(are_new, others)

    def _decide(self, task, step, transaction):
        transaction.decided(self.messages["decided"])

    def _release(self, task, step, transaction):
        transaction.release()

    def _fail(self, task, step, transaction):
        step.fail(LOST)

    def _ask(self, task, step, transaction):
        self.answers[task.name] = self.world.tasks[COORDINATOR].log.answer(self.number, task.name)

    def _answer(self, task, step, transaction):
        transaction.is_asking = False
        transaction.decided(self.answers[task.name])

    def has_failed(self):
        return any(step.cancelled for step in self.steps.values())

    def state(self):
        parts = {}
        for name, transaction in self.transactions.items():
            branch = transaction._branch
            parts[name] = (
                branch.phase.name,
                branch.running,
                branch.is_new,
                transaction._lock is None,
                transaction.is_asking,
            )
        cancelled = [step.cancelled for step in self.steps.values()]
        return repr((self.done, cancelled, parts, self.messages, self.answers))


class Reader:
    """A step that reads the variables of all tasks under their locks."""

    def __init__(self, world):
        self.world = world
        self.step, self.done, self.locks, self.seen = Step(), [], {}, {}

    def events(self):
        if not self.step.cancelled and len(self.done) < self.count:
            if len(self.done) == len(self.locks) + len(self.seen) and not self.world.lost:
                yield "read"
            yield "fail reader"

    @property
    def count(self):
        return 2 * len(self.world.tasks) + 1

    def do(self):
        names = list(self.world.tasks)
        place = len(self.done)
        self.done.append(place)
        if place < len(names):
            task = self.world.tasks[names[place]]
            task.mutex.acquire(self.step, lambda lock: self.locks.update({task.name: lock}), Step.fail, is_shared=True)
        elif place < 2 * len(names):
            name = names[place - len(names)]
            self.seen[name] = self.world.tasks[name].values()[0]
            if place == 2 * len(names) - 1:
                for lock in self.locks.values():
                    lock.release()

    def state(self):
        return repr((self.step.cancelled, self.done, list(self.locks), self.seen))


class World:
    """Tasks, attempts and a reader; `updates` has the update that each attempt makes, the same one when it repeats."""

    def __init__(self, participants, updates, has_reader, loses_a_task):
        names = [COORDINATOR, *(f"p{i}" for i in range(participants))]
        self.tasks = {name: Task(name) for name in names}
        self.lost = set()
        self.updates, self.loses_a_task = updates, loses_a_task
        self.attempts = [Attempt(self, number, update) for number, update in enumerate(updates, 1)]
        self.reader = Reader(self) if has_reader else None

    def events(self):
        for attempt in self.attempts:
            if self._has_begun(attempt):
                yield from attempt.events()
        if self.reader is not None:
            yield from self.reader.events()
        if self.loses_a_task and not self.lost:
            yield from (f"lose {name}" for name in self.tasks)

    def _has_begun(self, attempt):
        """An update is repeated when the attempt before has failed at some task, and may still run at others."""
        before = [a for a in self.attempts if a.number < attempt.number and a.update == attempt.update]
        return all(attempt.has_failed() for attempt in before)

    def do(self, event):
        what, *rest = event.split()
        if what == "read":
            self.reader.do()
        elif event == "fail reader":
            self.reader.step.fail(LOST)
        elif what == "lose":
            self.lost.add(rest[0])
            self.tasks[rest[0]] = Task(rest[0])
        else:
            self.attempts[int(rest[0]) - 1].do(what, rest[1])

    def state(self):
        tasks = [
            (
                task.values(),
                [each.before is None for each in task.variables],
                task.mutex.holders,
                task.mutex.is_shared,
                len(task.mutex.wait_queues[0]),
                task.log.decisions._last,
            )
            for task in self.tasks.values()
        ]
        order = [[self._owner(each._step) for each in task.mutex.wait_queues[0]] for task in self.tasks.values()]
        reader = "" if self.reader is None else self.reader.state()
        return repr((tasks, order, sorted(self.lost), reader, [attempt.state() for attempt in self.attempts]))

    def _owner(self, step):
        return [step in attempt.steps.values() for attempt in self.attempts]

    def is_certain(self, event):
        """Returns whether an event will happen: failures may, unless the step has failed at another task."""
        what, *rest = event.split()
        if what == "lose" or (what == "fail" and not self.lost and rest[0] == "reader"):
            return False
        return what != "fail" or bool(self.lost) or self.attempts[int(rest[0]) - 1].has_failed()

    def check(self):
        """What holds in every state."""
        if self.reader is not None and len(self.reader.seen) == len(self.tasks):
            assert len(set(self.reader.seen.values())) == 1, "the reader sees half of an update"

    def check_end(self):
        """What holds when nothing happens any more by itself."""
        for name, task in self.tasks.items():
            assert not task.mutex.holders and not task.mutex.wait_queues[0], f"{name} is locked for ever"
            assert not task.log.coordinated
        if not self.lost:
            values = {tuple(task.values()[:1]) for task in self.tasks.values()}
            assert len(values) == 1, f"updates are at some tasks only: {values}"
            assert values.pop()[0] <= len(set(self.updates)), "an update was applied twice"
        for attempt in self.attempts:
            phases = {attempt.transactions[n]._branch.phase for n in attempt.transactions if n not in self.lost}
            if COORDINATOR not in self.lost:
                assert not {Phase.COMMITTED, Phase.ABORTED} <= phases and Phase.IN_DOUBT not in phases


def explore(*setting):
    """Visits every state that a world can reach, and returns how many there are."""
    seen, paths = set(), [()]
    while paths:
        path = paths.pop()
        world = World(*setting)
        for event in path:
            world.do(event)
        while True:
            try:
                world.check()
                state = world.state()
                if state in seen:
                    break
                seen.add(state)
                events = list(world.events())
                if not any(map(world.is_certain, events)):
                    world.check_end()
            except AssertionError as error:
                error.add_note("\n".join(path))
                raise
            if not events:
                break
            paths += ((*path, event) for event in events[1:])
            path = (*path, events[0])
            world.do(events[0])
    return len(seen)


# How many participants, the update that each attempt makes, and whether a step reads and a task is lost.
SMALL = [(1, [1], True, False), (1, [1], True, True), (2, [1], False, False), (1, [1, 1], False, False)]
LARGE = [(1, [1, 1], False, True), (1, [1, 2], False, False), (2, [1], False, True), (2, [1], True, False)]


@pytest.mark.parametrize("setting", SMALL)
def test_an_update_is_at_all_tasks_or_none_after_any_failure(setting):
    assert explore(*setting) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("setting", LARGE)
def test_more_attempts_tasks_and_readers(setting):
    assert explore(*setting) > 1000


def _abort_alone(self):
    self.phase = Phase.ABORTED
    return Action.ABORT


FAULTS = {
    "a prepared participant does not ask": (Branch, "fail", _abort_alone),
    "the coordinator answers before it refuses": (Branch, "refuse", lambda self: None),
    "the coordinator forgets": (Decisions, "committed", lambda self, transaction, participants: None),
    "the coordinator commits after it has failed": (Branch, "commit", lambda self: True),
    "an answer is not heard": (Branch, "decided", lambda self, is_committed: Action.NOTHING),
    "a repeated update is not noticed": (Asking, "repeat", lambda self: None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_exploration_finds_faults(fault, monkeypatch):
    monkeypatch.setattr(*FAULTS[fault])
    with pytest.raises(AssertionError):
        explore(1, [1, 1], False, False)
