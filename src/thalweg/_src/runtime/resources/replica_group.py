"""Replica groups: rounds of synchronous training, in which replicas deliver gradients and the chief applies them.

A round begins when the chief opens it. A replica that has delivered its gradients arrives, and waits for the next
round. The chief waits until enough replicas have arrived, applies what they delivered, and opens the next round. Rounds
never go back, not even when the chief restores an older checkpoint: what was computed before is stale by its number.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from thalweg._src.base import errors
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import (
    NO_PROGRESS,
    Attempt,
    Fail,
    Finish,
    Outcome,
    Resource,
    UnorderedWaitQueue,
    notify,
)

START_SECONDS = 120.0  # that replicas wait for the chief to start a group for the first time


class ReplicaGroup(Resource):
    """The rounds of one synchronous optimizer.

    num_required: gradients that a round needs; in an elastic group, the least number of them
    per_replica: gradients that each replica delivers in a round
    num_backups: members of an elastic group that a round does not wait for; None if the group is not elastic
    """

    def __init__(self, name: str, num_required: int, per_replica: int, num_backups: int | None) -> None:
        self._arrivals, self._takes, self._members = UnorderedWaitQueue(), deque[Attempt](), UnorderedWaitQueue()
        self._pauses = UnorderedWaitQueue()
        super().__init__(name, self._arrivals, self._pauses, self._takes, self._members)
        self.num_required = num_required
        self.per_replica = per_replica
        self.num_backups = num_backups
        self.round = -1
        self._is_open = False
        self._is_stopped = False
        self._is_cancelled = False
        self._num_pauses = 0
        self._updating: Step | None = None  # the step that applies the gradients of this round
        self._was_interrupted = False  # whether such a step has failed since the chief started
        self._arrived: dict[int, int] = {}  # gradients of each replica in this round
        self._joined: dict[int, tuple[int, Attempt]] = {}  # the round in which each member joined, and how

    # -- the chief ----------------------------------------------------------------------------------------------------

    def start(self, global_step: int) -> int:
        """Begins to number rounds after those of an earlier chief, and returns the number of the first one."""
        replaced = errors.AbortedError(None, None, f"{self}: another chief has started")
        with self.lock:
            self.round = max(self.round + 1, global_step)
            self._is_open = self._is_stopped = self._is_cancelled = False
            self._arrived, self._num_pauses, self._updating = {}, 0, None
            self._was_interrupted = False
            ended = self.fail_all([self._takes], replaced)
        notify(ended)
        return self.round

    def open(self, round_: int) -> None:
        """Begins a round: replicas that wait go on."""
        with self.lock:
            if round_ < self.round:
                raise errors.AbortedError(None, None, f"{self}: another chief has started, at step {self.round}")
            self.round = round_
            self._is_open = True
            self._arrived, self._updating = {}, None
            ended = self.advance()
        notify(ended)

    def take(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Calls `finish` with the number of the round once enough replicas have arrived; the step applies it then."""

        def begin(round_: int) -> None:
            step.cancellation.register(lambda error: self._abandon(step))
            finish(round_)

        self.attempt(self._takes, _Take(self, step, begin, fail))

    def _abandon(self, step: Step) -> None:
        """Notes that a step that applied the gradients of a round has failed, with the session of the chief."""
        with self.lock:
            if self._updating is step:
                self._updating, self._was_interrupted = None, True
            ended = self.advance()
        notify(ended)

    @property
    def is_interrupted(self) -> bool:
        """Whether some variables may have the update of a round, and others not, to a chief that has just come back."""
        with self.lock:
            return self._was_interrupted or self._updating is not None

    def pause(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Calls `finish` when no gradients are being applied; none are then until `resume`, or until a chief starts."""
        self.attempt(self._pauses, _Pause(self, step, finish, fail))

    def resume(self) -> None:
        """Ends a pause."""
        with self.lock:
            self._num_pauses = max(0, self._num_pauses - 1)
            ended = self.advance()
        notify(ended)

    def cancel(self) -> None:
        """Cancels the wait of the chief, now and until another one starts."""
        with self.lock:
            self._is_cancelled = True
            ended = self.advance()
        notify(ended)

    def stop(self) -> None:
        """Ends training: what would wait for another round gets OutOfRangeError, until another chief starts."""
        with self.lock:
            self._is_stopped = True
            ended = self.advance()
        notify(ended)

    # -- replicas -----------------------------------------------------------------------------------------------------

    def current(self, global_step: int) -> int:
        """Returns the round that a new replica begins with; the one before if the chief has not opened it yet.

        Gradients that come before that are dropped. If they counted, the chief could still erase them, and apply a
        round without them.
        """
        return self.round if self._is_open else max(self.round, global_step) - 1

    def arrive(self, replica: int, local_step: int, step: Step, finish: Finish, fail: Fail) -> None:
        """Counts the gradients of a replica, and calls `finish` with the next round that it takes part in."""
        with self.lock:
            if self._is_open and local_step == self.round:
                self._arrived[replica] = min(self._arrived.get(replica, 0) + 1, self.per_replica)
            is_started = self.round >= 0
        attempt = _Arrival(self, replica, local_step, step, finish, fail)
        self.attempt(self._arrivals, attempt)
        if not is_started:
            attempt.limit(START_SECONDS, self._expire)

    def _expire(self, attempt: Attempt) -> None:
        """Fails the attempt of a replica if no chief has started the group."""
        with self.lock:
            if attempt.is_over or self.round >= 0:
                return
            attempt.is_over = True
            self._arrivals.remove(attempt)
        attempt.end(_not_started(self))

    def join(self, replica: int, step: Step, finish: Finish, fail: Fail) -> None:
        """Makes a replica a member of an elastic group, until its step ends."""
        self.attempt(self._members, _Member(self, replica, step, finish, fail))

    # -- state; the lock is held --------------------------------------------------------------------------------------

    def begin_update(self, step: Step) -> bool:
        """Returns whether a step may apply the gradients of this round, which it then does."""
        if self._num_pauses or not self.is_complete():
            return False
        self._updating = step
        return True

    def begin_pause(self) -> bool:
        """Returns whether a pause begins: no gradients are being applied."""
        if self._updating is not None:
            return False
        self._num_pauses += 1
        return True

    def is_complete(self) -> bool:
        """Returns whether enough replicas have arrived in this round."""
        if not self._is_open:
            return False
        if self.num_backups is None:
            return sum(self._arrived.values()) >= self.num_required
        # Members that joined during this round are not waited for, unless there are no others.
        members = [replica for replica, (since, _) in self._joined.items() if since < self.round] or list(self._joined)
        missing = sum(replica not in self._arrived for replica in members)
        return len(self._arrived) >= self.num_required and missing <= self.num_backups

    def next_round(self, replica: int, local_step: int) -> int | None:
        """Returns the round that a replica takes part in after it has arrived, None if it has not begun."""
        if not self._is_open:
            return None
        # A replica goes on as soon as a round is open that it has not completed: a later one than that of its
        # gradients, or the same one while it owes further gradients. One that was slow skips to the present round.
        is_owed = local_step == self.round and self._arrived.get(replica, 0) < self.per_replica
        return self.round if local_step != self.round or is_owed else None

    def ended(self) -> errors.OpError | None:
        """Returns the error of what waits for another round after training has ended."""
        if not self._is_stopped:
            return None
        return errors.OutOfRangeError(None, None, f"{self}: the chief has ended training, at step {self.round}")

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def add_member(self, replica: int, attempt: Attempt) -> None:
        since = self._joined.get(replica, (self.round, attempt))[0]
        self._joined[replica] = since, attempt  # of a replica that was restarted, the last attempt counts

    def remove_member(self, replica: int, attempt: Attempt) -> None:
        if self._joined.get(replica, (0, None))[1] is attempt:
            del self._joined[replica]

    def forget(self) -> None:
        self._arrived, self._joined = {}, {}

    def __str__(self) -> str:
        return f"replica group {self.name!r}"


def _not_started(group: ReplicaGroup) -> errors.OpError:
    return errors.FailedPreconditionError(
        None,
        None,
        f"{group}: no chief has started it within {START_SECONDS:.0f} s, so that gradients are not applied. "
        "Expected the chief to have the hook of the SyncReplicasOptimizer: "
        "MonitoredTrainingSession(..., hooks=[optimizer.make_session_run_hook(is_chief)])",
    )


class _Attempt(Attempt):
    __slots__ = ("_group",)

    def __init__(self, group: ReplicaGroup, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._group = group


class _Take(_Attempt):
    __slots__ = ()

    def advance(self) -> Outcome:
        if self._group.is_cancelled:
            return errors.CancelledError(None, None, f"{self._group}: the chief was stopped")
        if ended := self._group.ended():
            return ended
        return (self._group.round,) if self._group.begin_update(self._step) else NO_PROGRESS


class _Pause(_Attempt):
    __slots__ = ()

    def advance(self) -> Outcome:
        return () if self._group.begin_pause() else NO_PROGRESS


class _Arrival(_Attempt):
    __slots__ = ("_local_step", "_replica", "_timer")

    def __init__(self, group: ReplicaGroup, replica: int, local_step: int, *rest: Any) -> None:
        super().__init__(group, *rest)
        self._replica = replica
        self._local_step = local_step
        self._timer: threading.Timer | None = None

    def limit(self, seconds: float, expire: Callable[[Attempt], None]) -> None:
        """Calls a function with this attempt if it waits for so long."""
        self._timer = threading.Timer(seconds, expire, [self])
        self._timer.daemon = True
        self._timer.start()
        if self.is_over:
            self._timer.cancel()

    def end(self, outcome: Outcome) -> None:
        self.undo()
        super().end(outcome)

    def undo(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def advance(self) -> Outcome:
        round_ = self._group.next_round(self._replica, self._local_step)
        return (round_,) if round_ is not None else self._group.ended() or NO_PROGRESS


class _Member(_Attempt):
    """A membership: waits until its step is cancelled, with the session of the replica."""

    __slots__ = ("_has_joined", "_replica")

    def __init__(self, group: ReplicaGroup, replica: int, *rest: Any) -> None:
        super().__init__(group, *rest)
        self._replica = replica
        self._has_joined = False

    def advance(self) -> Outcome:
        if self._group.ended() is not None:
            self.undo()
            return ()
        if not self._has_joined:
            self._has_joined = True
            self._group.add_member(self._replica, self)
        return NO_PROGRESS

    def undo(self) -> None:
        self._group.remove_member(self._replica, self)
