"""Policy: a placer that learns by trying, on the simulator first and then, if it can, on the step itself.

For each cluster of groups it holds how much it likes each device, and learns by REINFORCE: choices are drawn, those
with short steps become likelier. What it has learned is kept as JSON and loaded in another process.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from thalweg._src.place.placers import best_single, critical_path, placer
from thalweg._src.place.problem import Choice, Problem
from thalweg._src.place.search import BUDGET, Homes, Trials, clusters, local_search, moved

Measure = Callable[[Choice], float]

_VERSION = 1
_BATCH = 12
_MEASURED_BATCH = 6
_MOVES = 3  # clusters that a measured choice moves away from the best one, about
_FINALISTS = 3
_CLEARLY = 0.93  # of one device's time, measured: less of a gain may be luck


@dataclass(slots=True)
class Policy:
    """What was learned about placing a step.

    devices: those that there were
    clusters: names of nodes that are moved together
    likes: for each cluster and device, the logarithm of how likely it goes there, but for a constant
    placement: the best that was seen, as the device of each node that could have been on several
    simulated, measured: seconds of its step; measured is 0 if only the simulator was asked
    """

    devices: tuple[str, ...]
    clusters: list[list[str]]
    likes: np.ndarray[Any, Any]
    placement: dict[str, str]
    simulated: float
    measured: float = 0.0

    def to_json(self) -> str:
        """Writes everything down as text."""
        content = {
            "version": _VERSION,
            "devices": list(self.devices),
            "simulated": self.simulated,
            "measured": self.measured,
            "placement": self.placement,
            "clusters": [
                {"nodes": nodes, "likes": [round(float(like), 4) for like in likes]}
                for nodes, likes in zip(self.clusters, self.likes)
            ],
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """Reads what `to_json` wrote; raises ValueError if it is something else."""
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise ValueError(f"version {content['version']!r} instead of {_VERSION}")
            devices = tuple(map(str, content["devices"]))
            likes = np.array([cluster["likes"] for cluster in content["clusters"]], float).reshape(-1, len(devices))
            nodes = [list(map(str, cluster["nodes"])) for cluster in content["clusters"]]
            placement = {str(name): str(device) for name, device in content["placement"].items()}
            return cls(devices, nodes, likes, placement, float(content["simulated"]), float(content["measured"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not the text of a policy: {error}") from None

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def learn(
    problem: Problem,
    measure: Measure | None = None,
    *,
    policy: Policy | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    clustered: int = 64,
    trials: int = 60,
    heats: int = 5,
) -> Policy:
    """Returns a policy that was rewarded for short simulated steps and, if there is a way, for short measured ones.

    measure: gives the seconds of a real step with some choice
    policy: what was learned before, to go on from
    budget, trials: how many nodes are simulated and how many choices measured
    heats: how often the best few are measured again
    """
    learner = _Learner(problem, clustered, policy, np.random.default_rng(seed))
    simulated = Trials(problem, budget)
    if problem.groups:
        learner.learn(simulated, _BATCH)
    best, seconds = simulated.best, 0.0
    if measure is not None and problem.groups:
        measured = Trials(problem, trials, measure)
        for choice in (critical_path(problem), local_search(problem, seed, budget)):
            measured.cost(tuple(problem.homes(choice)))
        measured.cost(best)
        learner.lean(measured.best)
        learner.learn(measured, _MEASURED_BATCH)
        best, seconds = _final(problem, measured, measure, heats)
    homes = problem.choice(best)
    placement = {node.name: home for group, home in homes.items() for node in group.nodes}
    names = [[node.name for i in members for node in problem.all_groups[i].nodes] for members in learner.sets]
    return Policy(problem.devices, names, learner.likes, placement, problem.time(homes), seconds)


def _final(problem: Problem, trials: Trials, measure: Measure, heats: int) -> tuple[Homes, float]:
    """Returns the fastest of the best few, measured again in turns; one device, unless it is slower by some percent.

    A single measurement of each would crown the luckiest. Whoever is faster is so at the median and at best.
    """
    alone = tuple(problem.homes(best_single(problem)[1]))
    known = trials.known
    finalists = list(dict.fromkeys([alone, *sorted(known, key=known.__getitem__)[:_FINALISTS]]))
    times: dict[Homes, list[float]] = {homes: [] for homes in finalists}
    for _ in range(heats):
        for homes, seconds in times.items():
            seconds.append(measure(problem.choice(homes)))
    medians = {homes: median(seconds) for homes, seconds in times.items()}
    best = min(medians, key=medians.__getitem__)
    faster = medians[best] < _CLEARLY * medians[alone] and min(times[best]) < _CLEARLY * min(times[alone])
    return (best, medians[best]) if faster else (alone, medians[alone])


class _Learner:
    """A softmax over devices for each cluster, and what rewards do to it."""

    def __init__(self, problem: Problem, count: int, policy: Policy | None, rng: np.random.Generator) -> None:
        self.problem = problem
        self.sets = clusters(problem, count)
        self._rng = rng
        device = best_single(problem)[0]
        self.likes = np.zeros((len(self.sets), len(problem.devices)))
        self.likes[:, problem.devices.index(device)] = 1.0  # where a step is good already, with few transfers
        if policy is not None:
            self._take_over(policy)

    def _take_over(self, policy: Policy) -> None:
        """Begins with what was learned: a cluster likes what most of its nodes liked before."""
        if policy.devices != self.problem.devices:
            raise ValueError(f"policy: learned for {policy.devices}, but there are {self.problem.devices}")
        before = {name: likes for names, likes in zip(policy.clusters, policy.likes) for name in names}
        for row, members in enumerate(self.sets):
            names = [node.name for index in members for node in self.problem.all_groups[index].nodes]
            known = [before[name] for name in names if name in before]
            if known:
                self.likes[row] = np.mean(known, axis=0)

    def lean(self, homes: Homes) -> None:
        """Likes some choice best from now on, with an open mind: what was liked so far may have been wrong."""
        chance = min(0.25, _MOVES / len(self.sets))
        most = math.log((1 - chance) / chance)
        for likes, members in zip(self.likes, self.sets):
            likes -= likes.max()
            np.clip(likes + most, 0.0, most / 2, out=likes)
            places = [homes[index] for index in members]
            likes[max(places, key=places.count)] = most

    def learn(self, trials: Trials, batch: int) -> None:
        """Draws choices and follows the gradient, until the trials are used up or the policy has made up its mind.

        Choices of a batch are compared with each other: their mean is the baseline.
        """
        places = len(self.problem.devices)
        trials.cost(tuple(self.problem.homes(best_single(self.problem)[1])))
        velocity = np.zeros_like(self.likes)
        rounds = 4 * max(trials.left, 0) // batch
        while trials.left > 0 and rounds > 0:
            rounds -= 1
            chances = np.exp(self.likes - self.likes.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            draws = (self._rng.random((batch, len(self.sets), 1)) > chances.cumsum(axis=1)[None]).sum(axis=2)
            draws = np.minimum(draws, places - 1)
            costs = np.array([trials.cost(self._assigned(draw))[0] for draw in draws])
            advantage = (costs.mean() - costs) / (costs.std() + 1e-12)
            gradient = (advantage[:, None, None] * (np.eye(places)[draws] - chances)).mean(axis=0)
            velocity = 0.9 * velocity + gradient
            self.likes = self.likes + 0.15 * velocity
            if chances.max(axis=1).min() > 0.999:
                break

    def _assigned(self, draw: Sequence[int]) -> Homes:
        homes = tuple(self.problem.preferred)
        for members, place in zip(self.sets, draw):
            homes = moved(self.problem, homes, members, int(place))
        return homes


@placer("learned")
def learned(
    problem: Problem, seed: int = 0, budget: int = BUDGET, clustered: int = 64, time: Measure | None = None
) -> Choice:
    """Learns by REINFORCE: a softmax policy for each cluster of groups, rewarded for short steps.

    time: takes the place of the simulator; then a smaller budget will do
    """
    learner = _Learner(problem, clustered, None, np.random.default_rng(seed))
    trials = Trials(problem, budget, time)
    learner.learn(trials, _BATCH)
    return problem.choice(trials.best)
