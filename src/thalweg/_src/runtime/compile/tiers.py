"""Execution tiers as a pure state machine: interpreted, generated, compiled in the background, trial, CUDA graph.

Events go in (a call, seconds, a library, a capture), actions come out. `Tiers` is the machine of one step signature,
composed of one for the step, one per compiled cluster and layout, and one per segment. Several threads may run the
step, so each event takes the machine's one lock; it starts no thread and reads no clock.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Hashable
from statistics import median

WARM_UP_RUNS = 3  # of a signature before it is captured
MAX_CAPTURES = 4  # per segment; each keeps memory of its own
REMEMBERED = 256  # signatures that are counted; one that recurs only after so many others is rare
TIMED_CALLS = 5  # of each function before the faster one is kept
MAX_LAYOUTS = 4  # that a cluster is compiled for; with more, its layouts change too often


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
        self.spent = 0.0  # seconds

    def called(self) -> Tier:
        """Returns how the step runs now."""
        tier = self._tier
        self._tier = Tier.GENERATE if tier is Tier.INTERPRET else Tier.RUN
        return tier

    def is_hot(self) -> bool:
        """Returns whether the step has proved hot and is to be compiled; True once."""
        compiles, self.compiles = self.compiles, False
        return compiles


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


class Stale(enum.Enum):
    """What a segment has to drop."""

    NOTHING = enum.auto()
    COPIES = enum.auto()  # those kept for later captures, whose signatures are no longer counted
    ALL = enum.auto()  # captures too, since clusters run other functions


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

        A signature of None stands for inputs that cannot be captured.
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


class Tiers:
    """All tiers of one step signature: each method is an event, and returns the action.

    A cluster, a layout, a segment and a signature may be any hashable objects.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.step = StepTiers(is_large=False, compiles=False)  # which the owner sets before the first event
        self._layouts: dict[Hashable, set[Hashable]] = {}
        self._trials: dict[tuple[Hashable, Hashable], TrialTiers] = {}
        self._captures: dict[Hashable, CaptureTiers] = {}
        self._undecided = 0  # trials
        self._version = 0  # increases whenever a cluster changes its function

    def step_called(self) -> Tier:
        """Returns how the step runs now."""
        with self._lock:
            return self.step.called()

    def step_ran(self, seconds: float, threshold: float) -> bool:
        """Returns whether the step is to be compiled in the background; True once."""
        self.step.spent += seconds  # without the lock: threads may lose each other's time, and that harms nothing
        if self.step.spent <= threshold:
            return False
        with self._lock:
            return self.step.is_hot()

    def layout_seen(self, cluster: Hashable, layout: Hashable) -> bool:
        """Returns whether a cluster is to be compiled for a layout of its inputs; True once per layout."""
        with self._lock:
            layouts = self._layouts.setdefault(cluster, set())
            if layout in layouts or len(layouts) == MAX_LAYOUTS:
                return False
            layouts.add(layout)
            return True

    def library_arrived(self, cluster: Hashable, layout: Hashable) -> None:
        """Begins the trial of a compiled function; no segment is captured during trials."""
        with self._lock:
            self._trials[cluster, layout] = TrialTiers()
            self._undecided += 1

    def trial_called(self, cluster: Hashable, layout: Hashable) -> tuple[int, bool]:
        """Returns the number of a call, and whether it runs the compiled function."""
        with self._lock:
            return self._trials[cluster, layout].called()

    def trial_timed(self, cluster: Hashable, layout: Hashable, call: int, seconds: float) -> bool | None:
        """Returns, once, whether the compiled function is kept; None before and afterwards."""
        with self._lock:
            trial = self._trials[cluster, layout]
            if not trial.timed(call, seconds):
                return None
            self._undecided -= 1
            self._version += 1
            return trial.winner

    def segment_called(self, segment: Hashable, signature: Hashable) -> tuple[Launch, Stale]:
        """Returns how a segment runs with inputs of a signature, and what it has to drop before.

        A signature of None stands for inputs that cannot be captured.
        """
        with self._lock:
            capture = self._captures.setdefault(segment, CaptureTiers())
            stale = Stale.ALL if capture.clusters_changed(self._version) else Stale.NOTHING
            if self._undecided:
                return Launch.EAGER, stale
            launch, forgets = capture.called(signature)
            return launch, Stale.COPIES if forgets and stale is Stale.NOTHING else stale

    def is_eager(self, segment: Hashable) -> bool:
        """Returns whether a segment is never captured, since a capture of it failed."""
        capture = self._captures.get(segment)
        return capture is not None and capture.failed

    def segment_captured(self, segment: Hashable, signature: Hashable) -> None:
        """Replays the capture of a signature from now on."""
        with self._lock:
            self._captures[segment].captured(signature)

    def capture_postponed(self, segment: Hashable, signature: Hashable) -> None:
        """Starts the warm-up again: a buffer was referenced elsewhere at the moment of the capture."""
        with self._lock:
            self._captures[segment].postponed(signature)

    def capture_failed(self, segment: Hashable) -> None:
        """Runs a segment eagerly from now on."""
        with self._lock:
            self._captures[segment].failed = True
