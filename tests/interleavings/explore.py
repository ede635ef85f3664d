"""Runs a function under many schedules, and reports the first that fails so that it can be repeated.

explore(body, 300)              # 300 seeded schedules: random walks and random priorities, in turn
search(body, preemptions=2)     # all schedules with at most two preemptions
"""

import gc
import inspect
import random
import traceback
from functools import partial
from itertools import count

from tests import state_machines
from tests.interleavings.lines import tracer
from tests.interleavings.patches import Patches
from tests.interleavings.scheduler import START, Fault, Scheduler, describe, end_carriers
from tests.interleavings.strategies import Choices, Priorities, RandomWalk, Recorded, next_choices, parse

_LOG = 60  # entries of the log in a report
_COLLECT_EVERY = 200
_DEPTHS = (2, 3, 4)


class Settings:
    """What the options of pytest set: `--schedules N`, `--first-seed SEED` and `--schedule TEXT`."""

    schedules = None
    first_seed = 0
    schedule = None


class ScheduleFailed(AssertionError):
    """A schedule under which a test fails; `schedule` repeats it."""

    def __init__(self, text, schedule, error):
        super().__init__(text)
        self.schedule = schedule
        self.error = error


def explore(body, schedules, *, early=False, lines=(), max_points=20_000, fresh_threads=False, allowed=()):
    """Calls a function under seeded schedules; returns how many there were.

    body: may take a `random.Random`, of the seed of the schedule, to choose its inputs
    early: whether deadlines may come while threads could still run
    lines: modules, or files, of which each line is a point
    fresh_threads: whether the thread-locals of all threads are empty at first, which costs a thread of the system each
    allowed: classes of errors with which the function may end
    """
    __tracebackhide__ = True
    options = {"lines": lines, "max_points": max_points, "fresh_threads": fresh_threads, "allowed": allowed}
    if Settings.schedule is not None:
        with _running() as patches:
            strategy = parse(Settings.schedule)
            error = _attempt(body, strategy, patches, options).error
            if error is not None:
                raise _failed(body, strategy, error, patches, options)
        return 1
    points, total = 20, Settings.schedules or schedules
    with _running() as patches:
        for number in range(total):
            seed = Settings.first_seed + number
            if number % 2:
                strategy = Priorities(seed, _DEPTHS[number // 2 % len(_DEPTHS)], points, early)
            else:
                strategy = RandomWalk(seed, early)
            outcome = _attempt(body, strategy, patches, options)
            points = max(points, outcome.points)
            if outcome.error is not None:
                raise _failed(body, strategy, outcome.error, patches, options)
            if number % _COLLECT_EVERY == 0:
                gc.collect()
    return total


def search(body, preemptions, *, lines=(), max_points=20_000, most=100_000):
    """Calls a function under all schedules with so many preemptions at most; returns how many there were."""
    __tracebackhide__ = True
    options = {"lines": lines, "max_points": max_points, "fresh_threads": False, "allowed": ()}
    strategy = Choices() if Settings.schedule is None else parse(Settings.schedule)
    with _running() as patches:
        for number in count(1):
            outcome = _attempt(body, strategy, patches, options)
            if outcome.error is not None:
                raise _failed(body, strategy, outcome.error, patches, options)
            choices = next_choices(strategy.choices, strategy.options, preemptions)
            if choices is None or Settings.schedule is not None:
                return number
            strategy = Choices(choices)
            assert number < most, f"there are more than {most} schedules with {preemptions} preemptions"
            if number % _COLLECT_EVERY == 0:
                gc.collect()


class _running:
    """Prepares the process for schedules: names are replaced, and nothing is collected at moments of chance."""

    def __enter__(self):
        self._collects = gc.isenabled()
        gc.collect()
        gc.freeze()  # a collection between schedules looks at what they made alone
        gc.disable()
        self._patches = Patches()
        return self._patches.__enter__()

    def __exit__(self, *exc):
        self._patches.__exit__(*exc)
        if self._collects:
            gc.enable()
        end_carriers()


class _Outcome:
    """How a schedule ended: the error, and the scheduler's log."""

    def __init__(self, scheduler, error):
        self.points = scheduler.points
        self.log = scheduler.log
        self.error = error


def _attempt(body, strategy, patches, options, keeps_log=False):
    trace = tracer(options["lines"]) if options["lines"] else None
    scheduler = Scheduler(strategy, options["max_points"], trace, keeps_log, options["fresh_threads"])
    patches.begin()
    takes_random = len(inspect.signature(body).parameters)
    try:
        scheduler.run(partial(body, random.Random(strategy.seed)) if takes_random else body)
    except options["allowed"]:
        pass
    except Exception as error:
        return _Outcome(scheduler, error)
    return _Outcome(scheduler, None)


def _failed(body, strategy, error, patches, options):
    """Runs a schedule that failed once more, with a log, and returns the error that shows it."""
    schedule = str(strategy)
    recorded = Recorded(parse(schedule))
    state_machines.forget()
    outcome = _attempt(body, recorded, patches, options, keeps_log=True)
    is_same = type(outcome.error) is type(error)
    shown = outcome.error if is_same else error
    lines = ["".join(traceback.format_exception(shown)).rstrip() if not isinstance(shown, Fault) else str(shown)]
    lines += ["", f"repeat with: --schedule {schedule}"]
    if recorded.is_replayable and not schedule.startswith("choices:"):
        lines.append(f"         or: --schedule {Choices(recorded.choices, recorded.seed)}")
    if not is_same:
        lines.append(
            f"the same schedule then gave {outcome.error!r}: not only the schedule decides; set PYTHONHASHSEED"
        )
    entries = outcome.log[-_LOG:]
    lines += ["", f"the last {len(entries)} of {len(outcome.log)} points (time, thread, what it did):"]
    lines += [
        f"  {at - START:9.3f}  {number:2}  {describe(action, subject)}" for at, number, action, subject in entries
    ]
    if events := state_machines.report():
        lines += ["", "events of state machines:", events]
    return ScheduleFailed("\n".join(lines), schedule, error)
