"""Measured costs: calibrates a cost model with runs of devices, links and the nodes of a step on this machine."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.config import ConfigProto, RunMetadata, RunOptions
from thalweg._src.base.devices import task_of
from thalweg._src.base.errors import describe, invalid
from thalweg._src.compiler.place.cost import SEGMENT, CostModel, Link, Speed
from thalweg._src.compiler.place.placers import round_robin
from thalweg._src.compiler.place.problem import Problem
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import fill, placeholder
from thalweg._src.graph.ops.math import add_n, sin
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.scopes import device as on
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session import BaseSession, Session

_ROUNDS, _SLOW_ROUNDS = 9, 5
_CROSSINGS, _BIG_CROSSINGS = 40, 8
_BIG = 1 << 20  # elements
_LAYERS = 24
_LEAST = 1e-9  # seconds, if a difference is below the noise
_TOWER, _SIDE = 48, 256  # many milliseconds: short steps would measure the wake-up of threads
_NET, _SIZES = 64, (48, 96, 160)
_MOST = 16.0  # maximal factor by which transfers are scaled

Chain = Callable[[Tensor, Tensor], Tensor]


def learn_costs(
    session: BaseSession, fetches: Any, feed_dict: Any = None, costs: CostModel | None = None, steps: int = 6
) -> CostModel:
    """Runs a step several times with tracing and returns a cost model with the time of each of its nodes.

    costs: the model to update; None creates one
    Only the faster half of the traced steps is used, since other processes slowed the others down.
    """
    costs = costs if costs is not None else CostModel()
    feeds = feed_dict or {}
    options = RunOptions(trace_level=RunOptions.FULL_TRACE)
    for _ in range(2):  # warm-up: large programs are compiled on their second run
        session.run(fetches, feeds)
    untraced = min(time_of(lambda: session.run(fetches, feeds), 0.0) for _ in range(max(steps, 1)))
    traced: list[tuple[float, Any]] = []
    for _ in range(max(steps, 1)):
        metadata = RunMetadata()
        start = time.perf_counter()
        session.run(fetches, feeds, options, metadata)
        traced.append((time.perf_counter() - start, metadata.step_stats))
    nodes = list(session._plan(fetches, tuple(feeds)).executable.placement.devices)
    for _, stats in sorted(traced, key=lambda pair: pair[0])[: (len(traced) + 1) // 2]:
        costs.learn(stats, nodes, untraced)
    return costs


def measure_costs(config: ConfigProto | None = None, path: str | Path | None = None, seconds: float = 0.1) -> CostModel:
    """Measures a session's devices and returns a cost model: their speeds, the links between them, and contention.

    path: a file to save it to, for `config.experimental.cost_model`
    seconds: the duration of each measurement; there are a few for each device type and each pair
    """
    measured_config = ConfigProto()
    if config is not None:
        measured_config.CopyFrom(config)
    measured_config.experimental.placer = measured_config.experimental.cost_model = ""
    costs = _Measurement(measured_config, seconds).costs()
    if path is not None:
        costs.save(path)
    return costs


def measure_link(target: str, seconds: float = 0.1) -> Link:
    """Measures the link between two tasks of a cluster, the first and the last one, by idle transfers.

    target: the address of a session, "grpc://host:port"
    seconds: the duration of each of six measurements
    """
    measurement = _Measurement(ConfigProto(), seconds, target)
    hosts = {task_of(name): name for name, kind in measurement.devices if kind == "CPU"}
    if len(hosts) < 2:
        hint = "give the address of a task of a cluster"
        raise invalid(describe("a link needs two tasks", received=", ".join(hosts.values()), hint=hint))
    first, *_, last = (hosts[task] for task in sorted(hosts))
    return measurement.idle_link(first, last)


class _Measurement:
    """Measures small graphs on the devices of a configuration, at a target if they are those of a cluster."""

    def __init__(self, config: ConfigProto, seconds: float, target: str = "") -> None:
        self._config = config
        self._seconds = seconds / _ROUNDS
        self._target = target
        with Session(target, Graph(), config) as session:
            self.devices = [(device.name, device.device_type) for device in session.list_devices()]

    def costs(self) -> CostModel:
        types: dict[str, list[str]] = {}
        for name, kind in self.devices:
            types.setdefault(kind, []).append(name)
        links: dict[str, Link] = {}
        starts: list[float] = []
        for (a, kind), (b, other) in permutations(self.devices, 2):
            pair = f"{kind}>{other}"
            if pair in links and kind == other != "CPU":  # links between accelerators may differ
                pair = f"{a}>{b}"
            if pair not in links:
                links[pair], start = self._link(a, b)
                starts.append(start)
        speeds = {kind: self._speed(names[0]) for kind, names in types.items()}
        contention = {kind: self._contention(names) for kind, names in types.items() if len(names) > 1}
        costs = CostModel(speeds, links, contention=contention, segment=min(starts, default=SEGMENT))
        if len(types.get("CPU", ())) > 1:
            self._calibrate(costs)
        return costs

    # -- what is measured ---------------------------------------------------------------------------------------------

    def _speed(self, name: str) -> Speed:
        """Measures launch overhead by tiny nodes, arithmetic by matrix products, and bandwidth by large sums."""
        launch = self._seconds_per_node(name, [2], lambda y, s: sin(y), 100)
        size = 256
        while True:
            product = self._seconds_per_node(name, [size, size], functools.partial(_product, size), 4)
            if product > 4e-3 or size >= 4096:
                break
            size *= 2
        memory = self._seconds_per_node(name, [4 * _BIG], lambda y, s: y + s, 4)
        flops = 2.0 * size**3 / max(product - launch, _LEAST)
        return Speed(flops, 2.0 * 4 * 4 * _BIG / max(memory - launch, _LEAST), max(launch, 1e-7))

    def _seconds_per_node(self, name: str, shape: Sequence[int], link: Chain, length: int) -> float:
        """Returns the seconds of one node: those of a long chain minus a short one."""

        def build(count: int) -> Callable[[Tensor], Tensor]:
            def chain(s: Tensor) -> Tensor:
                with on(name):
                    y = fill(shape, s)
                    for _ in range(count):
                        y = link(y, s)
                    return reduce_sum(y)

            return chain

        longer, shorter = map(min, self._rounds(build(2 * length), build(length)))
        return max(longer - shorter, _LEAST) / length

    def _link(self, a: str, b: str) -> tuple[Link, float]:
        """Measures transfers between busy devices, transfers of large values, and the start of a waiting segment.

        Between busy devices a transfer takes longer than between idle ones, since a thread must be woken up and get a
        core. A tensor that is only sent, and read at the end, measures the overhead of the sender; one that is waited
        for adds the latency.
        """
        pairs = [_pair(a, b, shape) for shape in ("apart", "sent", "coupled")]
        apart, sent, coupled = map(mean, self._rounds(*pairs, times=_SLOW_ROUNDS))
        idle = self._crossing(a, b, 2, _CROSSINGS)
        transfer = max(idle, (coupled - apart) / _LAYERS)
        overhead = min(max((sent - apart) / _LAYERS, _LEAST), transfer / 2)
        big = self._crossing(a, b, _BIG, _BIG_CROSSINGS)
        rest = (transfer - overhead) / 2  # split evenly between the latency of the link and the start of the segment
        return Link(rest, min(4.0 * _BIG / max(big - idle, _LEAST), 1e12), overhead), rest

    def idle_link(self, a: str, b: str) -> Link:
        """Measures transfers between devices that do nothing else."""
        small, big = self._crossing(a, b, 2, _CROSSINGS), self._crossing(a, b, _BIG, _BIG_CROSSINGS)
        return Link(small, min(4.0 * _BIG / max(big - small, _LEAST), 1e12))

    def _crossing(self, a: str, b: str, elements: int, count: int) -> float:
        def shuttle(*names: str) -> Callable[[Tensor], Tensor]:
            def build(s: Tensor) -> Tensor:
                with on(names[0]):
                    y = fill([elements], s)
                for i in range(count):
                    with on(names[i % len(names)]):
                        y = y + s
                return reduce_sum(y)

            return build

        here, there, both = map(min, self._rounds(shuttle(a), shuttle(b), shuttle(a, b)))
        return max(both - max(here, there), _LEAST) / count

    def _contention(self, names: Sequence[str]) -> float:
        """Measures the slowdown of devices that are busy at the same time, per other device."""

        def towers(*names: str) -> Callable[[Tensor], Tensor]:
            def build(s: Tensor) -> Tensor:
                tops = [_tower(s, name, number) for number, name in enumerate(names)]
                with on(names[0]):
                    return add_n(tops)

            return build

        alone, together = map(mean, self._rounds(towers(names[0]), towers(*names), times=_SLOW_ROUNDS - 2))
        return max(together / alone - 1.0, 0.0) / (len(names) - 1)

    def _calibrate(self, costs: CostModel) -> None:
        """Calibrates transfers between CPU devices with a step that has many of them.

        There threads also wait for cores, for the interpreter lock and for each other, which no single transfer shows.
        The step is a random graph placed round robin; all its time beyond the simulated time is attributed to the
        transfers.
        """
        with Graph().as_default() as graph:
            scalar = placeholder(dtypes.float32, [])
            fetched = _random_graph(scalar)
        with contextlib.ExitStack() as sessions:
            steps: list[Callable[[], Any]] = []
            plans = []
            for name in ("single", "round_robin"):
                config = ConfigProto()
                config.CopyFrom(self._config)
                config.device_count.update(dict.fromkeys({kind for _, kind in self.devices} - {"CPU"}, 0))
                config.experimental.placer = name
                session = sessions.enter_context(Session(graph=graph, config=config))
                if not steps:
                    learn_costs(session, fetched, {scalar: 0.5}, costs)
                plans.append(session._plan(fetched, (scalar,)).executable.placement)
                steps.append(functools.partial(session.make_callable(fetched, [scalar]), 0.5))
            alone, spread = map(mean, self._alternate(steps, _SLOW_ROUNDS))
        original = plans[0].schedule.problem

        def relative_time(factor: float) -> float:
            """Returns the simulated time relative to one device, with transfers scaled by a factor."""
            scaled = costs.with_scaled_transfers(factor)
            problem = Problem(original.step, original.all_groups, original.devices, scaled)
            return problem.time(round_robin(problem)) / problem.time(problem.single(problem.devices[0]))

        low, high = 1.0, _MOST
        while high - low > 0.05:
            middle = (low + high) / 2
            low, high = (middle, high) if relative_time(middle) < spread / alone else (low, middle)
        costs.measured.clear()  # of the random graph, which no other step contains
        calibrated = costs.with_scaled_transfers(low)
        costs.links, costs.segment = calibrated.links, calibrated.segment

    def _rounds(self, *builds: Callable[[Tensor], Tensor], times: int = 1) -> list[list[float]]:
        """Returns the seconds of a step of each graph, measured alternately so that all see the same load.

        Other processes can only slow a step down: the best round is its time without them, the mean its time beside
        them.
        times: how many times longer than usual to measure
        """
        with contextlib.ExitStack() as sessions:
            steps = []
            for build in builds:
                with Graph().as_default() as graph:
                    scalar = placeholder(dtypes.float32, [])
                    fetched = build(scalar)
                session = sessions.enter_context(Session(self._target, graph, self._config))
                steps.append(functools.partial(session.make_callable(fetched, [scalar]), 0.5))
            return self._alternate(steps, times)

    def _alternate(self, steps: Sequence[Callable[[], Any]], times: int) -> list[list[float]]:
        for step in steps:
            step()
        rounds = [[time_of(step, self._seconds) for step in steps] for _ in range(times * _ROUNDS)]
        return [list(seconds) for seconds in zip(*rounds)]


def _product(size: int, y: Tensor, s: Tensor) -> Tensor:
    return matmul(y, fill([size, size], s / float(size)))


def _pair(a: str, b: str, how: str) -> Callable[[Tensor], Tensor]:
    """Returns a graph in which two devices compute one layer after another, each with a number for the other.

    how: "coupled", each layer needs the number of the other device's previous layer; "sent", the numbers are only added
        up at the end; "apart", only the last number is sent
    """

    def build(s: Tensor) -> Tensor:
        names, sums = (a, b), [s, s + 1.0]
        layers = []
        every: list[list[Tensor]] = [[], []]
        for name, first in zip(names, sums):
            with on(name):
                layers.append(fill([_SIDE // 2] * 2, first))
        for _ in range(_LAYERS):
            before = list(sums)
            for i, name in enumerate(names):
                with on(name):
                    layers[i] = sin(matmul(layers[i], layers[i]) * before[1 - i if how == "coupled" else i])
                    sums[i] = reduce_sum(layers[i])
                    every[i].append(sums[i])
        if how == "sent":
            for i, name in enumerate(names):
                with on(name):
                    sums[i] = add_n([sums[i], *every[1 - i][:-1]])
        with on(a):
            return add_n(sums)

    return build


def _tower(s: Tensor, name: str, number: int) -> Tensor:
    """Keeps one device busy: products and pointwise functions of medium size, as in layers."""
    with on(name):
        y = fill([_SIDE, _SIDE], s + float(number))  # distinct values, against common-subexpression elimination
        weights = fill([_SIDE, _SIDE], s / float(_SIDE))
        for _ in range(_TOWER):
            y = sin(matmul(y, weights))
        return reduce_sum(y)


def _random_graph(s: Tensor) -> Tensor:
    """Returns a random graph of small and large products, each of two earlier values."""
    rng = np.random.default_rng(0)
    products = [(_SIZES[-1], fill([_SIZES[-1]] * 2, s))]
    for _ in range(_NET):
        size = int(rng.choice(_SIZES))
        large = [value for other, value in products if other >= size]
        a, b = (large[i][:size, :size] for i in rng.choice(len(large), 2))
        products.append((size, sin(matmul(a, b) * (1.0 / size))))
    return add_n([reduce_sum(value) for _, value in products])


def time_of(step: Callable[[], Any], seconds: float) -> float:
    """Runs a step for some time, at least once, and returns its mean seconds."""
    start, steps = time.perf_counter(), 0
    while True:
        step()
        steps += 1
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return elapsed / steps
