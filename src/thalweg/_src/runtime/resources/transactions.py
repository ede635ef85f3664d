"""Transactions: what a step changes of consistent variables of a task takes effect together with its changes at other
tasks, or not at all.

The state machines are in `transaction_state.py`; here are the lock, the variables, which remember their values, and the
thread that asks the coordinator.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from thalweg._src.base import errors
from thalweg._src.runtime.resources.mutex import Lock
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.transaction_state import Action, Branch, Decisions
from thalweg._src.runtime.resources.variables import VariableResource

_RETRY_SECONDS = 0.5


class TransactionLog:
    """The transactions of a task, and the decisions about those that it coordinates."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # of the state machines
        self.decisions = Decisions()
        self.coordinated: dict[int, Transaction] = {}
        self.closed = threading.Event()

    def answer(self, number: int, participant: str) -> bool:
        """Returns whether the transaction of a step was committed here; if it was not, it never will be."""
        with self.lock:
            transaction = self.coordinated.get(number)
        if transaction is not None:
            transaction.refuse(participant)
        with self.lock:
            return self.decisions.answer(number, participant)

    def close(self) -> None:
        """Ends the threads that ask coordinators."""
        self.closed.set()


class Transaction:
    """What a step changes of the consistent variables of a task, which it has locked."""

    def __init__(
        self, log: TransactionLog, step: Step, lock: Lock, variables: Iterable[VariableResource], coordinator: str = ""
    ) -> None:
        """coordinator: the task that decides; empty at that task itself"""
        self._log = log
        self._step = step
        self._lock: Lock | None = lock
        self._mutex = lock.mutex
        self._coordinator = coordinator
        self._branch = Branch()
        self._token: int | None = None
        self._variables = list(variables)
        for variable in self._variables:
            variable.remember()
        if not coordinator and step.number:
            with log.lock:
                log.coordinated[step.number] = self
        step.transaction = self
        self._token = step.cancellation.register(lambda error: self._fail())

    # -- the step -----------------------------------------------------------------------------------------------------

    def enter(self) -> bool:
        """Returns whether a segment of the step may start, which is not so after it has failed."""
        with self._log.lock:
            return self._branch.enter()

    def leave(self) -> None:
        """Records the end of a segment."""
        with self._log.lock:
            action = self._branch.leave()
        self._do(action)

    def repeat(self) -> None:
        """Notes that the same update was committed before."""
        self._branch.is_new = False

    def prepare(self) -> bool:
        """Promises to keep the changes if the coordinator commits; returns whether the update is new."""
        with self._log.lock:
            if not self._branch.prepare():
                self._step.stop()
            return self._branch.is_new

    def commit(self, are_new: Iterable[bool], participants: Collection[str]) -> bool:
        """Decides at the coordinator, when all participants have prepared; returns whether the changes are kept."""
        is_new = self._branch.is_new and all(are_new)
        with self._log.lock:
            if not is_new:
                action = self._branch.drop()
            elif self._branch.commit():
                action = Action.NOTHING
                self._log.decisions.committed(self._step.number, participants)
            else:
                self._step.stop()
        self._do(action)
        return is_new

    def decided(self, is_committed: bool) -> None:
        """Records the decision of the coordinator."""
        with self._log.lock:
            action = self._branch.decided(is_committed)
        self._do(action)

    def release(self) -> None:
        """Ends the transaction: others may lock the variables."""
        with self._log.lock:
            lock, self._lock = self._lock, None
            if self._log.coordinated.get(self._step.number) is self:
                del self._log.coordinated[self._step.number]
        if lock is not None:
            for variable in self._variables:
                variable.forget()
            self._step.cancellation.deregister(self._token)
            lock.release()

    # -- failures -----------------------------------------------------------------------------------------------------

    def _fail(self) -> None:
        with self._log.lock:
            action = self._branch.fail()
        self._do(action)

    def refuse(self, participant: str) -> None:
        """Ends the transaction at the coordinator, unless it has decided: a participant has failed."""
        with self._log.lock:
            action = self._branch.refuse()
        if action is not None:
            self._do(action)
            self._step.fail(errors.AbortedError(None, None, f"an update was aborted: it failed at {participant}"))

    def _do(self, action: Action) -> None:
        if action in (Action.UNDO, Action.ABORT):
            for variable in self._variables:
                variable.undo()
        if action in (Action.RELEASE, Action.ABORT):
            self.release()
        if action is Action.ASK:
            self._start_asking()

    def _start_asking(self) -> None:
        threading.Thread(target=self._ask, name="thalweg_transaction", daemon=True).start()

    def _ask(self) -> None:
        """Asks the coordinator until it answers; other steps that wait here fail while it cannot be reached."""
        # In doubt, only the coordinator knows the outcome: the variables stay locked, since both keeping and undoing
        # the changes could be wrong. Steps that wait for the lock are told why instead of waiting with it.
        mutex, ask = self._mutex, self._step.ask
        assert ask is not None  # only a task of a cluster is a participant
        while not self._log.closed.is_set():
            try:
                is_committed = ask(self._coordinator)
            except errors.OpError as error:
                text = f"whether an update was committed is known by {self._coordinator} alone: {error.message}"
                mutex.refuse(errors.UnavailableError(None, None, text))
                self._log.closed.wait(_RETRY_SECONDS)
            else:
                mutex.refuse(None)
                self.decided(is_committed)
                return
