"""Communicator: one group of tasks that run collectives together.

Operations start in the order in which kernels ask for them, which is the same at all tasks. Before that, the tasks
compare what they are about to do: operations that differ between members would wait for each other, or mix up values.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Protocol

import torch

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import background
from thalweg._src.cluster.distributed.group_links import GroupLinks
from thalweg._src.cluster.distributed.group_store import GroupStore
from thalweg._src.runtime.resources.collectives import Action, Fail, Finish, Group
from thalweg._src.runtime.resources.step import Step

_COMPARE = Action("compare", "", "")
LOSS_SECONDS = 2.0  # between an error of an operation and the loss of the member that caused it
EXPLAIN_SECONDS = 5.0  # that a task waits for the plan of another one
_MAX_PLAN = 1 << 16  # characters that are shown to others if plans differ


@dataclass(frozen=True, slots=True)
class Membership:
    """A complete group, as one of its tasks sees it."""

    number: int
    tasks: Sequence[str]
    rank: int
    store: GroupStore


class Owner(Protocol):
    """What a communicator needs of its task."""

    def form(self, communicator: Communicator) -> GroupLinks:
        """Waits until all members have come and are connected, and returns their links."""

    def ended(self, communicator: Communicator, membership: Membership | None, operations: int, message: str) -> None:
        """Forgets a communicator, and tells the other members."""


@dataclass(slots=True, eq=False)
class _Use:
    """A step that uses the group: how many of its operations have not finished."""

    step: Step
    fail: Fail
    left: int = 0
    token: int | None = None


class Operation:
    """A collective of a step, or with a plan the comparison of plans."""

    def __init__(self, use: _Use, action: Action, buffer: torch.Tensor, plan: str = "") -> None:
        self.use = use
        self.action = action
        self.plan = plan
        self.number = 0  # among all operations of the group
        self._device = buffer.device
        wire = buffer.view(torch.uint8) if buffer.dtype is torch.bool else buffer
        self.wire = wire.to("cpu") if wire.device.type != "cpu" else wire
        self._dtype = buffer.dtype
        self._result: torch.Tensor | None = None
        self._finish: Finish | None = None
        self._lock = threading.Lock()

    def wait(self, finish: Finish) -> None:
        """Calls `finish` with the result, when it is there."""
        with self._lock:
            if self._result is None:
                self._finish = finish
                return
        finish(self._result)

    def end(self) -> None:
        """Hands the result over."""
        result = self.wire.to(self._device) if self._device.type != "cpu" else self.wire
        result = result.view(self._dtype) if result.dtype is not self._dtype else result
        with self._lock:
            self._result = result
            finish, self._finish = self._finish, None
        if finish is not None:
            finish(result)


class Communicator:
    """The members of a group from the time they come together until one of them fails or leaves.

    previous: why the communicator that was there before this one ended
    """

    def __init__(self, owner: Owner, group: Group, previous: errors.OpError | None) -> None:
        self.group = group
        self._previous = previous
        self.error: errors.OpError | None = None
        # The members come together anew only after a step has had the error of the last group: a group may end between
        # two steps, and if the next step of this task formed another one at once, the program would not learn that the
        # other members have lost a step.
        self.is_reported = False  # whether a step has ended with the error
        self._ended_steps: weakref.WeakSet[Step] = weakref.WeakSet()
        self._owner = owner
        self._lock = threading.Lock()
        self.ended = threading.Event()
        self._queue: deque[Operation] = deque()
        self._uses: dict[Step, _Use] = {}
        self._running: set[Operation] = set()
        self._started = 0
        self._limit: tuple[int, str] | None = None  # operations that a member took part in before it left
        self._is_formed = False
        self._held_by: Operation | None = None  # a comparison that later operations wait for
        self._agreed = ""  # the plan of the last step, which all tasks had
        self._is_explaining = False
        self._source = 0
        self._waiting = ""
        self._membership: Membership | None = None
        self._links: GroupLinks | None = None
        background.call(self._form)

    def _form(self) -> None:
        try:
            links = self._owner.form(self)
        except errors.OpError as error:
            self.end(error, error.message)
        except Exception as error:
            text = f"the tasks of group {self.group.key} do not connect: {error}"
            self.end(errors.UnavailableError(None, None, text), text)
        else:
            with self._lock:
                self._links, self._is_formed = links, True
            self.waits_for("")
        if self.error is None:
            self._advance()
        else:
            self._release()

    def joined(self, membership: Membership) -> None:
        """Notes the members that have come; raises the error of a group that has ended meanwhile, and tells them."""
        with self._lock:
            self._membership, error = membership, self.error
        if error is not None:
            self._owner.ended(self, membership, 0, error.message)
            raise error

    def waits_for(self, what: str) -> None:
        """Says in the status of steps what they wait for."""
        with self._lock:
            for use in self._uses.values():
                use.step.waiting.discard(self._waiting)
                if what:
                    use.step.waiting.add(what)
            self._waiting = what

    # -- operations of steps ------------------------------------------------------------------------------------------

    def begin(self, step: Step, plan: str, count: int, fail: Fail) -> None:
        """Compares the plan of a step with so many operations."""
        use = self._use(step, fail, count + 1)  # one is the comparison itself
        self._submit(Operation(use, _COMPARE, torch.empty(0), plan))

    def start(self, step: Step, action: Action, buffer: torch.Tensor, fail: Fail) -> Operation:
        """Starts an operation after those that were asked for earlier."""
        use = self._use(step, fail, 1 if action.plan else 0)
        if action.plan:
            self._submit(Operation(use, action, torch.empty(0), action.plan))
        operation = Operation(use, action, buffer)
        self._submit(operation)
        return operation

    def _use(self, step: Step, fail: Fail, count: int) -> _Use:
        with self._lock:
            if self.error is not None:
                self.is_reported = True
                raise self.error
            use = self._uses.get(step)
            is_new = use is None
            if is_new and not count:  # the step began with the communicator before this one
                assert self._previous is not None
                raise self._previous
            if use is None:
                use = self._uses[step] = _Use(step, fail)
                if self._waiting:
                    step.waiting.add(self._waiting)
            use.left += count
        if is_new:
            use.token = step.cancellation.register(self._step_failed)
        return use

    def _step_failed(self, error: BaseException) -> None:
        """Ends the group, since the other members wait for what a failed step does not start any more."""
        text = error.message if isinstance(error, errors.OpError) else str(error)
        self.end(errors.AbortedError(None, None, f"another step of this task failed: {text}"), text or repr(error))

    def _submit(self, operation: Operation) -> None:
        with self._lock:
            self._queue.append(operation)
        self._advance()

    # The n-th operation of each member belongs to that of the others, so operations have to be started in one order
    # everywhere. Kernels ask in the same order at all tasks; the lock is held for the start itself, since two threads
    # that started theirs outside of it could pass each other. The callback is added without the lock: of an operation
    # that has finished already it is called at once, on this thread, and takes the lock.
    # A member that leaves says how many operations it has started. Those still finish, since it keeps its links until
    # they have; the first one after them would wait for it until the time limit, and ends the group instead.
    def _advance(self) -> None:
        """Starts operations, up to a comparison."""
        while True:
            with self._lock:
                is_held = not self._is_formed or self._held_by is not None
                if is_held or not self._queue or self.error is not None:
                    return
                left = self._limit
                if left is None or self._started < left[0]:
                    left = None
                    operation = self._queue.popleft()
                    self._started += 1
                    operation.number = self._started
                    self._running.add(operation)
                    self._held_by = operation if self._holds(operation) else None
                    work = self._launch(operation)
            if left is not None:
                self.end(errors.AbortedError(None, None, left[1]))
                return
            work.add_done_callback(partial(self._done, operation))

    def _holds(self, operation: Operation) -> bool:
        """Returns whether later operations wait for a comparison.

        If the plan is that of the last step, they need not: a task with another plan waits for the comparison, starts
        nothing, and ends the group.
        """
        return bool(operation.plan) and (operation.action is not _COMPARE or operation.plan != self._agreed)

    def _launch(self, operation: Operation) -> Future[torch.Tensor]:
        links, action, number = self._links, operation.action, operation.number
        assert links is not None
        if operation.plan:
            digest = hashlib.sha256(operation.plan.encode()).digest()
            signature = torch.tensor([*digest, action.kind == "send"], dtype=torch.uint8)
            return links.start(links.gather, number, signature)
        if action.kind == "reduce":
            return links.start(links.reduce, number, operation.wire, action.merge_op)
        if action.kind == "gather":
            return links.start(links.gather, number, operation.wire)
        return links.start(links.broadcast, number, operation.wire, self._source)

    def _done(self, operation: Operation, future: Future[torch.Tensor]) -> None:
        """Handles the end of an operation, on a thread of the links, which must not wait: others do that."""
        try:
            operation.wire = future.result()
        except Exception as error:
            with self._lock:
                self._running.discard(operation)
            background.call(self._failed, error)
            return
        with self._lock:
            self._running.discard(operation)
        if self.error is not None:
            background.call(self._release)
        elif operation.plan:
            self._compared(operation)
        else:
            self._completed(operation)

    def _completed(self, operation: Operation) -> None:
        self._finished(operation.use)
        use = operation.use
        try:
            with torch.inference_mode():  # as the buffers were made
                operation.end()
        except Exception as error:
            use.fail(use.step, errors.InternalError(None, None, str(error)))

    def _finished(self, use: _Use) -> None:
        """Counts an operation of a step; after the last one, the end of the step does not concern the group."""
        with self._lock:
            use.left -= 1
            is_over = not use.left
            if is_over:
                self._uses.pop(use.step, None)
        if is_over:
            use.step.cancellation.deregister(use.token)

    def _failed(self, error: Exception) -> None:
        """Ends the group after an error of an operation: most likely a member is lost, which its link tells."""
        if isinstance(error, errors.OpError) and not isinstance(error, errors.UnavailableError):
            self.end(error, error.message)
        elif not self.ended.wait(LOSS_SECONDS):
            self.end(errors.UnavailableError(None, None, f"{self} has lost a connection: {error}"), str(error))
        self._release()

    def __str__(self) -> str:
        tasks = "" if self._membership is None else f" of {', '.join(self._membership.tasks)}"
        return f"group {self.group.key}{tasks}"

    # -- plans --------------------------------------------------------------------------------------------------------

    def _compared(self, operation: Operation) -> None:
        assert self._membership is not None
        rows, rank = operation.wire.numpy(), self._membership.rank
        different = [other for other, row in enumerate(rows) if (row[:-1] != rows[rank][:-1]).any()]
        sources = [other for other, row in enumerate(rows) if row[-1]]
        if different:
            self._is_explaining = True
            background.call(self._explain, operation.plan, different[0], operation.number)
        elif operation.action.kind in ("send", "receive") and len(sources) != 1:
            tasks = ", ".join(self._membership.tasks[other] for other in sources) or "none"
            text = f"a broadcast has one sender in {self}; received: {tasks}"
            self.end(errors.invalid(text), text)
        else:
            with self._lock:
                if operation is self._held_by:
                    self._held_by = None
                    self._source = sources[0] if sources else 0
                if operation.action is _COMPARE:
                    self._agreed = operation.plan
            if operation.action is _COMPARE:
                self._finished(operation.use)
            self._advance()

    def _explain(self, plan: str, other: int, number: int) -> None:
        """Ends the group since another member is about to do something else, and says what."""
        assert self._membership is not None
        store, tasks, rank = self._membership.store, self._membership.tasks, self._membership.rank
        theirs = ["(unknown)"]
        with contextlib.suppress(errors.OpError):
            store.set(f"plan/{number}/{rank}", plan[:_MAX_PLAN].encode())
            key = f"plan/{number}/{other}"
            store.wait([key], EXPLAIN_SECONDS)
            theirs = (store.get(key) or b"(unknown)").decode(errors="ignore").splitlines()
        ours = plan[:_MAX_PLAN].splitlines()
        lines = zip_longest(ours, theirs, fillvalue="(nothing more)")
        mine, another = next((pair for pair in lines if pair[0] != pair[1]), ("", ""))
        text = errors.describe(
            f"the tasks of group {self.group.key} are about to run different collectives",
            expected=f"{mine} as at {tasks[rank]}",
            received=f"{another} at {tasks[other]}",
        )
        self.end(errors.invalid(text), "its collectives differ")

    # -- ends ---------------------------------------------------------------------------------------------------------

    def peer_lost(self, task: str, why: str) -> None:
        """Ends the group if a lost task is a member."""
        if self._membership is not None and task in self._membership.tasks:
            self.end(errors.UnavailableError(None, None, f"{task} is lost: {why}"), f"{task} is lost: {why}")

    def peer_left(self, task: str, operations: int, message: str) -> None:
        """Ends the group since a member takes part no longer; what that had started is still finished."""
        if message:
            self.aborted(errors.AbortedError(None, None, f"{task} ended a step of {self}: {message}"))
        if message or self._is_explaining:
            return
        why = f"{task} closed its session, and takes part in {self} no longer"
        with self._lock:
            self._limit = (operations, why)
            is_late = self._started > operations or not self._is_formed
        if is_late:
            self.end(errors.AbortedError(None, None, why))
            self._stop()
        else:
            self._advance()

    def aborted(self, error: errors.OpError) -> None:
        """Ends the group with the error of another member."""
        if not self._is_explaining:
            self.end(error, error.message)

    def close(self) -> None:
        """Leaves the group, when its session is closed."""
        self.end(errors.CancelledError(None, None, "Session has been closed."))

    def end(self, error: errors.OpError, message: str = "") -> None:
        """Fails all steps that use the group; `message` tells the other members why."""
        # The first error counts; what follows from it, such as the errors of operations that run, changes nothing. The
        # steps fail without the lock, since that runs code of others, and the other members are told on another thread,
        # since calls may take long.
        if message:
            self._stop()
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            uses, self._uses = list(self._uses.values()), {}
            self._queue.clear()
            self.is_reported = bool(uses)
            self._ended_steps.update(use.step for use in uses)
            membership, started = self._membership, self._started
        self.ended.set()
        for use in uses:
            use.step.cancellation.deregister(use.token)
            use.fail(use.step, error)
        background.call(self._owner.ended, self, membership, started, message)
        self._release()

    def has_ended(self, step: Step) -> bool:
        """Returns whether the end of the group has ended a step."""
        return step in self._ended_steps

    def _release(self) -> None:
        """Ends the links when nothing runs on them any more."""
        with self._lock:
            is_over = not self._running and self.error is not None
        if is_over:
            self._stop()

    def _stop(self) -> None:
        """Ends the links, and what runs on them."""
        if self._links is not None:
            self._links.close()
