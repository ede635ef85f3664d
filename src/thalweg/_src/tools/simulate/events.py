"""Discrete events: a queue of calls in the order of time, and resources that concurrent jobs share."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from typing import Any

Call = Callable[[Any], None]

_ROUNDING = 1e-12  # of the time: what sums of floating-point numbers may be off


class Clock:
    """The simulated time, and the calls that are due later."""

    __slots__ = ("_calls", "_number", "now", "stopped")

    def __init__(self) -> None:
        self.now = 0.0
        self.stopped = False
        self._calls: list[tuple[float, int, Call, Any]] = []
        self._number = 0

    def after(self, seconds: float, call: Call, argument: object) -> None:
        """Calls a function later; calls that are due at the same time keep their order."""
        self._number += 1
        heapq.heappush(self._calls, (self.now + seconds, self._number, call, argument))

    def run(self) -> None:
        """Makes all calls until there are none or until `stopped` is set."""
        calls, pop = self._calls, heapq.heappop
        while calls and not self.stopped:
            self.now, _, call, argument = pop(calls)
            call(argument)


class Pool:
    """A resource that jobs share equally, such as a network interface or the cores of a host.

    Each of n jobs gets capacity / n, but at most `limit`. All jobs proceed at the same rate, so the service that a job
    has received since the pool exists orders their ends: an arrival or an end costs O(log n), not O(n).
    """

    __slots__ = ("_capacity", "_clock", "_due", "_jobs", "_limit", "_number", "_rate", "_service", "_updated", "_work")

    def __init__(self, clock: Clock, capacity: float, limit: float = math.inf) -> None:
        self._clock = clock
        self._capacity = capacity
        self._limit = limit
        self._jobs: list[tuple[float, int, Call, Any]] = []
        self._number = 0
        self._due = 0  # the number of the scheduled call; calls with other numbers are outdated
        self._rate = 0.0
        self._service = 0.0
        self._updated = 0.0
        self._work = 0.0

    def add(self, work: float, done: Call, argument: object) -> None:
        """Starts a job and calls a function at its end."""
        if not work or self._capacity == self._limit == math.inf:
            done(argument)
            return
        jobs, now = self._jobs, self._clock.now
        self._work += work
        self._service += (now - self._updated) * self._rate
        self._updated = now
        self._number += 1
        end = self._service + work
        heapq.heappush(jobs, (end, self._number, done, argument))
        self._rate = min(self._limit, self._capacity / len(jobs))
        if jobs[0][0] == end:  # else the scheduled call comes too early at worst, and schedules another one
            self._schedule()

    def utilization(self) -> float:
        """Returns the share of the capacity that was used so far; unfinished jobs count as done."""
        return min(self._work / (self._capacity * self._clock.now), 1.0) if self._clock.now else 0.0

    def _schedule(self) -> None:
        self._number += 1
        self._due = self._number
        self._clock.after(max(self._jobs[0][0] - self._service, 0.0) / self._rate, self._end, self._due)

    def _end(self, number: int) -> None:
        if number != self._due:
            return
        jobs, now = self._jobs, self._clock.now
        self._service += (now - self._updated) * self._rate
        self._updated = now
        first = jobs[0][0]
        if (first - self._service) / self._rate > _ROUNDING * now:
            self._schedule()
            return
        self._service = first
        ended = [heapq.heappop(jobs)]
        while jobs and jobs[0][0] == first:
            ended.append(heapq.heappop(jobs))
        if jobs:
            self._rate = min(self._limit, self._capacity / len(jobs))
            self._schedule()
        else:
            self._rate = self._service = 0.0
        for _, _, done, argument in ended:
            done(argument)


class Queue:
    """A resource that serves jobs in the order of arrival, such as the cores of a parameter server.

    servers, rate: how many jobs run at the same time, and how fast
    limit: a job ends no earlier than if it ran at this rate, though the next one starts before
    """

    __slots__ = ("_clock", "_free", "_limit", "_rate", "_servers", "_waiting", "_work")

    def __init__(self, clock: Clock, servers: int, rate: float, limit: float = math.inf) -> None:
        self._clock = clock
        self._servers = self._free = servers
        self._rate = rate
        self._limit = limit
        self._waiting: deque[tuple[float, Call, Any]] = deque()
        self._work = 0.0

    def add(self, work: float, done: Call, argument: object) -> None:
        """Starts a job, or lets it wait, and calls a function at its end."""
        if not work or self._rate == self._limit == math.inf:
            done(argument)
            return
        self._work += work
        if self._free:
            self._free -= 1
            self._start(work, done, argument)
        else:
            self._waiting.append((work, done, argument))

    def utilization(self) -> float:
        """Returns the share of the capacity that was used so far; unfinished jobs count as done."""
        return min(self._work / (self._servers * self._rate * self._clock.now), 1.0) if self._clock.now else 0.0

    def _start(self, work: float, done: Call, argument: object) -> None:
        more = work / self._limit - work / self._rate
        if more > 0:
            self._clock.after(work / self._rate, self._leave, None)
            self._clock.after(work / self._limit, done, argument)
        else:
            self._clock.after(work / self._rate, self._end, (done, argument))

    def _end(self, ended: tuple[Call, Any]) -> None:
        self._leave(None)
        done, argument = ended
        done(argument)

    def _leave(self, _: None) -> None:
        if self._waiting:
            self._start(*self._waiting.popleft())
        else:
            self._free += 1
