"""Simulation: a placed step on paper, event after event: when each node starts and ends, and what memory it takes.

Nodes run as they do in a step: all nodes of a device that wait for the same are a segment (`compile/segment.py`). It
runs in one go, node after node, once all that it waits for has come; starting it takes a moment. A tensor goes to a
device once, however many nodes take it there; sending keeps the sender busy for a moment, but transfers under way do
not hinder each other. Segments that run at the same time share their device or, if the costs say how devices of its
kind crowd each other, all devices of that kind and task: a segment is a thread then, and runs on any core.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thalweg._src.errors import in_units

if TYPE_CHECKING:
    from thalweg._src.place.problem import Problem


@dataclass(slots=True)
class Schedule:
    """What a simulated step does when.

    finish: seconds until the last node has run
    starts, ends: of each unit of the problem
    busy: seconds that each device works
    transfers, transferred: how many tensors cross a border, and their bytes
    """

    problem: Problem
    homes: Sequence[int]
    finish: float
    starts: list[float]
    ends: list[float]
    busy: list[float]
    transfers: int
    transferred: int

    def peak_memory(self) -> dict[str, int]:
        """Returns the most bytes of variables and tensors that each device holds at once."""
        return _peaks(self)

    def busy_time(self) -> dict[str, float]:
        return dict(zip(self.problem.devices, self.busy))

    def summary(self) -> str:
        """Returns the step in a line a device."""
        peaks = self.peak_memory()
        lines = [
            f"step: {1e3 * self.finish:.3f} ms simulated, {self.transfers} transfers of {in_units(self.transferred)}"
        ]
        for name, seconds in self.busy_time().items():
            share = seconds / self.finish if self.finish else 0.0
            lines.append(f"{name}: busy {1e3 * seconds:.3f} ms ({share:.0%}), at most {in_units(peaks[name])}")
        return "\n".join(lines)


def simulate(problem: Problem, homes: Sequence[int]) -> Schedule:
    """Runs a step with the groups of a problem on devices, both given by number."""
    where = [homes[group] if group >= 0 else 0 for group in problem.group_of]
    return _Run(problem, homes, _Segments(problem, where)).schedule()


class _Segments:
    """The units of each device in segments, with what each of these waits for.

    units, device: of each segment; `awaits` tells whether it waits for other devices
    waits: how many segments and transfers each waits for, and `followers`, the segments that wait for each
    sent: for each unit the transfers that it starts: (place, delay, segments that wait for it)
    """

    def __init__(self, problem: Problem, where: Sequence[int]) -> None:
        self.units: list[list[int]] = []
        self.device: list[int] = []
        self.awaits: list[bool] = []
        self.waits: list[int] = []
        self.followers: list[list[int]] = []
        self.sent: list[list[tuple[int, float, list[int]]]] = [[] for _ in problem.units]
        self.transfers = self.transferred = 0
        segments: dict[tuple[int, int], int] = {}
        masks = [0] * len(where)  # a bit for each transfer among the ancestors
        home = [0] * len(where)
        arriving: dict[tuple[int, int], tuple[int, list[int]]] = {}  # (value, device): its bit, and who waits for it
        for unit, here in enumerate(where):
            mask, before, awaited = 0, [], []
            for producer, value in problem.inputs[unit]:
                there = where[producer]
                if there == here:
                    mask |= masks[producer]
                    before.append(home[producer])
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
            home[unit] = segment
            self.units[segment].append(unit)
            for waiting in (*awaited, *(self.followers[earlier] for earlier in before if earlier != segment)):
                if not waiting or waiting[-1] != segment:  # may count one twice, which then comes twice
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
    """Goes through the segments of a step, event after event.

    A segment runs in pieces that end where it sends something. What runs at the same time on one crowd of devices goes
    at one pace, so its clock counts work, not seconds, and a piece ends when the clock has reached a number.
    """

    def __init__(self, problem: Problem, homes: Sequence[int], segments: _Segments) -> None:
        self._problem, self._homes, self._segments = problem, homes, segments
        self._next = [0] * len(segments.units)  # the first unit of each segment that has not run
        self._begun = [(0.0, 0.0, 0)] * len(segments.units)  # of the piece that runs: when, its work, its first unit
        self._events: list[tuple[float, int]] = []  # when segments may start
        self._at_work: list[list[tuple[float, int]]] = [[] for _ in problem.crowds]  # when pieces end, by the clock
        self._clocks = [0.0] * len(problem.crowds)
        self._active = [0] * len(problem.devices)
        self._starts, self._ends = [0.0] * len(problem.units), [0.0] * len(problem.units)
        self._busy = [0.0] * len(problem.devices)
        self._ready_at = [0.0] * len(segments.units)
        self._now = 0.0

    def schedule(self) -> Schedule:
        waits, device = self._segments.waits, self._segments.device
        self._events = [(0.0, segment) for segment, count in enumerate(waits) if not count]
        events = self._events
        while True:
            crowd, end = -1, events[0][0] if events else math.inf
            for number, running in enumerate(self._at_work):
                if running:
                    when = self._now + (running[0][0] - self._clocks[number]) * self._pace(number)
                    if when < end or (when == end and crowd < 0):
                        crowd, end = number, when
            if end == math.inf:
                break
            self._pass(end)
            if crowd < 0:
                segment = heapq.heappop(events)[1]
                self._active[device[segment]] += 1
                self._begin(segment, self._problem.segment if self._segments.awaits[segment] else 0.0)
            else:
                clock, segment = heapq.heappop(self._at_work[crowd])
                self._clocks[crowd] = clock  # exactly
                self._end(segment)
        segments = self._segments
        finish = max(self._ends, default=0.0)
        return Schedule(
            self._problem, self._homes, finish, self._starts, self._ends, self._busy,
            segments.transfers, segments.transferred,
        )  # fmt: skip

    def _pace(self, crowd: int) -> float:
        """Returns the seconds that a second of work takes; beyond one for each device, segments take turns."""
        running, (devices, share) = len(self._at_work[crowd]), self._problem.crowds[crowd]
        if running <= devices:
            return 1.0 + share * (running - 1)
        return running / devices * (1.0 + share * (devices - 1))

    def _pass(self, end: float) -> None:
        """Lets everybody work until some moment."""
        passed = end - self._now
        if passed <= 0.0:
            return
        for crowd, running in enumerate(self._at_work):
            if running:
                self._clocks[crowd] += passed / self._pace(crowd)
        for place, active in enumerate(self._active):
            if active:
                self._busy[place] += passed
        self._now = end

    def _begin(self, segment: int, work: float) -> None:
        """Starts a piece: some work of its own, then units up to one that sends something."""
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
        crowd = self._problem.crowd_of[device]
        heapq.heappush(self._at_work[crowd], (self._clocks[crowd] + work, segment))

    def _end(self, segment: int) -> None:
        """Notes when the units of a piece ran, sends what its last one gives, and goes on."""
        problem, segments, now = self._problem, self._segments, self._now
        units, device = segments.units[segment], segments.device[segment]
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
        """Lets segments start that have waited for one thing, at the moment when it comes, and for nothing else."""
        for segment in waiting:
            self._ready_at[segment] = max(self._ready_at[segment], when)
            self._segments.waits[segment] -= 1
            if not self._segments.waits[segment]:
                heapq.heappush(self._events, (self._ready_at[segment], segment))


def _peaks(schedule: Schedule) -> dict[str, int]:
    """Adds up, device by device, what is alive when: from the start of its producer to the end of its last reader."""
    problem, homes, ends = schedule.problem, schedule.homes, schedule.ends
    where = [homes[group] if group >= 0 else 0 for group in problem.group_of]
    alive: dict[tuple[int, int], list[float]] = {}  # (buffer, device) -> [bytes, from, to]
    buffer_of: dict[int, int] = {}  # unit that is a view -> the buffer that it looks at
    buffer = 0
    for unit, outputs in enumerate(problem.outputs):
        here = where[unit]
        for value in outputs:
            if unit in buffer_of:
                number = buffer_of[unit]
                alive.setdefault((number, here), [float(value.size), schedule.starts[unit], ends[unit]])
            else:
                number = buffer = buffer + 1
                # What is read of a variable is the variable itself, which was counted.
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
    kept = [0] * len(spans)
    for group, size in enumerate(problem.kept):
        kept[homes[group]] += size
    return {name: kept[place] + _most(spans[place]) for place, name in enumerate(problem.devices)}


def _most(spans: list[list[float]]) -> int:
    """Returns the largest sum of sizes at one time; what ends when another starts is gone by then."""
    if not spans:
        return 0
    table = np.array(spans)
    moments = np.concatenate([table[:, 2], table[:, 1]])
    changes = np.concatenate([-table[:, 0], table[:, 0]])
    order = np.lexsort((np.arange(len(moments)), moments))
    return int(np.cumsum(changes[order]).max())
