"""Discrete-event simulation of a placed step: when each node starts and ends, and the peak memory of each device.

Nodes run as in a real step: all nodes of a device that wait for the same transfers form a segment
(`compile/segment.py`). A segment runs sequentially once all its inputs have arrived; starting it has a cost. A tensor
is sent to a device once, however many nodes use it there; a send occupies the sender for a moment, but concurrent
transfers do not slow each other down. Segments that run at the same time share their device or, if the cost model has a
contention factor for the device type, all devices of that type and task: a segment is then a thread that runs on any
core.

The state is a heap of segments that are ready to start, and one heap of running segments per core pool. Each iteration
advances the time to the earliest event in any of them (see `_Run`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from thalweg._src.base.errors import format_bytes
from thalweg._src.graph.ir.step_graph import Node


@dataclass(slots=True)
class Value:
    """An output of a unit; `size` is 0 for a control dependency."""

    number: int
    size: int
    readers: list[int] = field(default_factory=list)
    fetched: bool = False


class Simulated(Protocol):
    """What is simulated, as a `Problem` numbers it: units, the values between them, and what devices and links cost."""

    devices: tuple[str, ...]
    units: list[Node]
    group_of: list[int]
    persistent: list[int]
    inputs: list[list[tuple[int, Value]]]
    outputs: list[list[Value]]
    times: list[list[float]]
    segment: float
    overhead: list[list[float]]
    latency: list[list[float]]
    per_byte: list[list[float]]
    core_pools: list[tuple[int, float]]
    pool_of: list[int]


@dataclass(slots=True)
class Schedule:
    """The schedule of a simulated step.

    finish: seconds until the last node has run
    starts, ends: of each unit of the problem
    busy: seconds that each device is busy
    transfers, transferred: how many tensors are sent between devices, and their bytes
    """

    problem: Simulated
    assignment: Sequence[int]
    finish: float
    starts: list[float]
    ends: list[float]
    busy: list[float]
    transfers: int
    transferred: int

    def peak_memory(self) -> dict[str, int]:
        """Returns the peak bytes of variables and tensors on each device."""
        return _peaks(self)

    def busy_time(self) -> dict[str, float]:
        return dict(zip(self.problem.devices, self.busy))

    def summary(self) -> str:
        """Returns a report with one line per device."""
        peaks = self.peak_memory()
        transfers = f"{self.transfers} transfers of {format_bytes(self.transferred)}"
        lines = [f"step: {1e3 * self.finish:.3f} ms simulated, {transfers}"]
        for name, seconds in self.busy_time().items():
            share = seconds / self.finish if self.finish else 0.0
            lines.append(f"{name}: busy {1e3 * seconds:.3f} ms ({share:.0%}), at most {format_bytes(peaks[name])}")
        return "\n".join(lines)


def simulate(problem: Simulated, assignment: Sequence[int]) -> Schedule:
    """Simulates a step with the groups of a problem on devices, both given by index."""
    where = [assignment[group] if group >= 0 else 0 for group in problem.group_of]
    return _Run(problem, assignment, _Segments(problem, where)).schedule()


class _Segments:
    """The units of each device in segments, with the dependencies between segments.

    units, device: of each segment; `awaits`: whether it waits for other devices
    waits: how many segments and transfers each waits for; `followers`: the segments that wait for each
    sent: the transfers that each unit starts, as (device, delay, segments that wait for it)
    """

    def __init__(self, problem: Simulated, where: Sequence[int]) -> None:
        self.units: list[list[int]] = []
        self.device: list[int] = []
        self.awaits: list[bool] = []
        self.waits: list[int] = []
        self.followers: list[list[int]] = []
        self.sent: list[list[tuple[int, float, list[int]]]] = [[] for _ in problem.units]
        self.transfers = self.transferred = 0
        segments: dict[tuple[int, int], int] = {}
        masks = [0] * len(where)  # one bit per transfer among the ancestors
        segment_of = [0] * len(where)
        arriving: dict[tuple[int, int], tuple[int, list[int]]] = {}  # (value, device): its bit and its waiting segments
        # A transfer is a bit, and the set of transfers among a unit's ancestors on its device is its mask. Equal masks
        # on one device are one segment, as equal blocking ancestors are in generated code: such units run without
        # waiting in between.
        for unit, here in enumerate(where):
            mask, before, awaited = 0, [], []
            for producer, value in problem.inputs[unit]:
                there = where[producer]
                if there == here:
                    mask |= masks[producer]
                    before.append(segment_of[producer])
                    continue
                transfer = arriving.get((value.number, here))
                if transfer is None:
                    transfer = arriving[value.number, here] = (1 << self.transfers, [])
                    delay = problem.latency[there][here] + value.size * problem.per_byte[there][here]
                    self.sent[producer].append((here, delay, transfer[1]))
                    self.transfers += 1
                    self.transferred += value.size
                mask |= transfer[0]
                awaited.append(transfer[1])
            masks[unit] = mask
            segment = segments.get((here, mask))
            if segment is None:
                segment = segments[here, mask] = self._add(here, mask != 0)
            segment_of[unit] = segment
            self.units[segment].append(unit)
            for waiting in (*awaited, *(self.followers[earlier] for earlier in before if earlier != segment)):
                if not waiting or waiting[-1] != segment:  # may count one twice, which is then released twice
                    waiting.append(segment)
                    self.waits[segment] += 1

    def _add(self, device: int, awaits: bool) -> int:
        self.units.append([])
        self.device.append(device)
        self.awaits.append(awaits)
        self.waits.append(0)
        self.followers.append([])
        return len(self.units) - 1


class _Run:
    """Runs the events of a step in order of time.

    A segment runs in pieces that end where it sends something. Under contention all running pieces of a core pool
    progress at the same pace. So each pool has a clock that counts work, not seconds: a piece ends at a fixed reading
    of that clock, which stays valid when the pace changes because other pieces start or end.
    """

    def __init__(self, problem: Simulated, assignment: Sequence[int], segments: _Segments) -> None:
        self._problem, self._assignment, self._segments = problem, assignment, segments
        self._next = [0] * len(segments.units)  # the first unit of each segment that has not run
        self._begun = [(0.0, 0.0, 0)] * len(segments.units)  # of the running piece: start, work, first unit
        self._events: list[tuple[float, int]] = []  # when segments may start
        self._running: list[list[tuple[float, int]]] = [[] for _ in problem.core_pools]  # when pieces end, on its clock
        self._clocks = [0.0] * len(problem.core_pools)
        self._active = [0] * len(problem.devices)
        self._starts, self._ends = [0.0] * len(problem.units), [0.0] * len(problem.units)
        self._busy = [0.0] * len(problem.devices)
        self._ready_at = [0.0] * len(segments.units)
        self._now = 0.0

    def schedule(self) -> Schedule:
        # Two kinds of events: a segment may start (in seconds), and a piece ends (on the clock of its core pool). Only
        # the first end of each pool has to be looked at, converted by the present pace; on a tie ends come first, which
        # frees cores for what starts at the same moment.
        waits, device = self._segments.waits, self._segments.device
        self._events = [(0.0, segment) for segment, count in enumerate(waits) if not count]
        events = self._events
        while True:
            pool, end = -1, events[0][0] if events else math.inf
            for number, running in enumerate(self._running):
                if running:
                    when = self._now + (running[0][0] - self._clocks[number]) * self._pace(number)
                    if when < end or (when == end and pool < 0):
                        pool, end = number, when
            if end == math.inf:
                break
            self._advance(end)
            if pool < 0:
                segment = heapq.heappop(events)[1]
                self._active[device[segment]] += 1
                self._begin(segment, self._problem.segment if self._segments.awaits[segment] else 0.0)
            else:
                clock, segment = heapq.heappop(self._running[pool])
                self._clocks[pool] = clock  # without rounding errors
                self._end(segment)
        segments = self._segments
        finish = max(self._ends, default=0.0)
        return Schedule(
            self._problem, self._assignment, finish, self._starts, self._ends, self._busy,
            segments.transfers, segments.transferred,
        )  # fmt: skip

    def _pace(self, pool: int) -> float:
        """Returns the seconds per second of work; with more segments than devices, they share the devices equally."""
        running, (devices, share) = len(self._running[pool]), self._problem.core_pools[pool]
        if running <= devices:
            return 1.0 + share * (running - 1)
        return running / devices * (1.0 + share * (devices - 1))

    def _advance(self, end: float) -> None:
        """Advances the time, the clocks of the core pools, and the busy times."""
        elapsed = end - self._now
        if elapsed <= 0.0:
            return
        for pool, running in enumerate(self._running):
            if running:
                self._clocks[pool] += elapsed / self._pace(pool)
        for place, active in enumerate(self._active):
            if active:
                self._busy[place] += elapsed
        self._now = end

    def _begin(self, segment: int, work: float) -> None:
        """Starts a piece: an initial cost, then units up to one that sends something."""
        units, first = self._segments.units[segment], self._next[segment]
        device, sent, times = self._segments.device[segment], self._segments.sent, self._problem.times
        last = first
        while last < len(units):
            work += times[units[last]][device]
            last += 1
            if sent[units[last - 1]]:
                break
        self._next[segment] = last
        self._begun[segment] = (self._now, work, first)
        pool = self._problem.pool_of[device]
        heapq.heappush(self._running[pool], (self._clocks[pool] + work, segment))

    def _end(self, segment: int) -> None:
        """Sets the times of the units of a piece, sends the outputs of the last one, and starts the next piece."""
        problem, segments, now = self._problem, self._segments, self._now
        units, device = segments.units[segment], segments.device[segment]
        # The times of single units are interpolated within the piece: it took longer than its work by one factor.
        begun, work, first = self._begun[segment]
        scale = (now - begun) / work if work else 0.0
        pieces = units[first : self._next[segment]]
        moment = now
        for unit in reversed(pieces):
            self._ends[unit] = moment
            moment -= problem.times[unit][device] * scale
            self._starts[unit] = moment
        sending = 0.0
        if pieces:
            for there, delay, waiting in segments.sent[pieces[-1]]:
                self._arrive(waiting, now + sending + delay)
                sending += problem.overhead[device][there]
        if self._next[segment] < len(units) or sending:
            self._begin(segment, sending)
        else:
            self._active[device] -= 1
            self._arrive(segments.followers[segment], now)

    def _arrive(self, waiting: list[int], when: float) -> None:
        """Delivers one input to each waiting segment, and schedules those that have received all inputs."""
        for segment in waiting:
            self._ready_at[segment] = max(self._ready_at[segment], when)
            self._segments.waits[segment] -= 1
            if not self._segments.waits[segment]:
                heapq.heappush(self._events, (self._ready_at[segment], segment))


def _peaks(schedule: Schedule) -> dict[str, int]:
    """Returns peak memory by liveness: a buffer lives from the start of its producer to the end of its last reader."""
    problem, assignment, ends = schedule.problem, schedule.assignment, schedule.ends
    # A buffer exists on each device that uses it: at the producer until its readers there and all transfers have ended,
    # at another device from the arrival on. A view extends the life of the buffer that it is a view of.
    where = [assignment[group] if group >= 0 else 0 for group in problem.group_of]
    alive: dict[tuple[int, int], list[float]] = {}  # (buffer, device) -> [bytes, from, to]
    buffer_of: dict[int, int] = {}  # unit that is a view -> its buffer
    buffer = 0
    for unit, outputs in enumerate(problem.outputs):
        here = where[unit]
        for value in outputs:
            if unit in buffer_of:
                number = buffer_of[unit]
                alive.setdefault((number, here), [float(value.size), schedule.starts[unit], ends[unit]])
            else:
                number = buffer = buffer + 1
                # A read of a variable returns the variable's buffer, which is counted as persistent memory.
                size = 0.0 if problem.units[unit].type == "ReadVariableOp" else float(value.size)
                alive[number, here] = [size, schedule.starts[unit], ends[unit]]
            if value.fetched:
                alive[number, here][2] = schedule.finish
            for reader in value.readers:
                there = where[reader]
                if problem.units[reader].facts.is_alias and value.size:
                    buffer_of.setdefault(reader, number)
                sent = ends[unit] + problem.latency[here][there] + value.size * problem.per_byte[here][there]
                if there != here:
                    alive[number, here][2] = max(alive[number, here][2], sent)
                held = alive.setdefault((number, there), [float(value.size), sent, sent])
                held[2] = max(held[2], ends[reader])
    spans: list[list[list[float]]] = [[] for _ in problem.devices]
    for (_, place), span in alive.items():
        if span[0]:
            spans[place].append(span)
    persistent = [0] * len(spans)
    for group, size in enumerate(problem.persistent):
        persistent[assignment[group]] += size
    return {name: persistent[place] + _largest_sum(spans[place]) for place, name in enumerate(problem.devices)}


def _largest_sum(spans: list[list[float]]) -> int:
    """Returns the largest sum of sizes at one time; a buffer that ends when another starts is freed first."""
    if not spans:
        return 0
    table = np.array(spans)
    moments = np.concatenate([table[:, 2], table[:, 1]])
    changes = np.concatenate([-table[:, 0], table[:, 0]])
    order = np.lexsort((np.arange(len(moments)), moments))
    return int(np.cumsum(changes[order]).max())
