"""Tiers of execution: interpreted, generated, compiled in the background, trial, CUDA graph; as pure state machines.

Events go in (a call, seconds, a library, a capture), actions come out. The machines hold no lock, no thread and no
clock: their owners feed them, under a lock where several threads run a step.
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
    """How the one function of a step runs next."""

    INTERPRET = enum.auto()  # a large program, which may never run again
    GENERATE = enum.auto()  # write and compile its Python function, then run that
    RUN = enum.auto()


class StepTiers:
    """Of one step signature: a large program is interpreted once; a hot one is compiled in the background."""

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
        """Counts the time of a run; True once, when the step has proved hot and shall be compiled."""
        self._spent += seconds
        if not self.compiles or self._spent <= threshold:
            return False
        self.compiles = False
        return True


class TrialTiers:
    """Of one cluster and layout: alternates between the plain and the compiled function until one has won."""

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
        """Takes the time of a call; True once, when the trial is decided."""
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
    """Of one segment: each signature of inputs runs eagerly while it warms up, is captured, and then replayed."""

    def __init__(self) -> None:
        self._runs: dict[Hashable, int] = {}
        self._captured: set[Hashable] = set()
        self._version = 0
        self.failed = False

    def clusters_changed(self, version: int) -> bool:
        """Drops all captures when clusters run other functions since; True if they do."""
        if version == self._version:
            return False
        self._version = version
        self._runs.clear()
        self._captured.clear()
        return True

    def called(self, signature: Hashable) -> tuple[Launch, bool]:
        """Returns how a call with inputs of a signature runs, and whether older signatures are forgotten.

        None stands for inputs that cannot be captured.
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
