"""Step tracing: start and end of each kernel, as RunMetadata.

An accelerator runs asynchronously to the host, which only launches kernels. Its times come from events recorded on its
stream around each launch; on a device type without events the host synchronizes after each node.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import torch

from thalweg._src.base.config import DeviceStepStats, NodeExecStats, RunMetadata
from thalweg._src.compiler.partition.host_memory import on_host
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.runtime.resources.accelerators import Accelerator, Event
from thalweg._src.runtime.resources.devices import Device

_PER_MILLISECOND = 1_000_000  # nanoseconds


class Timed(NamedTuple):
    """One execution of a node: when it was called, started and ended, in nanoseconds, and by which thread."""

    node: Node
    called: int
    start: int
    end: int
    thread: int


class HostClock:
    """Times nodes that run synchronously."""

    def __init__(self) -> None:
        self._seen: list[Timed] = []

    def start(self, node: Node) -> Any:
        return time.time_ns()

    def end(self, node: Node, started: int) -> None:
        end = time.time_ns()
        self._seen.append(Timed(node, started, started, end, threading.get_ident()))

    def read(self) -> list[Timed]:
        """Returns the timed executions in the order in which they ended."""
        return list(self._seen)


class SynchronizingClock(HostClock):
    """Times an accelerator without events: synchronizes after each node."""

    def __init__(self, accelerator: Accelerator, device: torch.device) -> None:
        super().__init__()
        self._accelerator, self._device = accelerator, device
        accelerator.synchronize(device)

    def end(self, node: Node, started: int) -> None:
        self._accelerator.synchronize(self._device)
        super().end(node, started)


class DeviceClock:
    """Times an accelerator by events on its stream, which are read after the step.

    The first event is recorded at a known host time, which aligns the device's clock with the host's.
    """

    def __init__(self, accelerator: Accelerator, device: torch.device) -> None:
        self._seen: list[tuple[Node, int, Event | None, Any, int]] = []
        assert accelerator.event is not None
        self._event, self._device = accelerator.event, device
        accelerator.synchronize(device)
        self._first = self._record()
        accelerator.synchronize(device)
        self._moment = time.time_ns()

    def _record(self) -> Event:
        event = self._event(self._device)
        event.record()
        return event

    def start(self, node: Node) -> Any:
        return time.time_ns(), None if _runs_on_host(node) else self._record()

    def end(self, node: Node, started: torch.Tensor) -> None:
        called, event = started
        end = time.time_ns() if event is None else self._record()
        self._seen.append((node, called, event, end, threading.get_ident()))

    def read(self) -> list[Timed]:
        """Returns the timed executions in launch order; waits for the device."""
        # Reading an event waits for it, so nothing is read while the step runs: the launches stay as asynchronous as
        # without tracing. Nodes on the host have times of the host's clock already.
        result = []
        for node, called, event, end, thread in self._seen:
            if event is None:
                result.append(Timed(node, called, called, end, thread))
            else:
                start = self._moment + round(self._first.elapsed_time(event) * _PER_MILLISECOND)
                taken = round(event.elapsed_time(end) * _PER_MILLISECOND)
                result.append(Timed(node, called, start, start + taken, thread))
        return result


def _runs_on_host(node: Node) -> bool:
    """Returns whether a node of an accelerator's partition runs on the host only."""
    if node.facts.instant or node.type in ("_Alive", "_Choose", "_Send") or "_host" in node.attrs:
        return True
    if node.type in ("_CopyToHost", "_While") or not node.dtypes:
        return False
    return all(on_host(Output(node, index)) for index in range(len(node.dtypes)))


class Trace:
    """Collects the times of one step's kernels from all threads."""

    def __init__(self) -> None:
        self._clocks: dict[str, HostClock | DeviceClock] = {}
        self._lock = threading.Lock()
        self._remote: list[RunMetadata] = []

    def add(self, metadata: RunMetadata) -> None:
        """Adds the times of another task."""
        self._remote.append(metadata)

    def observer(self, device: Device) -> HostClock | DeviceClock:
        """Returns the clock of a device, which is called at the start and the end of each node."""
        with self._lock:
            if device.name not in self._clocks:
                self._clocks[device.name] = _clock(device)
            return self._clocks[device.name]

    def write_to(self, metadata: RunMetadata) -> None:
        for device, clock in self._clocks.items():
            stats: list[Any] = [_stats(timed) for timed in clock.read()]
            if stats:
                metadata.step_stats.dev_stats.append(DeviceStepStats(device=device, node_stats=stats))
        for remote in self._remote:
            metadata.step_stats.dev_stats.extend(remote.step_stats.dev_stats)


def _clock(device: Device) -> HostClock | DeviceClock:
    accelerator = device.accelerator
    if accelerator is None:
        return HostClock()
    if accelerator.event is None:
        return SynchronizingClock(accelerator, device.torch)
    return DeviceClock(accelerator, device.torch)


def _stats(timed: Timed) -> NodeExecStats:
    node, called, start, end, thread = timed
    inputs = ", ".join(f"{p.name}:{i}" if i else p.name for p, i in node.inputs)
    duration = (end - start) // 1000
    return NodeExecStats(
        node_name=node.name,
        all_start_micros=start // 1000,
        op_end_rel_micros=duration,
        all_end_rel_micros=duration,
        timeline_label=f"{node.name} = {node.type}({inputs})",
        scheduled_micros=called // 1000,
        thread_id=thread & 0x7FFFFFFF,
        all_start_nanos=start,
        op_end_rel_nanos=end - start,
        all_end_rel_nanos=end - start,
        scheduled_nanos=called,
    )
