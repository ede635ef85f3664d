"""Placers: functions from a problem to a device for each group; users register their own beside these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from thalweg._src import errors
from thalweg._src.export import export
from thalweg._src.graph.source_line import made_at
from thalweg._src.place.groups import Group
from thalweg._src.place.list_scheduling import critical_path_homes, greedy_homes
from thalweg._src.place.problem import Choice, Problem
from thalweg._src.place.saved import follow, load_placement
from thalweg._src.place.simulate import Schedule
from thalweg._src.registry import Registry

Placer = Callable[[Problem], Mapping[Group, str]]
Function = TypeVar("Function", bound=Placer)
DEFAULT = "first"
# A choice must take at most this part of the best single device's time on paper, or it gives way to that. Of 35
# placements of three graphs of bench/placers.py, compared with one device on paper and measured, nine of ten were worse
# than foreseen by at most a quarter, and the worst by 30 percent.
WORTH = 0.8


@dataclass(frozen=True, slots=True)
class Entry:
    """A placer, and whether its choice gives way to one device unless it is clearly faster."""

    place: Placer
    compared: bool


PLACERS: Registry[Entry] = Registry("placer")


@export("register_placer")
def register_placer(name: str, function: Placer, compared: bool = True) -> Placer:
    """Makes a placer known to `config.experimental.placer`.

    It gets a Problem and returns a device of `group.feasible` for each group of `problem.groups`.
    compared: its choice is simulated, and the best single device taken unless the choice is faster by a fifth
    """
    PLACERS.register(name, Entry(function, compared))
    return function


@export("placer")
def placer(name: str, compared: bool = True) -> Callable[[Function], Function]:
    """Registers the decorated function as a placer."""

    def register(function: Function) -> Function:
        register_placer(name, function, compared)
        return function

    return register


@dataclass(slots=True)
class Decision:
    """What a placer chose, how the step runs with it, and why that was taken."""

    choice: Choice
    schedule: Schedule
    why: str
    note: str = ""


def decide(problem: Problem, name: str) -> Decision:
    """Asks a placer, checks what it says, and takes the best single device unless it is clearly slower."""
    entry = lookup(name)
    choice = checked(problem, entry.place(problem), name)
    schedule = problem.simulate(choice)
    if entry.compared:
        device, alone, one = best_single(problem)
        if schedule.finish > WORTH * one.finish and choice != alone:
            figures = f"{1e3 * schedule.finish:.3f} ms simulated against {1e3 * one.finish:.3f} ms on {device} alone"
            return Decision(alone, one, "best single device", f"{name}: {figures}, which was taken")
    return Decision(choice, schedule, name)


def lookup(name: str) -> Entry:
    """Returns the placer of a name, which may be the file of a placement; if there is none, says which there are."""
    if name.endswith(".json"):
        placement = load_placement(name)
        return Entry(lambda problem: follow(problem, placement), compared=False)
    entry = PLACERS.get(name)
    if entry is None:
        text = errors.describe(
            f"no placer is registered under {name!r}",
            expected=f"one of {', '.join(PLACERS)}, or a file of a placement (.json)",
            hint="thalweg._src.place.placers.register_placer adds your own",
        )
        raise errors.InvalidArgumentError(None, None, text)
    return entry


def checked(problem: Problem, answer: Any, name: str) -> Choice:
    """Returns a placer's answer if it has a feasible device for every group, and raises otherwise."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"placer {name!r}: expected a dict of groups and devices, received {type(answer).__name__}")
    choice: Choice = {}
    for group in problem.groups:
        device = answer.get(group)
        if device not in group.feasible:
            node = group.nodes[0]
            text = errors.describe(
                f"Placer {name!r} puts {group.name!r} where it cannot be",
                expected=f"one of {', '.join(group.feasible)}",
                received="no device" if device is None else repr(device),
                made_at=made_at(node.stack),
            )
            raise errors.InvalidArgumentError(node, node, text)
        choice[group] = device
    known = set(problem.all_groups)
    for group, device in answer.items():
        if group not in known:
            raise TypeError(f"placer {name!r}: expected groups of the problem as keys, received {group!r}")
        if device not in group.feasible:
            raise ValueError(f"placer {name!r}: {group.name!r} is decided: {group.feasible[0]}, not {device!r}")
    return choice


def best_single(problem: Problem) -> tuple[str, Choice, Schedule]:
    """Returns the device on which the whole step is fastest, as far as it can go there."""
    found: tuple[str, Choice, Schedule] | None = None
    tried: set[tuple[str, ...]] = set()
    for device in sorted(problem.devices, key=lambda name: ":GPU:" not in name):  # of equals the best kind
        choice = problem.single(device)
        if tuple(choice.values()) in tried:
            continue
        tried.add(tuple(choice.values()))
        schedule = problem.simulate(choice)
        if found is None or schedule.finish < found[2].finish:
            found = (device, choice, schedule)
    assert found is not None, "there are devices"
    return found


@placer("first", compared=False)
def first(problem: Problem) -> Choice:
    """Takes the first device of the best kind, group by group."""
    return {group: group.preferred for group in problem.groups}


@placer("single")
def single(problem: Problem) -> Choice:
    """Takes the one device on which the whole step is fastest."""
    return best_single(problem)[1]


@placer("round_robin", compared=False)
def round_robin(problem: Problem) -> Choice:
    """Deals the groups out, one after the other: what every other placer should beat."""
    return {group: group.feasible[turn % len(group.feasible)] for turn, group in enumerate(problem.groups)}


@placer("greedy")
def greedy(problem: Problem) -> Choice:
    """Simulates the step and puts each node, when it is ready, where it would end first."""
    return problem.choice(greedy_homes(problem))


@placer("critical_path")
def critical_path(problem: Problem) -> Choice:
    """Puts nodes where they end first, those with the longest way to the end of the step before all others."""
    return problem.choice(critical_path_homes(problem))
