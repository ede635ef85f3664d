"""Simulation of synchronous training by all-reduce in a ring, or in rings within hosts and between them."""

from __future__ import annotations

import math

import numpy as np

from thalweg._src.tools.simulate.result import Result
from thalweg._src.tools.simulate.scenario import Scenario, Times


def ring_seconds(size: float, members: int, latency: float, bandwidth: float) -> float:
    """Returns the time of an all-reduce: 2 (n - 1) messages, one after another, of 1/n of the bytes each."""
    return 2 * (members - 1) * (latency + size / members / bandwidth)


def reduce_seconds(scenario: Scenario, size: float) -> float:
    """Returns the time of an all-reduce of some bytes, within hosts first if several workers share one."""
    local = min(scenario.per_host, scenario.workers)
    hosts = math.ceil(scenario.workers / local)
    # Each of the local ring's members holds a part after half of its messages, which it reduces with its peers.
    within = ring_seconds(size, local, 0.0, scenario.local_bandwidth)
    return within + ring_seconds(size, hosts, scenario.link.latency, scenario.link.bandwidth)


def simulate_all_reduce(scenario: Scenario, steps: int, seed: int) -> Result:
    """Simulates synchronous steps whose gradients are reduced bucket by bucket during the backward pass."""
    random = np.random.default_rng(seed)
    reduce = reduce_seconds(scenario, scenario.bytes / scenario.buckets)
    seconds = np.empty(steps)
    for step in range(steps):
        compute = _share_cores(scenario.compute.draw(random, scenario.workers), scenario.host_cores)
        slowest = float(compute.max())
        end = 0.0
        for bucket in range(1, scenario.buckets + 1):
            share = scenario.forward + (1 - scenario.forward) * bucket / scenario.buckets
            end = max(end, share * slowest) + reduce
        seconds[step] = end + scenario.bytes / scenario.apply
    total = float(seconds.sum())
    throughput = steps * scenario.workers * scenario.batch / total if total else math.inf
    return Result(scenario, seconds, throughput, np.empty(0, np.int64))


def _share_cores(work: Times, cores: float | None) -> Times:
    """Returns when jobs that start together end, if they share the cores of a host equally."""
    if cores is None:
        return work
    work = np.sort(work)
    active = np.arange(work.size, 0, -1)
    return np.cumsum(np.diff(work, prepend=0.0) * np.maximum(1.0, active / cores))
