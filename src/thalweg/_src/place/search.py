"""Search: a placer that tries many choices on the simulator, and what all that try choices share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from thalweg._src.place.groups import Group, Together
from thalweg._src.place.placers import best_single, critical_path, greedy, placer
from thalweg._src.place.problem import Choice, Problem
from thalweg._src.place.simulate import simulate

# Bounds are counted in simulated nodes, not in seconds, so that the same graph always gets the same placement. A
# simulated node takes a few microseconds.
BUDGET = 500_000
_MOST_TRIALS = 2_000
_FEWEST_TRIALS = 40
_LEVELS = (4, 16, 64)  # numbers of clusters that are moved at once

Homes = tuple[int, ...]
Time = Callable[[Choice], float]


class Trials:
    """Counts and remembers the choices that were tried, simulated or measured; knows the best."""

    def __init__(self, problem: Problem, budget: int, time: Time | None = None) -> None:
        self.problem = problem
        self.left = budget
        if time is None:
            self.left = min(_MOST_TRIALS, max(_FEWEST_TRIALS, budget // max(len(problem.units), 1)))
        self._time = time
        self.known: dict[Homes, tuple[float, int]] = {}
        self.best: Homes = tuple(problem.preferred)
        self.best_cost: tuple[float, int] = (math.inf, 0)

    def cost(self, homes: Homes) -> tuple[float, int]:
        """Returns time and bytes sent; of two equal times the one that sends less is better."""
        if homes not in self.known:
            self.left -= 1
            if self._time is not None:
                cost = (self._time(self.problem.choice(homes)), 0)
            else:
                schedule = simulate(self.problem, homes)
                cost = (schedule.finish, schedule.transferred)
            self.known[homes] = cost
            if cost < self.best_cost:
                self.best, self.best_cost = homes, cost
        return self.known[homes]


@placer("local_search")
def local_search(problem: Problem, seed: int = 0, budget: int = BUDGET) -> Choice:
    """Starts from the best of the quick placers and moves groups, or clusters of them, as long as the step gets faster.

    Where all choices can be tried within the budget they are, and the result is the optimum.
    """
    trials = Trials(problem, budget)
    movable = [group.index for group in problem.groups]
    if math.prod(len(problem.feasible[index]) for index in movable) <= trials.left:
        for places in itertools.product(*[problem.feasible[index] for index in movable]):
            homes = list(problem.preferred)
            for index, place in zip(movable, places):
                homes[index] = place
            trials.cost(tuple(homes))
        return problem.choice(trials.best)
    for start in (best_single(problem)[1], greedy(problem), critical_path(problem)):
        trials.cost(tuple(problem.homes(start)))
    sets = [[index] for index in movable]
    for level in _LEVELS:
        sets += [cluster for cluster in clusters(problem, level) if len(cluster) > 1]
    _climb(trials, sets, np.random.default_rng(seed))
    return problem.choice(trials.best)


def _climb(trials: Trials, sets: Sequence[Sequence[int]], rng: np.random.Generator) -> None:
    """Makes random moves; takes those that do not slow the step, and now and then, early on, one that does a little."""
    problem = trials.problem
    here, cost = trials.best, trials.best_cost
    total, attempts = trials.left, 4 * trials.left
    weights = np.sqrt([len(members) for members in sets])
    weights /= weights.sum()
    while trials.left > 0 and attempts > 0:
        attempts -= 1  # moves to what was tried before cost nothing, and must end too
        members = sets[rng.choice(len(sets), p=weights)]
        place = int(rng.integers(len(problem.devices)))
        there = moved(problem, here, members, place)
        if there == here:
            continue
        found = trials.cost(there)
        warmth = 0.02 * max(trials.left / total - 0.3, 0.0)
        if found <= cost or rng.random() < math.exp(-(found[0] / cost[0] - 1) / warmth if warmth else -math.inf):
            here, cost = there, found
        elif rng.random() < 0.02:
            here, cost = trials.best, trials.best_cost


def moved(problem: Problem, homes: Sequence[int], members: Sequence[int], place: int) -> Homes:
    """Returns where all groups are when those of some that can go to a device have gone there."""
    result = list(homes)
    for index in members:
        if place in problem.feasible[index]:
            result[index] = place
    return tuple(result)


def clusters(problem: Problem, count: int) -> list[list[int]]:
    """Returns the movable groups in about `count` clusters: those that exchange most are joined, if they are small."""
    together, work = Together(), problem.work()
    most = 1.5 * sum(work[group] for group in problem.groups) / count
    size = {group: work[group] for group in problem.groups}
    left = len(problem.groups)
    pairs = [
        (-traffic, one.index, other.index)
        for one, others in problem.neighbours().items()
        for other, traffic in others.items()
        if one.index < other.index and one in size and other in size
    ]
    for _, a, b in sorted(pairs):
        one, other = together.leader(problem.all_groups[a]), together.leader(problem.all_groups[b])
        if one is not other and left > count and _sum(size, one, other) <= most:
            total = _sum(size, one, other)
            together.join(one, other)
            size[other] = total  # type: ignore[index]
            left -= 1
    found: dict[object, list[int]] = {}
    for group in problem.groups:
        found.setdefault(together.leader(group), []).append(group.index)
    return list(found.values())


def _sum(size: dict[Group, float], one: object, other: object) -> float:
    return size[one] + size[other]  # type: ignore[index]
