"""Placers: functions from a placement problem to a device for each group, in a registry open to users' own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from thalweg._src.base import errors
from thalweg._src.base.export import export
from thalweg._src.base.registry import Registry
from thalweg._src.compiler.place.groups import Group
from thalweg._src.compiler.place.list_scheduling import critical_path_assignment, greedy_assignment
from thalweg._src.compiler.place.problem import Choice, Problem
from thalweg._src.compiler.place.saved import follow, load_placement
from thalweg._src.compiler.place.simulate import Schedule
from thalweg._src.graph.source_line import made_at

Placer = Callable[[Problem], Mapping[Group, str]]
Function = TypeVar("Function", bound=Placer)
DEFAULT = "first"
# A choice must take at most this fraction of the simulated time of the best single device, which is used otherwise. Of
# 35 placements of three graphs of bench/placers.py, simulated and measured relative to one device, nine in ten were
# slower than simulated by at most a quarter, and the worst by 30 percent.
WORTH = 0.8


@dataclass(frozen=True, slots=True)
class Entry:
    """A placer, and whether its choice must be clearly faster than the best single device."""

    place: Placer
    compared: bool


PLACERS: Registry[Entry] = Registry("placer")


@export("register_placer")
def register_placer(name: str, function: Placer, compared: bool = True) -> Placer:
    """Registers a placer under a name for `config.experimental.placer`.

    It takes a Problem and returns a device of `group.feasible` for each group of `problem.groups`.
    compared: whether the best single device is used instead unless the simulated choice is faster by a fifth

    Args:
        name: Name of the placer in `config.experimental.placer`.
        function: Function from a Problem to a device for each group.
    """
    PLACERS.register(name, Entry(function, compared))
    return function


@export("placer")
def placer(name: str, compared: bool = True) -> Callable[[Function], Function]:
    """Registers the decorated function as a placer.

    Args:
        name: Name of the placer in `config.experimental.placer`.
    """

    def register(function: Function) -> Function:
        register_placer(name, function, compared)
        return function

    return register


@dataclass(slots=True)
class Decision:
    """The choice of a placer, its simulated schedule, and the reason for it."""

    choice: Choice
    schedule: Schedule
    why: str
    note: str = ""


def decide(problem: Problem, name: str) -> Decision:
    """Runs a placer and checks its result; falls back to the best single device unless the result is clearly faster."""
    entry = lookup(name)
    choice = checked(problem, entry.place(problem), name)
    schedule = problem.simulate(choice)
    if entry.compared:
        device, alone, one = best_single(problem)
        if schedule.finish > WORTH * one.finish and choice != alone:
            figures = f"{1e3 * schedule.finish:.3f} ms simulated against {1e3 * one.finish:.3f} ms on {device} only"
            return Decision(alone, one, "best single device", f"{name}: {figures}, which was used")
    return Decision(choice, schedule, name)


def lookup(name: str) -> Entry:
    """Returns the placer of a name, which may be the file of a placement; the error lists the registered names."""
    if name.endswith(".json"):
        placement = load_placement(name)
        return Entry(lambda problem: follow(problem, placement), compared=False)
    entry = PLACERS.get(name)
    if entry is None:
        text = errors.describe(
            f"no placer is registered under {name!r}",
            expected=f"one of {', '.join(PLACERS)}, or a file of a placement (.json)",
            hint="thalweg._src.compiler.place.placers.register_placer adds your own",
        )
        raise errors.invalid(text)
    return entry


def checked(problem: Problem, answer: Any, name: str) -> Choice:
    """Returns the result of a placer if it has a feasible device for every group; raises otherwise."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"placer {name!r}: expected a dict of groups and devices, received {type(answer).__name__}")
    choice: Choice = {}
    for group in problem.groups:
        device = answer.get(group)
        if device not in group.feasible:
            node = group.nodes[0]
            text = errors.describe(
                f"Placer {name!r} puts {group.name!r} on an infeasible device",
                expected=f"one of {', '.join(group.feasible)}",
                received="no device" if device is None else repr(device),
                made_at=made_at(node.stack),
            )
            raise errors.InvalidArgumentError(node, node, text)
        choice[group] = device
    all_groups = set(problem.all_groups)
    for group, device in answer.items():
        if group not in all_groups:
            raise TypeError(f"placer {name!r}: expected groups of the problem as keys, received {group!r}")
        if device not in group.feasible:
            raise ValueError(f"placer {name!r}: {group.name!r} is fixed on {group.feasible[0]}, not {device!r}")
    return choice


def best_single(problem: Problem) -> tuple[str, Choice, Schedule]:
    """Returns the device on which the whole step is fastest, as far as it is feasible there."""
    best: tuple[str, Choice, Schedule] | None = None
    tried: set[tuple[str, ...]] = set()
    for device in sorted(problem.devices, key=lambda name: ":GPU:" not in name):  # on a tie, the best device type
        choice = problem.single(device)
        if tuple(choice.values()) in tried:
            continue
        tried.add(tuple(choice.values()))
        schedule = problem.simulate(choice)
        if best is None or schedule.finish < best[2].finish:
            best = (device, choice, schedule)
    assert best is not None, "a session has devices"
    return best


@placer("first", compared=False)
def first(problem: Problem) -> Choice:
    """Takes the first device of the best type for each group."""
    return {group: group.preferred for group in problem.groups}


@placer("single")
def single(problem: Problem) -> Choice:
    """Takes the one device on which the whole step is fastest."""
    return best_single(problem)[1]


@placer("round_robin", compared=False)
def round_robin(problem: Problem) -> Choice:
    """Assigns groups to their feasible devices in rotation: a baseline for the other placers."""
    return {group: group.feasible[index % len(group.feasible)] for index, group in enumerate(problem.groups)}


@placer("greedy")
def greedy(problem: Problem) -> Choice:
    """List scheduling in ready order: simulates the step and puts each node where it would finish first."""
    return problem.choice(greedy_assignment(problem))


@placer("critical_path")
def critical_path(problem: Problem) -> Choice:
    """List scheduling by critical path (HEFT): nodes with the longest path to the end of the step are placed first."""
    return problem.choice(critical_path_assignment(problem))
