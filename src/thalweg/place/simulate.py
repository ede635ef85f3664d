"""Simulation: a placed step on paper, event after event: when each node starts and ends, and what memory it takes.

A device runs one node at a time, of those that are ready the one that was written first. A tensor goes to a device
once, however many nodes take it there; sending keeps the sender busy for a moment, but transfers under way do not
hinder each other. A node takes longer the more devices are at work that share cores with its own, if the costs say so.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thalweg.place.work import VIEWS

if TYPE_CHECKING:
    from thalweg.place.problem import Problem


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
        lines = [f"step: {1e3 * self.finish:.3f} ms simulated, {self.transfers} transfers of {_size(self.transferred)}"]
        for name, seconds in self.busy_time().items():
            share = seconds / self.finish if self.finish else 0.0
            lines.append(f"{name}: busy {1e3 * seconds:.3f} ms ({share:.0%}), at most {_size(peaks[name])}")
        return "\n".join(lines)


def simulate(problem: Problem, homes: Sequence[int]) -> Schedule:  # noqa: PLR0915  one loop, for speed
    """Runs a step with the groups of a problem on devices, both given by number."""
    count = len(problem.units)
    where = [homes[group] if group >= 0 else 0 for group in problem.group_of]
    outputs, times = problem.outputs, problem.times
    latency, per_byte, overhead = problem.latency, problem.per_byte, problem.overhead
    crowds, share = problem.crowds, problem.share
    until = [0.0] * len(problem.devices)  # when the node that runs will end
    owed = [0.0] * len(problem.devices)  # what those that started later make it longer
    waits = list(problem.waits)
    ready_at, starts, ends = [0.0] * count, [0.0] * count, [0.0] * count
    ready: list[list[int]] = [[] for _ in problem.devices]
    idle = [True] * len(ready)
    busy = [0.0] * len(ready)
    # A unit ends, or (plus `count`) has all it waited for; a device (counted from -1 down) has sent all it had to.
    events: list[tuple[float, int]] = []
    transfers = transferred = 0
    for unit in range(count):
        if not waits[unit]:
            ready[where[unit]].append(unit)
    now = 0.0
    while True:
        for device, queue in enumerate(ready):
            if queue and idle[device]:
                unit = heapq.heappop(queue)
                seconds = times[unit][device]
                if crowds[device]:
                    seconds += _hindered(seconds, now, share[device], crowds[device], until, owed)
                    until[device] = now + seconds
                starts[unit], ends[unit] = now, now + seconds
                busy[device] += seconds
                idle[device] = False
                heapq.heappush(events, (now + seconds, unit))
        if not events:
            break
        now = events[0][0]
        while events and events[0][0] == now:
            unit = heapq.heappop(events)[1]
            if unit >= count:
                heapq.heappush(ready[where[unit - count]], unit - count)
                continue
            if unit < 0:
                idle[-1 - unit] = True
                continue
            here = where[unit]
            if owed[here]:
                ends[unit] = now + owed[here]
                busy[here] += owed[here]
                owed[here] = 0.0
                heapq.heappush(events, (ends[unit], unit))
                continue
            sending = 0.0
            for value in outputs[unit]:
                sent: dict[int, float] = {}
                for reader in value.readers:
                    there = where[reader]
                    if there == here:
                        when = now
                    elif there in sent:
                        when = sent[there]
                    else:
                        when = now + sending + latency[here][there] + value.size * per_byte[here][there]
                        sent[there] = when
                        sending += overhead[here][there]
                        transfers += 1
                        transferred += value.size
                    if when > ready_at[reader]:  # noqa: PLR1730  a call of max would take longer
                        ready_at[reader] = when
                    waits[reader] -= 1
                    if not waits[reader]:
                        if ready_at[reader] <= now:
                            heapq.heappush(ready[there], reader)
                        else:
                            heapq.heappush(events, (ready_at[reader], count + reader))
            if sending:
                busy[here] += sending
                heapq.heappush(events, (now + sending, -1 - here))
            else:
                idle[here] = True
    return Schedule(problem, homes, max(ends, default=0.0), starts, ends, busy, transfers, transferred)


def _hindered(
    seconds: float, now: float, share: float, others: Sequence[int], until: list[float], owed: list[float]
) -> float:
    """Returns how much longer a node takes because of those at work; while both are, these take longer, too."""
    result = 0.0
    for other in others:
        if until[other] > now:
            more = share * min(seconds, until[other] - now)
            owed[other] += more
            until[other] += more
            result += more
    return result


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
                if problem.units[reader].type in VIEWS and value.size:
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


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
