"""List scheduling: places units one by one, in order of priority, each on the device where it finishes first."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Callable

from thalweg._src.compiler.place.problem import Problem

_GAPS = 64  # how many are examined
_UNASSIGNED = -1  # the device of a group that is not assigned


class _PartialSchedule:
    """A partial schedule: when each device is busy, and the device of each group so far.

    A unit without inputs (the read of a variable, a feed) is not placed on its own: it follows its first consumer.
    Otherwise variables would be spread over the devices before their consumers are known.
    """

    def __init__(self, problem: Problem, insert: bool) -> None:
        self.problem = problem
        self.assignment = [feasible[0] if len(feasible) == 1 else _UNASSIGNED for feasible in problem.feasible]
        self.ends = [0.0] * len(problem.units)
        self._insert = insert
        self._busy: list[list[tuple[float, float]]] = [[] for _ in problem.devices]
        self._done = [False] * len(problem.units)
        self.inputs = problem.inputs

    def device(self, unit: int) -> int:
        group = self.problem.group_of[unit]
        return self.assignment[group] if group >= 0 else 0

    def is_deferred(self, unit: int) -> bool:
        """Returns whether a unit still waits for its first consumer to be placed."""
        return not self.inputs[unit] and self.device(unit) == _UNASSIGNED

    def add(self, unit: int) -> None:
        """Schedules a unit where it finishes first, and assigns its group if it is the group's first unit."""
        if self._done[unit]:
            return
        if self.is_deferred(unit) and any(value.readers for value in self.problem.outputs[unit]):
            return  # its first consumer places it
        # The group's first unit decides for all of its units: earliest finish time over the feasible devices, and the
        # earlier start if two finish at once. Deferred producers are then placed beside it, and run before it.
        device = self.device(unit)
        if device == _UNASSIGNED:
            group = self.problem.group_of[unit]
            ready = {place: self._ready(unit, place) for place in self.problem.feasible[group]}
            ends = {place: self._slot(place, t, self.problem.times[unit][place])[1] for place, t in ready.items()}
            device = self.assignment[group] = min(ends, key=lambda place: (ends[place], ready[place]))
        for producer, _ in self.inputs[unit]:
            if not self._done[producer] and not self._is_unassigned_feed(producer):
                self._add_deferred(producer, device)
        self._run(unit, device, self._ready(unit, device))

    def _is_unassigned_feed(self, unit: int) -> bool:
        """Returns whether a unit is a feed whose first user is not placed yet: it follows that one."""
        return self.problem.units[unit].type == "_Arg" and self.device(unit) == _UNASSIGNED

    def _add_deferred(self, producer: int, device: int) -> None:
        """Schedules a deferred unit on the device of its consumer, if that is feasible."""
        group = self.problem.group_of[producer]
        if self.assignment[group] == _UNASSIGNED:
            feasible = self.problem.feasible[group]
            self.assignment[group] = device if device in feasible else self.problem.preferred[group]
        self._run(producer, self.assignment[group], 0.0)

    def _run(self, unit: int, device: int, ready: float) -> None:
        start, end = self._slot(device, ready, self.problem.times[unit][device])
        if end > start:
            bisect.insort(self._busy[device], (start, end))
        self.ends[unit] = end
        self._done[unit] = True

    def _ready(self, unit: int, place: int) -> float:
        """Returns when all inputs of a unit are available on a device."""
        latest = 0.0
        for producer, value in self.inputs[unit]:
            here = self.device(producer)
            if here == _UNASSIGNED:
                continue  # deferred, and will be placed on this device
            when = self.ends[producer]
            if here != place:
                when += self.problem.latency[here][place] + value.size * self.problem.per_byte[here][place]
                when += self.problem.segment
            latest = max(latest, when)
        return latest

    def _slot(self, place: int, ready: float, seconds: float) -> tuple[float, float]:
        """Returns the start and end of a unit on a device: after its last unit or, with insertion, in a gap."""
        busy = self._busy[place]
        if not busy or ready >= busy[-1][1]:
            return ready, ready + seconds
        # HEFT's insertion: a short unit may run in a gap that was left while a device waited for a transfer. The number
        # of gaps that are examined is bounded, since long schedules would take quadratic time otherwise.
        if self._insert and seconds > 0:
            at = bisect.bisect_right(busy, (ready, math.inf))  # the first that starts later
            free = max(ready, busy[at - 1][1]) if at else ready
            for start, end in itertools.islice(busy, at, at + _GAPS):
                if start - free >= seconds:
                    return free, free + seconds
                free = end
        start = max(ready, busy[-1][1])
        return start, start + seconds

    def finished(self) -> list[int]:
        """Returns the assignment; a group without units gets its preferred device."""
        return [
            preferred if device == _UNASSIGNED else device
            for device, preferred in zip(self.assignment, self.problem.preferred)
        ]


def greedy_assignment(problem: Problem) -> list[int]:
    """Schedules units in the order in which they become ready."""
    partial = _PartialSchedule(problem, insert=False)

    def ready(unit: int) -> float:
        return max((partial.ends[producer] for producer, _ in partial.inputs[unit]), default=0.0)

    return _schedule(partial, ready)


def critical_path_assignment(problem: Problem) -> list[int]:
    """Schedules units by upward rank: the mean time from the start of a unit to the end of the step.

    The algorithm is HEFT (Topcuoglu and others, 2002), with a group assigned by its first unit.
    """
    pairs = [(a, b) for a in range(len(problem.devices)) for b in range(len(problem.devices)) if a != b]
    latency = problem.segment + sum(problem.latency[a][b] for a, b in pairs) / max(len(pairs), 1)
    per_byte = sum(problem.per_byte[a][b] for a, b in pairs) / max(len(pairs), 1)
    # Units are in topological order, so that backwards all readers of a unit have their rank already. Times and
    # transfers are means over devices and links, as no device is chosen yet; inside of a group nothing is transferred.
    rank = [0.0] * len(problem.units)
    for unit in range(len(rank) - 1, -1, -1):
        group = problem.group_of[unit]
        places = problem.feasible[group] if group >= 0 else [0]
        mean = sum(problem.times[unit][place] for place in places) / len(places)
        after = 0.0
        for value in problem.outputs[unit]:
            for reader in value.readers:
                crossing = latency + value.size * per_byte if problem.group_of[reader] != group else 0.0
                after = max(after, rank[reader] + crossing)
        rank[unit] = mean + after
    return _schedule(_PartialSchedule(problem, insert=True), lambda unit: -rank[unit])


def _schedule(partial: _PartialSchedule, priority: Callable[[int], float]) -> list[int]:
    """Schedules all units; of those whose inputs are scheduled, the one with the smallest priority first."""
    problem = partial.problem
    waits = list(problem.waits)
    queue = [(priority(unit), unit) for unit in range(len(waits)) if not waits[unit]]
    heapq.heapify(queue)
    while queue:
        _, unit = heapq.heappop(queue)
        partial.add(unit)
        for value in problem.outputs[unit]:
            for reader in value.readers:
                waits[reader] -= 1
                if not waits[reader]:
                    heapq.heappush(queue, (priority(reader), reader))
    return partial.finished()
