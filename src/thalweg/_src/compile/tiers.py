"""Execution tiers as pure state machines: interpreted, generated, compiled in the background, trial, CUDA graph.

Events go in (a call, seconds, a library, a capture), actions come out. The machines have no locks, threads or clocks:
their owners call them, under a lock if several threads run a step.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from statistics import median

WARM_UP_RUNS = 3  # of a signature before it is captured
MAX_CAPTURES = 4  # per segment; each keeps memory of its own
REMEMBERED = 256  # signatures that are counted; one that recurs only after so many others is rare
TIMED_CALLS = 5  # of each function before the faster one is kept


class Tier(enum.Enum):
    """How the function of a step runs next."""

    INTERPRET = enum.auto()  # a large program, which may never run again
    GENERATE = enum.auto()  # generate its Python function and run that
    RUN = enum.auto()


class StepTiers:
    """The tiers of a step signature: a large program is interpreted once; a hot one is compiled in the background."""

    def __init__(self, is_large: bool, compiles: bool) -> None:
        self._tier = Tier.INTERPRET if is_large else Tier.RUN
        self.compiles = compiles  # whether time is still counted
        self._spent = 0.0

    def called(self) -> Tier:
        """Returns how the step runs now."""
        tier = self._tier
        self._tier = Tier.GENERATE if tier is Tier.INTERPRET else Tier.RUN
        return tier

    def ran(self, seconds: float, threshold: float) -> bool:
        """Counts the time of a run; returns True once, when the step is hot and is to be compiled."""
        self._spent += seconds
        if not self.compiles or self._spent <= threshold:
            return False
        self.compiles = False
        return True


class TrialTiers:
    """The trial of a cluster for one layout: alternates between the plain and the compiled function."""

    def __init__(self) -> None:
        self._calls = 0
        self._seconds: tuple[list[float], list[float]] = ([], [])
        self.winner: bool | None = None  # whether the compiled function is kept

    def called(self) -> tuple[int, bool]:
        """Returns the number of the call, and whether it runs the compiled function."""
        call = self._calls
        self._calls += 1
        return call, call % 2 == 1

    def timed(self, call: int, seconds: float) -> bool:
        """Records the time of a call; returns True once, when the trial is decided."""
        if call > 1:  # the first call of each function loads what it needs
            self._seconds[call % 2].append(seconds)
        plain, compiled = self._seconds
        if self.winner is not None or min(len(plain), len(compiled)) < TIMED_CALLS:
            return False
        self.winner = median(compiled) < median(plain)
        return True


class Launch(enum.Enum):
    """How the device part of a segment runs."""

    EAGER = enum.auto()
    WATCHED = enum.auto()  # eagerly, keeping what is copied to the device
    CAPTURE = enum.auto()
    REPLAY = enum.auto()


class CaptureTiers:
    """The tiers of a segment: each input signature runs eagerly during warm-up, is captured, and then replayed."""

    def __init__(self) -> None:
        self._runs: dict[Hashable, int] = {}
        self._captured: set[Hashable] = set()
        self._version = 0
        self.failed = False

    def clusters_changed(self, version: int) -> bool:
        """Drops all captures if clusters run other functions now; returns whether they do."""
        if version == self._version:
            return False
        self._version = version
        self._runs.clear()
        self._captured.clear()
        return True

    def called(self, signature: Hashable) -> tuple[Launch, bool]:
        """Returns how a call with an input signature runs, and whether older signatures are forgotten.

        None means that the inputs cannot be captured.
        """
        if self.failed or signature is None:
            return Launch.EAGER, False
        if signature in self._captured:
            return Launch.REPLAY, False
        if len(self._captured) == MAX_CAPTURES:
            return Launch.EAGER, False
        forgets = len(self._runs) == REMEMBERED
        if forgets:
            self._runs.clear()
        runs = self._runs[signature] = self._runs.get(signature, 0) + 1
        if runs < WARM_UP_RUNS:
            return Launch.EAGER, forgets
        return (Launch.WATCHED if runs == WARM_UP_RUNS else Launch.CAPTURE), forgets

    def captured(self, signature: Hashable) -> None:
        self._captured.add(signature)

    def postponed(self, signature: Hashable) -> None:
        """Starts the warm-up again: a buffer was referenced elsewhere at the moment of the capture."""
        self._runs[signature] = 0
