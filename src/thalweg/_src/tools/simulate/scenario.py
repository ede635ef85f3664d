"""Scenarios: what a simulated training job consists of, checked when it is described."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base.errors import describe, invalid
from thalweg._src.compiler.place.cost import Link

MODES = ("async", "sync", "all_reduce")
SHARING = ("fair", "fifo")
FREE = Link(0.0, math.inf)  # a link that costs nothing
Times = np.ndarray[Any, np.dtype[np.float64]]


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and value >= least


def _check_numbers(scenario: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(scenario, name)
        _check(name, value, "a number, at least 0", math.isfinite(value) and value >= 0)


def _check(name: str, value: object, expected: str, is_valid: bool) -> None:
    if not is_valid:
        raise invalid(
            describe(f"{name} of a simulated training job is invalid", expected=expected, received=repr(value))
        )


@dataclass(frozen=True, slots=True)
class Compute:
    """The distribution of the seconds that a worker computes in a step, without transfers.

    median, sigma: of a lognormal distribution; sigma 0 gives a constant
    samples: measured seconds, drawn at random, in the place of median and sigma
    straggler: the probability that a step is slowed down
    factor, delay: a slow step takes `factor` times as long and `delay` seconds more
    mean_delay: the mean of a further, exponentially distributed delay of a slow step
    """

    median: float = 1.0
    sigma: float = 0.0
    samples: tuple[float, ...] = ()
    straggler: float = 0.0
    factor: float = 1.0
    delay: float = 0.0
    mean_delay: float = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self, ("median", "sigma", "straggler", "factor", "delay", "mean_delay"))
        _check("straggler", self.straggler, "a probability, from 0 to 1", self.straggler <= 1)
        for sample in self.samples:
            _check("samples", sample, "seconds, at least 0", math.isfinite(sample) and sample >= 0)

    def draw(self, random: np.random.Generator, number: int) -> Times:
        """Returns random computing times in seconds."""
        if self.samples:
            times = random.choice(np.asarray(self.samples, np.float64), number)
        else:
            times = np.full(number, self.median)
            if self.sigma:
                times = times * np.exp(self.sigma * random.standard_normal(number))
        if self.straggler:
            slow = random.random(number) < self.straggler
            delays = self.delay + self.mean_delay * random.standard_exponential(number)
            times = np.where(slow, self.factor * times + delays, times)
        return times


_SECOND = Compute()


@dataclass(frozen=True, slots=True)
class Failures:
    """How often tasks fail, and what a failure costs; all in seconds.

    between: the mean time between failures of one task, exponentially distributed
    detection, recovery: until a failure is noticed, and from then until the task works again
    interval, saving: between two checkpoints, and how long training stops for one
    """

    between: float
    detection: float = 10.0
    recovery: float = 20.0
    interval: float = 600.0
    saving: float = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self, ("detection", "recovery", "saving"))
        _check("between", self.between, "seconds, more than 0", self.between > 0)
        _check("interval", self.interval, "seconds, more than 0", self.interval > 0)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A training job: a model, its workers and parameter servers, and the links between them.

    mode: "async", "sync" or "all_reduce"
    workers: how many gradients a synchronous step aggregates, and how many workers there are besides the backups
    backups: further workers of a synchronous step, which ends with the first `workers` gradients
    shards: the bytes of parameters at each parameter server; a step pulls as many and pushes as many gradients
    batch: examples in one step of one worker
    link: of a worker: latency, bytes per second in each direction; `overhead` is unused
    ps_link: of a parameter server; `overhead` is the seconds of its CPU for one pull or one push
    sharing: concurrent transfers share the bandwidth of a parameter server ("fair") or follow one another ("fifo")
    apply: bytes of gradients per second that one core of a parameter server applies
    accumulate: bytes of gradients per second that one core adds up in synchronous training
    ps_cores: cores of each parameter server
    host_cores: if given, all tasks run on one host with so many cores; computing takes one of them at a time
    background: CPU seconds per step of a worker on that host that no task waits for
    buckets: pieces of the model that are transferred one after another while others are computed; 1: no overlap
    forward: the share of the computing time before the first gradients exist
    per_host, local_bandwidth: workers of one host reduce among themselves first, at a bandwidth of their own
    """

    mode: str = "async"
    workers: int = 1
    backups: int = 0
    shards: tuple[float, ...] = (0.0,)
    batch: int = 1
    compute: Compute = _SECOND
    link: Link = FREE
    ps_link: Link = FREE
    sharing: str = "fair"
    apply: float = math.inf
    accumulate: float = math.inf
    ps_cores: int = 1
    host_cores: float | None = None
    background: float = 0.0
    buckets: int = 1
    forward: float = 1 / 3
    per_host: int = 1
    local_bandwidth: float = math.inf

    def __post_init__(self) -> None:
        _check("mode", self.mode, f"one of {', '.join(MODES)}", self.mode in MODES)
        _check("sharing", self.sharing, f"one of {', '.join(SHARING)}", self.sharing in SHARING)
        for name in ("workers", "batch", "ps_cores", "buckets", "per_host"):
            _check(name, getattr(self, name), "an integer, at least 1", _is_count(getattr(self, name), 1))
        _check("backups", self.backups, "an integer, at least 0", _is_count(self.backups, 0))
        _check("backups", self.backups, f"0 in mode {self.mode!r}", self.backups == 0 or self.mode == "sync")
        _check("shards", self.shards, "the bytes of at least one parameter server", len(self.shards) > 0)
        for size in self.shards:
            _check("shards", size, "bytes, at least 0", math.isfinite(size) and size >= 0)
        for which, link in (("link", self.link), ("ps_link", self.ps_link)):
            numbers = (link.latency, link.overhead)
            _check(f"{which}.latency", link.latency, "seconds, at least 0", all(0 <= n < math.inf for n in numbers))
            _check(f"{which}.bandwidth", link.bandwidth, "bytes per second, more than 0", link.bandwidth > 0)
        for name in ("apply", "accumulate", "local_bandwidth"):
            _check(name, getattr(self, name), "more than 0", getattr(self, name) > 0)
        _check("host_cores", self.host_cores, "more than 0", self.host_cores is None or self.host_cores > 0)
        _check("background", self.background, "seconds, at least 0", 0 <= self.background < math.inf)
        _check("forward", self.forward, "a share, from 0 to 1", 0 <= self.forward <= 1)

    @property
    def bytes(self) -> float:
        """Returns the bytes of all parameters."""
        return sum(self.shards)


def even_shards(size: float, number: int) -> tuple[float, ...]:
    """Divides the bytes of a model evenly among parameter servers."""
    _check("ps", number, "an integer, at least 1", _is_count(number, 1))
    return (size / number,) * number
