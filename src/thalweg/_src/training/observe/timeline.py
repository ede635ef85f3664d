"""Timeline: the trace of a step in Chrome's trace event format, for Perfetto and chrome://tracing."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

_LABEL = re.compile(r"(.*) = (.*?)\((.*)\)", re.DOTALL)
_TIMES = ("schedule", "gpu", "all")

Event = dict[str, Any]


class AllocationMaximum(NamedTuple):
    """The peak of an allocator: bytes, time, and live tensors."""

    timestamp: int
    num_bytes: int
    tensors: set[str]


class StepStatsAnalysis(NamedTuple):
    """A trace as JSON text, and the peak of each allocator."""

    chrome_trace: str
    allocator_maximums: dict[str, AllocationMaximum]


@dataclass(slots=True)
class _Region:
    """An execution of a node: where it is drawn, its op type, and the nodes it waited for."""

    name: str
    op: str
    inputs: list[str]
    pid: int
    lane: int
    start: int
    end: int
    stats: Any


class Timeline:
    """Draws the executions of a step: one process per device, with one lane per overlapping execution."""

    def __init__(self, step_stats: Any, graph: object = None) -> None:
        self._step_stats = step_stats
        self._graph = graph

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Returns the trace as JSON.

        show_dataflow: draw an arrow from each node to those that use its output
        show_memory: draw the memory of each allocator, if the trace contains it
        op_time: "schedule" for the whole time of a node, "gpu" or "all" for the time of its kernel only
        """
        return self.analyze_step_stats(show_dataflow, show_memory, op_time).chrome_trace

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """Returns the trace and the peaks of allocators."""
        if op_time not in _TIMES:
            raise ValueError(f"op_time: expected one of {', '.join(_TIMES)}, received {op_time!r}")
        events: list[Event] = []
        regions: list[_Region] = []
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append(_process_name(pid, f"{device.device} Compute"))
            regions += _regions(pid, device.node_stats, op_time)
        events += map(_region_event, regions)
        if show_dataflow:
            events += _flows(regions)
        counters, maximums = _memory(regions)
        if show_memory:
            events += counters
        return StepStatsAnalysis(json.dumps({"traceEvents": events}), maximums)


def _process_name(pid: int, name: str) -> Event:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def _regions(pid: int, node_stats: Any, op_time: str) -> Iterator[_Region]:
    """Yields the executions on a device; each takes the first lane that is free when it starts."""
    ends: list[int] = []  # of the last execution in each lane
    for stats in sorted(node_stats, key=lambda stats: stats.all_start_micros):
        start, end = stats.all_start_micros, stats.all_start_micros + stats.all_end_rel_micros
        if op_time != "schedule":
            start, end = start + stats.op_start_rel_micros, start + stats.op_end_rel_micros
        name, op, inputs = _name_type_inputs(stats)
        lane = next((lane for lane, last in enumerate(ends) if last <= start), len(ends))
        ends[lane : lane + 1] = [end]
        yield _Region(name, op, inputs, pid, lane, start, end, stats)


def _name_type_inputs(stats: Any) -> tuple[str, str, list[str]]:
    """Returns a node's name, op type and input names, from `name = Type(input, input)`."""
    label = _LABEL.fullmatch(stats.timeline_label)
    if label is None:
        return stats.node_name, stats.node_name.rpartition("/")[2], []
    _, op, inputs = label.groups()
    return stats.node_name, op, [name.strip() for name in inputs.split(",") if name.strip()]


def _region_event(region: _Region) -> Event:
    return {
        "ph": "X",
        "cat": "Op",
        "name": region.op,
        "pid": region.pid,
        "tid": region.lane,
        "ts": region.start,
        "dur": max(region.end - region.start, 0),
        "args": {
            "name": region.name,
            "op": region.op,
            **{f"input{i}": name for i, name in enumerate(region.inputs)},
        },
    }


def _flows(regions: list[_Region]) -> Iterator[Event]:
    """Yields two events per arrow: from the end of a node to the start of its consumer."""
    by_name = {region.name: region for region in regions}
    number = 0
    for region in regions:
        for name in region.inputs:
            source = by_name.get(name.lstrip("^").split(":")[0])
            if source is None or source is region:
                continue
            common = {"cat": "DataFlow", "name": name, "id": number}
            yield {"ph": "s", **common, "pid": source.pid, "tid": source.lane, "ts": source.end}
            yield {"ph": "t", **common, "pid": region.pid, "tid": region.lane, "ts": max(region.start, source.end)}
            number += 1


def _memory(regions: list[_Region]) -> tuple[list[Event], dict[str, AllocationMaximum]]:
    """Returns the memory of each allocator over time: outputs live until the last node that reads them has ended."""
    last_use = {region.name: region.end for region in regions}
    for region in regions:
        for name in region.inputs:
            source = name.lstrip("^").split(":")[0]
            if source in last_use:
                last_use[source] = max(last_use[source], region.end)
    changes: dict[str, list[tuple[int, int, str, int]]] = defaultdict(list)
    for region in regions:
        for output in region.stats.output:
            held = output.tensor_description.allocation_description
            if held.requested_bytes:
                tensor = f"{region.name}:{output.slot}"
                changes[held.allocator_name].append((region.start, held.requested_bytes, tensor, region.pid))
                changes[held.allocator_name].append((last_use[region.name], -held.requested_bytes, tensor, region.pid))
    events: list[Event] = []
    maximums: dict[str, AllocationMaximum] = {}
    for allocator, moments in changes.items():
        total, live = 0, set()
        best = AllocationMaximum(0, 0, set())
        for time, size, tensor, pid in sorted(moments, key=lambda moment: moment[:2]):
            total += size
            live.add(tensor) if size > 0 else live.discard(tensor)
            if total > best.num_bytes:
                best = AllocationMaximum(time, total, set(live))
            counter = {"ph": "C", "cat": "Memory", "name": allocator, "pid": pid, "tid": 0, "ts": time}
            events.append({**counter, "args": {allocator: total}})
        maximums[allocator] = best
    return events, maximums
