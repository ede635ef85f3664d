"""List scheduling: nodes one after the other, each where it ends first; what differs is who comes first."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Callable

from thalweg._src.place.problem import Problem

_GAPS = 64  # how many are looked at
_OPEN = -1  # the home of a group that is not decided


class _Board:
    """Who does what when, so far.

    A unit that waits for nobody (the read of a variable, a feed) is not placed on its own: it goes with the first that
    needs it. Otherwise variables would be dealt out before anybody asked for them.
    """

    def __init__(self, problem: Problem, insert: bool) -> None:
        self.problem = problem
        self.homes = [feasible[0] if len(feasible) == 1 else _OPEN for feasible in problem.feasible]
        self.ends = [0.0] * len(problem.units)
        self._insert = insert
        self._busy: list[list[tuple[float, float]]] = [[] for _ in problem.devices]
        self._done = [False] * len(problem.units)
        self.inputs = problem.inputs

    def home(self, unit: int) -> int:
        group = self.problem.group_of[unit]
        return self.homes[group] if group >= 0 else 0

    def floats(self, unit: int) -> bool:
        """Returns whether a unit may still go with whoever needs it first."""
        return not self.inputs[unit] and self.home(unit) == _OPEN

    def put(self, unit: int) -> None:
        """Runs a unit on paper where it ends first, and decides its group if it is the first of it."""
        if self._done[unit]:
            return
        if self.floats(unit) and any(value.readers for value in self.problem.outputs[unit]):
            return  # somebody will need it
        home = self.home(unit)
        if home == _OPEN:
            group = self.problem.group_of[unit]
            ready = {place: self._ready(unit, place) for place in self.problem.feasible[group]}
            ends = {place: self._slot(place, t, self.problem.times[unit][place])[1] for place, t in ready.items()}
            home = self.homes[group] = min(ends, key=lambda place: (ends[place], ready[place]))
        for producer, _ in self.inputs[unit]:
            if not self._done[producer] and not self._is_open_feed(producer):
                self._bring(producer, home)
        self._run(unit, home, self._ready(unit, home))

    def _is_open_feed(self, unit: int) -> bool:
        """Returns whether a unit is a feed whose first user is not placed yet: it follows that one."""
        return self.problem.units[unit].type == "_Arg" and self.home(unit) == _OPEN

    def _bring(self, producer: int, home: int) -> None:
        """Puts a unit that floats where it is needed, if it can be there."""
        group = self.problem.group_of[producer]
        if self.homes[group] == _OPEN:
            feasible = self.problem.feasible[group]
            self.homes[group] = home if home in feasible else self.problem.preferred[group]
        self._run(producer, self.homes[group], 0.0)

    def _run(self, unit: int, home: int, ready: float) -> None:
        start, end = self._slot(home, ready, self.problem.times[unit][home])
        if end > start:
            bisect.insort(self._busy[home], (start, end))
        self.ends[unit] = end
        self._done[unit] = True

    def _ready(self, unit: int, place: int) -> float:
        """Returns when all that a unit needs is on a device."""
        latest = 0.0
        for producer, value in self.inputs[unit]:
            here = self.home(producer)
            if here == _OPEN:
                continue  # floats, and will be there
            when = self.ends[producer]
            if here != place:
                when += self.problem.latency[here][place] + value.size * self.problem.per_byte[here][place]
                when += self.problem.segment
            latest = max(latest, when)
        return latest

    def _slot(self, place: int, ready: float, seconds: float) -> tuple[float, float]:
        """Returns when a device can run something: after its last node or, if gaps are filled, before."""
        busy = self._busy[place]
        if not busy or ready >= busy[-1][1]:
            return ready, ready + seconds
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
        """Returns the homes; a group that nobody asked for is where it would be by itself."""
        return [preferred if home == _OPEN else home for home, preferred in zip(self.homes, self.problem.preferred)]


def greedy_homes(problem: Problem) -> list[int]:
    """Goes through the step as it would run: whoever is ready first is placed first."""
    board = _Board(problem, insert=False)

    def ready(unit: int) -> float:
        return max((board.ends[producer] for producer, _ in board.inputs[unit]), default=0.0)

    return _schedule(board, ready)


def critical_path_homes(problem: Problem) -> list[int]:
    """Goes through the step by upward rank: the mean time from a node's start to the end of the step.

    The algorithm is HEFT (Topcuoglu and others, 2002), with groups decided by the first of their nodes.
    """
    pairs = [(a, b) for a in range(len(problem.devices)) for b in range(len(problem.devices)) if a != b]
    latency = problem.segment + sum(problem.latency[a][b] for a, b in pairs) / max(len(pairs), 1)
    per_byte = sum(problem.per_byte[a][b] for a, b in pairs) / max(len(pairs), 1)
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
    return _schedule(_Board(problem, insert=True), lambda unit: -rank[unit])


def _schedule(board: _Board, priority: Callable[[int], float]) -> list[int]:
    """Puts all units on the board: of those whose inputs are there the one that comes first by priority."""
    problem = board.problem
    waits = list(problem.waits)
    queue = [(priority(unit), unit) for unit in range(len(waits)) if not waits[unit]]
    heapq.heapify(queue)
    while queue:
        _, unit = heapq.heappop(queue)
        board.put(unit)
        for value in problem.outputs[unit]:
            for reader in value.readers:
                waits[reader] -= 1
                if not waits[reader]:
                    heapq.heappush(queue, (priority(reader), reader))
    return board.finished()
