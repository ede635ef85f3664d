"""REINFORCE: a placer that learns a softmax policy by trial, first in the simulator and then on the real step.

For each cluster of groups the policy holds one logit per device. A batch of placements is sampled, and the policy
gradient makes those with shorter steps more likely: the advantage of a sample is its time relative to the mean of its
batch, which serves as baseline. A policy is saved as JSON and can be loaded in another process.
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

from thalweg._src.compiler.place.placers import best_single, critical_path, placer
from thalweg._src.compiler.place.problem import Choice, Problem
from thalweg._src.compiler.place.search import BUDGET, Assignment, Trials, clusters, local_search, moved

Measure = Callable[[Choice], float]

_VERSION = 2
_BATCH = 12
_MEASURED_BATCH = 6
_MOVES = 3  # clusters by which a measured sample differs from the best placement, on average
_FINALISTS = 3
_CLEARLY = 0.93  # of one device's measured time: a smaller gain may be noise


@dataclass(slots=True)
class Policy:
    """A learned policy for placing a step.

    devices: the devices that the policy chooses from
    clusters: names of the nodes that are moved together
    logits: of the softmax over devices, for each cluster
    placement: the best placement found, as the device of each node with more than one feasible device
    simulated, measured: seconds of its step; measured is 0 if only the simulator was used
    """

    devices: tuple[str, ...]
    clusters: list[list[str]]
    logits: np.ndarray[Any, Any]
    placement: dict[str, str]
    simulated: float
    measured: float = 0.0

    def to_json(self) -> str:
        """Returns the policy as JSON."""
        content = {
            "version": _VERSION,
            "devices": list(self.devices),
            "simulated": self.simulated,
            "measured": self.measured,
            "placement": self.placement,
            "clusters": [
                {"nodes": nodes, "logits": [round(float(logit), 4) for logit in logits]}
                for nodes, logits in zip(self.clusters, self.logits)
            ],
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """Parses the result of `to_json`; raises ValueError if the text is malformed."""
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise ValueError(f"version {content['version']!r} instead of {_VERSION}")
            devices = tuple(map(str, content["devices"]))
            logits = np.array([cluster["logits"] for cluster in content["clusters"]], float).reshape(-1, len(devices))
            nodes = [list(map(str, cluster["nodes"])) for cluster in content["clusters"]]
            placement = {str(name): str(device) for name, device in content["placement"].items()}
            return cls(devices, nodes, logits, placement, float(content["simulated"]), float(content["measured"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not a policy: {error}") from None

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
    """Trains a policy on simulated step times and, if there is a function to measure them, on real ones.

    measure: returns the seconds of a real step with a choice
    policy: an earlier policy to continue from
    budget, trials: how many nodes are simulated, and how many choices are measured
    heats: how often the best few are measured again
    """
    learner = _Learner(problem, clustered, policy, np.random.default_rng(seed))
    simulated = Trials(problem, budget)
    if problem.groups:
        learner.learn(simulated, _BATCH)
    best, seconds = simulated.best, 0.0
    if measure is not None and problem.groups:
        # The simulator is wrong in ways that a search exploits, and a real step is too slow for many trials. So the
        # policy learns in the simulator, is centred on the best of a few measured placements, and continues on real
        # steps.
        measured = Trials(problem, trials, measure)
        for start in (critical_path(problem), local_search(problem, seed, budget)):
            measured.cost(tuple(problem.assignment(start)))
        measured.cost(best)
        learner.center_on(measured.best)
        learner.learn(measured, _MEASURED_BATCH)
        best, seconds = _final(problem, measured, measure, heats)
    choice = problem.choice(best)
    placement = {node.name: device for group, device in choice.items() for node in group.nodes}
    names = [[node.name for i in members for node in problem.all_groups[i].nodes] for members in learner.sets]
    return Policy(problem.devices, names, learner.logits, placement, problem.time(choice), seconds)


def _final(problem: Problem, trials: Trials, measure: Measure, heats: int) -> tuple[Assignment, float]:
    """Returns the fastest of the best few, measured again in rotation, or one device unless that is clearly slower.

    With a single measurement of each, noise would choose the winner. So it must be faster in the median and at best.
    """
    alone = tuple(problem.assignment(best_single(problem)[1]))
    measured = trials.measured
    finalists = list(dict.fromkeys([alone, *sorted(measured, key=measured.__getitem__)[:_FINALISTS]]))
    times: dict[Assignment, list[float]] = {assignment: [] for assignment in finalists}
    for _ in range(heats):
        for assignment, seconds in times.items():
            seconds.append(measure(problem.choice(assignment)))
    medians = {assignment: median(seconds) for assignment, seconds in times.items()}
    best = min(medians, key=medians.__getitem__)
    faster = medians[best] < _CLEARLY * medians[alone] and min(times[best]) < _CLEARLY * min(times[alone])
    return (best, medians[best]) if faster else (alone, medians[alone])


class _Learner:
    """The logits of a softmax over devices for each cluster, and their policy-gradient updates."""

    def __init__(self, problem: Problem, count: int, policy: Policy | None, rng: np.random.Generator) -> None:
        self.problem = problem
        self.sets = clusters(problem, count)
        self._rng = rng
        device = best_single(problem)[0]
        self.logits = np.zeros((len(self.sets), len(problem.devices)))
        self.logits[:, problem.devices.index(device)] = 1.0  # a good start, with few transfers
        if policy is not None:
            self._initialize(policy)

    def _initialize(self, policy: Policy) -> None:
        """Initializes the logits of each cluster with the mean logits of its nodes in an earlier policy."""
        if policy.devices != self.problem.devices:
            raise ValueError(f"policy: learned for {policy.devices}, but the devices are {self.problem.devices}")
        before = {name: logits for names, logits in zip(policy.clusters, policy.logits) for name in names}
        for row, members in enumerate(self.sets):
            names = [node.name for index in members for node in self.problem.all_groups[index].nodes]
            rows = [before[name] for name in names if name in before]
            if rows:
                self.logits[row] = np.mean(rows, axis=0)

    def center_on(self, assignment: Assignment) -> None:
        """Centres the distribution on a placement, but keeps entropy: the simulator may have been wrong."""
        chance = min(0.25, _MOVES / len(self.sets))
        most = math.log((1 - chance) / chance)
        for logits, members in zip(self.logits, self.sets):
            logits -= logits.max()
            np.clip(logits + most, 0.0, most / 2, out=logits)
            places = [assignment[index] for index in members]
            logits[max(places, key=places.count)] = most

    def learn(self, trials: Trials, batch: int) -> None:
        """Samples placements and follows the policy gradient until the trials are used up or the policy has converged.

        The mean cost of a batch is the baseline of its samples.
        """
        places = len(self.problem.devices)
        trials.cost(tuple(self.problem.assignment(best_single(self.problem)[1])))
        velocity = np.zeros_like(self.logits)
        rounds = 4 * max(trials.left, 0) // batch
        while trials.left > 0 and rounds > 0:
            rounds -= 1
            # REINFORCE: the gradient of log p(sample) is onehot - probabilities, weighted by how much faster the sample
            # is than its batch. Normalized by the deviation of the batch, the step size does not depend on the unit of
            # time.
            probabilities = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
            probabilities /= probabilities.sum(axis=1, keepdims=True)
            draws = (self._rng.random((batch, len(self.sets), 1)) > probabilities.cumsum(axis=1)[None]).sum(axis=2)
            draws = np.minimum(draws, places - 1)
            costs = np.array([trials.cost(self._assigned(draw))[0] for draw in draws])
            advantage = (costs.mean() - costs) / (costs.std() + 1e-12)
            gradient = (advantage[:, None, None] * (np.eye(places)[draws] - probabilities)).mean(axis=0)
            velocity = 0.9 * velocity + gradient
            self.logits = self.logits + 0.15 * velocity
            if probabilities.max(axis=1).min() > 0.999:
                break

    def _assigned(self, draw: Sequence[int]) -> Assignment:
        assignment = tuple(self.problem.preferred)
        for members, place in zip(self.sets, draw):
            assignment = moved(self.problem, assignment, members, int(place))
        return assignment


@placer("learned")
def learned(
    problem: Problem, seed: int = 0, budget: int = BUDGET, clustered: int = 64, time: Measure | None = None
) -> Choice:
    """Trains a REINFORCE policy with a softmax for each cluster of groups, rewarded for short steps.

    time: used instead of the simulator, with a smaller budget
    """
    learner = _Learner(problem, clustered, None, np.random.default_rng(seed))
    trials = Trials(problem, budget, time)
    learner.learn(trials, _BATCH)
    return problem.choice(trials.best)
