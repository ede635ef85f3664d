"""Waiting: steps that stand in line at a resource, as attempts that are tried in turn and hold no thread.

A resource has one or more lines. Whatever changes it tries the first attempt of each line until nothing moves any
more; who is done is told so after the resource's lock was given back, since what follows may come to it again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src import errors
from thalweg._src.resources.step import Step


class _Word:
    """What came of trying an attempt that is not over yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


STUCK = _Word("STUCK")  # nothing could be done
MOVED = _Word("MOVED")  # something was done, and something is left
Outcome = Any  # STUCK, MOVED, the error that it fails with, or the tuple of its results

Finish = Callable[..., None]


Fail = Callable[[Any, errors.OpError], None]  # of a step, with an error


class Attempt:
    """What a step wants of a resource; subclasses say how it is tried, and what is undone when it is given up."""

    __slots__ = ("_fail", "_finish", "_step", "_token", "is_over")

    def __init__(self, step: Step, finish: Finish, fail: Fail) -> None:
        self._step = step
        self._finish = finish
        self._fail = fail
        self._token: int | None = None
        self.is_over = False

    def advance(self) -> Outcome:
        """Does as much as can be done now; the resource's lock is held."""
        raise NotImplementedError

    def undo(self) -> None:
        """Gives back what was taken so far; the resource's lock is held."""

    def end(self, outcome: Outcome) -> None:
        """Tells the step what came of it."""
        if self._token is not None:
            self._step.cancellation.deregister(self._token)
        if isinstance(outcome, BaseException):
            self._fail(self._step, outcome)  # type: ignore[arg-type]
        else:
            self._finish(*outcome)

    def listen(self, withdraw: Callable[[Attempt], None]) -> None:
        """Has itself withdrawn when its step is cancelled."""
        self._token = self._step.cancellation.register(lambda error: withdraw(self))
        if self.is_over:  # meanwhile; whoever ended it may not have seen the token
            self._step.cancellation.deregister(self._token)


Line = deque[Attempt]


class Crowd(Line):
    """A line of attempts that wait for different things: each is tried, not the first alone."""


Ended = list[tuple[Attempt, Outcome]]


def tell(ended: Iterable[tuple[Attempt, Outcome]]) -> None:
    """Tells attempts what came of them; no lock is held."""
    for attempt, outcome in ended:
        attempt.end(outcome)


class Resource:
    """Something that steps wait at: a lock, and lines of attempts."""

    def __init__(self, name: str, *lines: Line) -> None:
        self.name = name
        self.lock = threading.Lock()
        self.lines = lines

    def attempt(self, line: Line, attempt: Attempt) -> None:
        """Puts an attempt in line and does what can be done."""
        with self.lock:
            line.append(attempt)
            ended = self.advance()
        tell(ended)
        if not attempt.is_over:
            attempt.listen(self._withdraw)

    def advance(self) -> Ended:
        """Tries the attempts of all lines until nothing moves; the lock is held. Returns those that are over."""
        ended: Ended = []
        moved = True
        while moved:
            moved = False
            for line in self.lines:
                moved |= bool(line) and self._advance_line(line, ended)
        return ended

    def _advance_line(self, line: Line, ended: Ended) -> bool:
        moved = False
        if isinstance(line, Crowd):
            for attempt in list(line):
                outcome = attempt.advance()
                moved = moved or outcome is not STUCK
                if outcome is not STUCK and outcome is not MOVED:
                    line.remove(attempt)
                    attempt.is_over = True
                    ended.append((attempt, outcome))
            return moved
        while line:
            outcome = line[0].advance()
            if outcome is STUCK:
                break
            moved = True
            if outcome is MOVED:
                break
            attempt = line.popleft()
            attempt.is_over = True
            ended.append((attempt, outcome))
        return moved

    def _withdraw(self, attempt: Attempt) -> None:
        """Takes the attempt of a cancelled step out of its line."""
        with self.lock:
            if attempt.is_over:
                return
            attempt.is_over = True
            for line in self.lines:
                if attempt in line:
                    line.remove(attempt)
            attempt.undo()
            ended = self.advance()
        tell(ended)

    def give_up(self, lines: Iterable[Line], error: errors.OpError) -> Ended:
        """Ends all attempts of some lines with an error; the lock is held."""
        ended: Ended = []
        for line in lines:
            for attempt in line:
                attempt.is_over = True
                ended.append((attempt, error))
            line.clear()
        return ended

    def forget(self) -> None:
        """Lets go of what the resource holds; the lock is held."""

    def destroy(self) -> None:
        """Ends whoever waits, as a session does that closes."""
        gone = errors.CancelledError(None, None, f"{self.name!r} was destroyed while an operation waited at it")
        with self.lock:
            ended = self.give_up(self.lines, gone)
            self.forget()
        tell(ended)
