"""Simulation of failures: the share of time that is left for training."""

from __future__ import annotations

import heapq

import numpy as np

from thalweg._src.tools.simulate.scenario import Failures, Scenario

_FAILURES = 20_000


def effective_time(scenario: Scenario, failures: Failures, seed: int = 0, number: int = _FAILURES) -> float:
    """Returns the share of the time of an undisturbed job that training progresses at, simulated failure by failure.

    A lost parameter server, or a lost member of an all-reduce, costs detection, recovery, and all progress since the
    last checkpoint. A lost worker costs its own share in asynchronous mode. In synchronous mode all wait for it, unless
    there is a backup worker in its place.
    """
    random = np.random.default_rng(seed)
    workers = scenario.workers + scenario.backups
    with_state = workers if scenario.mode == "all_reduce" else len(scenario.shards)
    others = 0 if scenario.mode == "all_reduce" else workers
    tasks = with_state + others
    gaps = random.exponential(failures.between / tasks, number)
    is_state = random.random(number) * tasks < with_state
    down = failures.detection + failures.recovery
    saving = failures.saving / (failures.interval + failures.saving)
    progress = since = now = 0.0  # seconds of training that count; those of them after the last checkpoint
    missing: list[float] = []  # when lost workers work again
    for gap, lost_state in zip(gaps.tolist(), is_state.tolist()):
        end = now + gap
        while now < end:
            until = min(end, missing[0]) if missing else end
            trained = (until - now) * (1 - saving) * _rate(scenario, len(missing))
            progress, since = progress + trained, since + trained
            now = until
            if missing and missing[0] <= now:
                heapq.heappop(missing)
        since %= failures.interval
        if lost_state:
            progress, since = progress - since, 0.0
            now += down
            missing = [back_at for back_at in missing if back_at > now]
        elif len(missing) < workers:
            heapq.heappush(missing, now + down)
    return progress / now


def _rate(scenario: Scenario, missing: int) -> float:
    if scenario.mode == "async":
        return 1 - missing / scenario.workers
    return 1.0 if missing <= scenario.backups else 0.0
