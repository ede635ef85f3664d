"""Two-phase commit as pure state machines: events in, what to do out; no threads, no locks, no clock.

A transaction is what one step changes of consistent variables. One task, the coordinator, commits it once all others,
the participants, have prepared: their changes are made, and can be kept or undone. Whatever fails alone leaves all
changes or none:

- A participant that fails before it has prepared undoes its changes: the coordinator cannot have committed without it.
- One that fails later is in doubt, and asks the coordinator. What has not been committed by then never will be
  (presumed abort), so that every answer stays true.
- The coordinator remembers one transaction per participant, the last that was committed: a participant has one at a
  time, and prepares the next only when it knows how the one before ended.
- If the coordinator is restarted, its variables are lost: it answers that nothing was committed, and what is left of
  the transaction is undone, until a checkpoint is restored, which is a transaction too.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto


class Phase(Enum):
    """How far a task is with a transaction."""

    ACTIVE = auto()
    PREPARED = auto()
    IN_DOUBT = auto()  # it failed here after it had prepared
    COMMITTED = auto()
    DROPPED = auto()  # it is undone, and the step goes on: the same update was committed before
    ABORTED = auto()


class Action(Enum):
    """What the owner of a branch does next; each may be asked for again."""

    NOTHING = auto()
    UNDO = auto()  # restores the variables
    RELEASE = auto()  # lets the next transaction begin
    ABORT = auto()  # both
    ASK = auto()  # asks the coordinator whether the transaction was committed


class Branch:
    """The branch of a transaction at one task; its owner makes one call at a time."""

    __slots__ = ("is_new", "phase", "running")

    def __init__(self) -> None:
        self.phase = Phase.ACTIVE
        self.is_new = True  # False if the same update was committed before
        self.running = 0  # segments of the step that have started here and not ended

    def enter(self) -> bool:
        """Returns whether a segment of the step may start."""
        if self.phase is Phase.ABORTED:
            return False
        self.running += 1
        return True

    def leave(self) -> Action:
        """Records the end of a segment, which may have been the last that changes a variable."""
        self.running -= 1
        return Action.ABORT if self.phase is Phase.ABORTED and not self.running else Action.NOTHING

    def prepare(self) -> bool:
        """Makes sure that the changes, which are all made, stay until the coordinator has decided."""
        if self.phase is Phase.ACTIVE:
            self.phase = Phase.PREPARED
        return self.phase is Phase.PREPARED

    def commit(self) -> bool:
        """Commits at the coordinator; returns False if the transaction has failed there."""
        if self.phase is Phase.ACTIVE:
            self.phase = Phase.COMMITTED
        return self.phase is Phase.COMMITTED

    def drop(self) -> Action:
        """Undoes at the coordinator a transaction that was committed before."""
        if self.phase is not Phase.ACTIVE:
            return Action.NOTHING
        self.phase = Phase.DROPPED
        return Action.UNDO

    def decided(self, is_committed: bool) -> Action:
        """Records the decision of the coordinator at a participant; it may come by the step, and as an answer."""
        match self.phase:
            case Phase.PREPARED:  # the step goes on, and releases what it has locked
                self.phase = Phase.COMMITTED if is_committed else Phase.DROPPED
                return Action.NOTHING if is_committed else Action.UNDO
            case Phase.IN_DOUBT:
                self.phase = Phase.COMMITTED if is_committed else Phase.ABORTED
                return Action.RELEASE if is_committed else Action.ABORT
        return Action.NOTHING

    def fail(self) -> Action:
        """Records the failure of the step at this task."""
        match self.phase:
            case Phase.ACTIVE:  # a segment that still runs may change a variable after it was restored
                self.phase = Phase.ABORTED
                return Action.NOTHING if self.running else Action.ABORT
            case Phase.PREPARED:
                self.phase = Phase.IN_DOUBT
                return Action.ASK
            case Phase.COMMITTED | Phase.DROPPED:
                return Action.RELEASE
        return Action.NOTHING

    def refuse(self) -> Action | None:
        """Aborts a transaction at the coordinator when a participant asks about it; None if it has decided."""
        return None if self.phase in (Phase.COMMITTED, Phase.DROPPED) else self.fail()


class Decisions:
    """What a coordinator remembers of the transactions that it committed: for each participant, the last."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def committed(self, transaction: int, participants: Collection[str]) -> None:
        """Records a transaction that was committed here, for which these tasks have prepared."""
        for participant in participants:
            self._last[participant] = transaction

    def answer(self, transaction: int, participant: str) -> bool:
        """Returns whether a transaction that does not run here any more was committed."""
        return self._last.get(participant) == transaction
