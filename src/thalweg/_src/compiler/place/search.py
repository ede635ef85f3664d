"""Local search: a placer that tries many choices in the simulator, and what all such placers share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from thalweg._src.compiler.place.groups import DisjointSets, Group
from thalweg._src.compiler.place.placers import best_single, critical_path, greedy, placer
from thalweg._src.compiler.place.problem import Choice, Problem
from thalweg._src.compiler.place.simulate import simulate

# Bounds count simulated nodes, not seconds, so that a graph always gets the same placement. Simulating one node takes
# a few microseconds.
BUDGET = 500_000
_MOST_TRIALS = 2_000
_FEWEST_TRIALS = 40
_LEVELS = (4, 16, 64)  # numbers of clusters that are moved as a whole

Assignment = tuple[int, ...]
Time = Callable[[Choice], float]


class Trials:
    """Counts and caches the choices that were simulated or measured, and keeps the best."""

    def __init__(self, problem: Problem, budget: int, time: Time | None = None) -> None:
        self.problem = problem
        self.left = budget
        if time is None:
            self.left = min(_MOST_TRIALS, max(_FEWEST_TRIALS, budget // max(len(problem.units), 1)))
        self._time = time
        self.measured: dict[Assignment, tuple[float, int]] = {}
        self.best: Assignment = tuple(problem.preferred)
        self.best_cost: tuple[float, int] = (math.inf, 0)

    def cost(self, assignment: Assignment) -> tuple[float, int]:
        """Returns time and bytes sent; on equal times the choice that sends less is better."""
        if assignment not in self.measured:
            self.left -= 1
            if self._time is not None:
                cost = (self._time(self.problem.choice(assignment)), 0)
            else:
                schedule = simulate(self.problem, assignment)
                cost = (schedule.finish, schedule.transferred)
            self.measured[assignment] = cost
            if cost < self.best_cost:
                self.best, self.best_cost = assignment, cost
        return self.measured[assignment]


@placer("local_search")
def local_search(problem: Problem, seed: int = 0, budget: int = BUDGET) -> Choice:
    """Starts from the best of the fast placers, then moves groups or clusters of groups while the step gets faster.

    If the budget allows for all choices, the search is exhaustive and the result is the optimum.
    """
    # Moving single groups alone cannot leave a local optimum in which neighbours hold each other: each of them would
    # add transfers. So clusters of groups that exchange many bytes move as a whole, at several scales.
    trials = Trials(problem, budget)
    movable = [group.index for group in problem.groups]
    if math.prod(len(problem.feasible[index]) for index in movable) <= trials.left:
        for places in itertools.product(*[problem.feasible[index] for index in movable]):
            assignment = list(problem.preferred)
            for index, place in zip(movable, places):
                assignment[index] = place
            trials.cost(tuple(assignment))
        return problem.choice(trials.best)
    for start in (best_single(problem)[1], greedy(problem), critical_path(problem)):
        trials.cost(tuple(problem.assignment(start)))
    sets = [[index] for index in movable]
    for level in _LEVELS:
        sets += [cluster for cluster in clusters(problem, level) if len(cluster) > 1]
    _anneal(trials, sets, np.random.default_rng(seed))
    return problem.choice(trials.best)


def _anneal(trials: Trials, sets: Sequence[Sequence[int]], rng: np.random.Generator) -> None:
    """Simulated annealing: accepts random moves that do not slow the step and, early on, slightly worse ones."""
    problem = trials.problem
    here, cost = trials.best, trials.best_cost
    total, attempts = trials.left, 4 * trials.left
    # Large clusters are drawn more often than single groups, but not in proportion, since their moves rarely pay. The
    # temperature is relative to the time of the step and falls to zero before the trials end: the rest is descent.
    weights = np.sqrt([len(members) for members in sets])
    weights /= weights.sum()
    while trials.left > 0 and attempts > 0:
        attempts -= 1  # cached choices cost no trial, but the loop must end
        members = sets[rng.choice(len(sets), p=weights)]
        place = int(rng.integers(len(problem.devices)))
        there = moved(problem, here, members, place)
        if there == here:
            continue
        trial_cost = trials.cost(there)
        temperature = 0.02 * max(trials.left / total - 0.3, 0.0)
        if trial_cost <= cost or rng.random() < math.exp(
            -(trial_cost[0] / cost[0] - 1) / temperature if temperature else -math.inf
        ):
            here, cost = there, trial_cost
        elif rng.random() < 0.02:
            here, cost = trials.best, trials.best_cost


def moved(problem: Problem, assignment: Sequence[int], members: Sequence[int], place: int) -> Assignment:
    """Returns an assignment with some groups moved to a device, where it is feasible."""
    result = list(assignment)
    for index in members:
        if place in problem.feasible[index]:
            result[index] = place
    return tuple(result)


def clusters(problem: Problem, count: int) -> list[list[int]]:
    """Partitions the movable groups into about `count` clusters, merging small ones that exchange most bytes."""
    # Agglomerative clustering: the pairs with most traffic first, as long as the merged cluster has no more than one
    # and a half times its share of the work, so that clusters can be balanced over devices.
    sets, work = DisjointSets(), problem.work()
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
        one, other = sets.leader(problem.all_groups[a]), sets.leader(problem.all_groups[b])
        if one is not other and left > count and _sum(size, one, other) <= most:
            total = _sum(size, one, other)
            sets.join(one, other)
            size[other] = total  # type: ignore[index]
            left -= 1
    groups_of: dict[object, list[int]] = {}
    for group in problem.groups:
        groups_of.setdefault(sets.leader(group), []).append(group.index)
    return list(groups_of.values())


def _sum(size: dict[Group, float], one: object, other: object) -> float:
    return size[one] + size[other]  # type: ignore[index]
