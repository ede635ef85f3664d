"""Memory planning: deferred receives, and execution orders with a smaller peak, within memory limits.

A received tensor occupies memory from its arrival on. So control edges defer each large Recv until shortly before its
tensor is needed, as long as the simulated step gets no longer (the white paper's section 5.2). Nothing else is changed,
unless the step would exceed the memory limit of a device: then its nodes run in an order with a smaller peak.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto, CostGraphDef, RunMetadata
from thalweg._src.base.devices import canonical_name, matches
from thalweg._src.base.errors import format_bytes
from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.schedule.memory_order import linearize, orders
from thalweg._src.compiler.schedule.peak_memory import Buffers, MemoryEstimate
from thalweg._src.compiler.schedule.timeline import Clock, Item, Timeline, transfer_key
from thalweg._src.graph.ir.step_graph import Node, StepGraph, waits
from thalweg._src.graph.source_line import made_at

Partitions = Mapping[str, StepGraph]

_WORTH = 1 << 20  # bytes; smaller tensors are not worth deferring
_BUDGET = 200_000  # nodes that are simulated one by one, which bounds the planning time
_LONGER = 1.001  # tolerated factor of the simulated time


class MemoryPlan:
    """The partitions of a step in their final execution order, and the estimated memory of each.

    limits: memory limits in bytes, by device
    notes: human-readable descriptions of the changes
    """

    def __init__(
        self, partitions: Partitions, costs: CostModel, limits: Mapping[str, int], notes: Sequence[str]
    ) -> None:
        self._partitions = partitions
        self._costs = costs
        self.limits = dict(limits)
        self.notes = list(notes)

    @cached_property
    def estimates(self) -> dict[str, MemoryEstimate]:
        """The estimated memory of each device, computed on first access."""
        return _estimates(self._partitions, _buffers(self._partitions, self._costs), self._timeline())

    def _timeline(self) -> Timeline | None:
        return _timeline(self._partitions, Clock(self._partitions, self._costs)) if len(self._partitions) > 1 else None

    def summary(self) -> list[str]:
        """Returns one line per device: its peak memory, when the peak occurs, and its limit."""
        lines = []
        for name, estimate in self.estimates.items():
            limit = f" (limit {format_bytes(self.limits[name])})" if name in self.limits else ""
            lines.append(f"{name}: {estimate}{limit}")
        return lines + self.notes

    def write_to(self, metadata: RunMetadata) -> None:
        """Adds the cost graph: bytes and microseconds of each node, and the peak memory of each device.

        Times are taken from the trace in the metadata; a node that was not traced by itself gets its estimated time
        and is marked as inaccurate.
        """
        graph, measured = metadata.cost_graph, _measured(metadata)
        for name, partition in self._partitions.items():
            number = {node: len(graph.node) + i for i, node in enumerate(partition.nodes)}
            for node in partition.nodes:
                graph.node.append(self._cost(node, name, number, measured.get((name, node.name))))
            estimate = self.estimates[name]
            graph.cost.add(cost=float(estimate.peak), dimension=f"memory {name}")

    def _cost(self, node: Node, device: str, number: Mapping[Node, int], taken: int | None) -> CostGraphDef.Node:
        message = CostGraphDef.Node
        return message(
            name=node.name,
            device=device,
            id=number[node],
            input_info=[
                message.InputInfo(preceding_node=number[producer], preceding_port=index)
                for producer, index in node.inputs
                if producer in number
            ],
            output_info=[
                message.OutputInfo(
                    size=self._costs.bytes(node, index), alias_input_port=-1, dtype=dtype.as_datatype_enum
                )
                for index, dtype in enumerate(node.dtypes)
            ],
            persistent_memory_size=self._costs.sizes.persistent(node),
            compute_cost=round(1e6 * self._costs.time(node, device) if taken is None else taken / 1000),
            control_input=[number[control] for control in node.controls if control in number],
            inaccurate=taken is None,
        )


def _measured(metadata: RunMetadata) -> dict[tuple[str, str], int]:
    """Returns the longest measured time of each node in nanoseconds, by device and node name."""
    longest: dict[tuple[str, str], int] = {}
    for device_stats in metadata.step_stats.dev_stats:
        for stats in device_stats.node_stats:
            key = device_stats.device, stats.node_name
            longest[key] = max(longest.get(key, 0), stats.op_end_rel_nanos - stats.op_start_rel_nanos)
    return longest


def plan_memory(
    partitions: Partitions, costs: CostModel | None = None, limits: Mapping[str, int] | None = None
) -> MemoryPlan:
    """Sets the execution order of all partitions; raises ResourceExhaustedError if a device would exceed its limit."""
    costs = costs or CostModel()
    limits = {name: limit for name, limit in (limits or {}).items() if name in partitions}
    notes: list[str] = []
    # Two independent means. Deferring receives never lengthens the simulated step and never raises a peak, so it is
    # always tried. Reordering gives up program order and overlap, so it is the last resort, for devices over their
    # limit alone.
    is_open = (len(partitions) > 1 or bool(limits)) and _can_be_ordered(partitions)
    if is_open and len(partitions) > 1:
        late = _defer_receives(partitions, costs)
        notes += [f"{late} large tensors are received only when they are needed"] if late else []
    plan = MemoryPlan(partitions, costs, limits, notes)
    over = {name: limit for name, limit in limits.items() if plan.estimates[name].peak > limit}
    if over:
        if not is_open:
            raise _exhausted(plan.estimates, over, costs)
        _fit(partitions, costs, limits, over, plan.estimates)
        plan.notes += [f"{name}: nodes are reordered to stay within the limit" for name in over]
        del plan.estimates
    return plan


def _can_be_ordered(partitions: Partitions) -> bool:
    """Returns whether the partitions may be reordered: no node waits for anything but another partition.

    A node that waits for a queue, for the client of a partial run or, in a loop, for the same loop on another device
    could be reordered before what it waits for, and deadlock.
    """
    if any(partition.is_unstructured for partition in partitions.values()):
        return False
    sent = {transfer_key(node) for partition in partitions.values() for node in partition.nodes if node.type == "_Send"}
    waiting = [node for partition in partitions.values() for node in partition.nodes if waits(node)]
    return all(node.type == "_Recv" and transfer_key(node) in sent for node in waiting)


def memory_limits(config: ConfigProto, devices: Sequence[str]) -> dict[str, int]:
    """Returns the memory limits of a configuration in bytes, by device."""
    limits: dict[str, int] = {}
    requests = list(config.experimental.memory_limit_in_mb.items())
    virtual = [mb for entry in config.gpu_options.experimental.virtual_devices for mb in entry.memory_limit_mb or [0]]
    gpus = [(f"/device:GPU:{index}", megabytes) for index, megabytes in enumerate(virtual) if megabytes]
    requests += [(name, megabytes) for name, megabytes in gpus if any(matches(name, device) for device in devices)]
    for pattern, megabytes in requests:
        names = [name for name in devices if matches(_canonical(pattern), name)]
        if not names or not 0 < megabytes < math.inf:
            raise errors.invalid(
                errors.describe(
                    f"memory_limit_in_mb: {megabytes:g} for {pattern!r} is not a limit of a device of this session",
                    expected=f"a positive number for one of {', '.join(devices)}",
                )
            )
        for name in names:
            limits[name] = min(int(megabytes * (1 << 20)), limits.get(name, sys.maxsize))
    return limits


def _canonical(pattern: str) -> str:
    try:
        return canonical_name(pattern)
    except ValueError as error:
        raise errors.invalid(f"memory_limit_in_mb: {error}") from None


def _buffers(partitions: Partitions, costs: CostModel) -> dict[str, Buffers]:
    return {name: Buffers(partition, name, costs) for name, partition in partitions.items()}


def _timeline(partitions: Partitions, clock: Clock) -> Timeline | None:
    timeline = Timeline(partitions, clock)
    return None if timeline.finish is None else timeline


def _estimates(
    partitions: Partitions, buffers: Mapping[str, Buffers], timeline: Timeline | None
) -> dict[str, MemoryEstimate]:
    if timeline is None:
        return {name: buffers[name].estimate(partition.nodes) for name, partition in partitions.items()}
    return {name: buffers[name].estimate(*timeline.order(name)) for name in partitions}


# -- deferred receives ------------------------------------------------------------------------------------------------


def _defer_receives(partitions: Partitions, costs: CostModel) -> int:
    """Defers large Recvs; returns their number."""
    large = [node for partition in partitions.values() for node in partition.nodes if node.type == "_Recv"]
    large = sorted((n for n in large if costs.bytes(n, 0) >= _WORTH), key=lambda n: -costs.bytes(n, 0))
    return _DeferredReceives(partitions, costs, large).defer() if large else 0


class _DeferredReceives:
    """Tries control edges that defer Recvs, and keeps those that increase neither the step time nor any peak."""

    def __init__(self, partitions: Partitions, costs: CostModel, large: list[Node]) -> None:
        self._partitions = partitions
        self._large = large
        self._clock = Clock(partitions, costs)
        self._buffers = _buffers(partitions, costs)
        self._best = Timeline(partitions, self._clock)
        self._longest = (self._best.finish or 0.0) * _LONGER
        self._peaks = self._peaks_of(self._best)
        self._consumers: dict[Node, list[Node]] = {node: [] for node in large}
        for partition in partitions.values():
            for node in partition.nodes:
                for producer in node.predecessors():
                    if producer in self._consumers:
                        self._consumers[producer].append(node)

    def defer(self) -> int:
        """Defers all Recvs at once, to their latest start or to their consumers; if that is rejected, one by one."""
        # Together first, since receives that compete for the same memory help only when all of them move, and since
        # each trial costs a simulation of the whole step. The latest anchor comes first; the other one is right before
        # the consumer.
        for variant in (0, -1):
            anchors = {node: choices[variant] for node in self._large if (choices := self._anchors(node))}
            if anchors and self._accepts(anchors):
                return len(anchors)
        count, budget = 0, _BUDGET
        for node in self._large:
            for anchor in self._anchors(node):
                budget -= len(self._best.starts)
                if budget < 0:
                    return count
                if self._accepts({node: anchor}):
                    count += 1
                    break
        return count

    def _accepts(self, anchors: Mapping[Node, Node]) -> bool:
        """Adds control edges from the anchors; reverts them unless no peak gets higher and every Recv starts later."""
        # A trial is made in place and undone: the control edges and the order of the partitions are all that it
        # changes.
        changed = {node.attrs["recv_device"] for node in anchors}
        orders = {name: self._partitions[name].nodes for name in changed}
        for node, anchor in anchors.items():
            node.controls = [*node.controls, anchor]
        trial = self._attempt(changed)
        if trial is not None and all(trial.starts[node] > self._best.starts[node] for node in anchors):
            peaks = self._peaks_of(trial)
            if all(peaks[name] <= peak for name, peak in self._peaks.items()):
                self._best, self._peaks = trial, peaks
                return True
        for node in anchors:
            node.controls = node.controls[:-1]
        for name, order in orders.items():
            self._partitions[name].nodes = order
        return False

    def _attempt(self, changed: Iterable[str]) -> Timeline | None:
        try:
            for name in changed:
                self._partitions[name].prune_and_sort()
        except ValueError:  # the control edge would close a cycle
            return None
        trial = Timeline(self._partitions, self._clock)
        return trial if trial.finish is not None and trial.finish <= self._longest else None

    def _peaks_of(self, timeline: Timeline) -> dict[str, int]:
        return {name: estimate.peak for name, estimate in _estimates(self._partitions, self._buffers, timeline).items()}

    def _anchors(self, node: Node) -> list[Node]:
        """Returns nodes that a Recv may wait for: the last to end before its tensor must be, or is, consumed."""
        # A receive may wait for a node that ends at least one transfer time before the value must be there, and that
        # does not depend on the receive itself: the bit of the receive among the ancestors of a segment says so.
        timeline = self._best
        consumers = [timeline.item_of[consumer] for consumer in self._consumers[node]]
        if not consumers:
            return []
        needed = [min(timeline.latest[item.number] for item in consumers), min(item.start for item in consumers)]
        anchors: dict[Node, None] = {}
        for moment in needed:
            earlier = [
                item
                for item in timeline.segments[consumers[0].device]
                if timeline.starts[node] < item.end <= moment - self._clock.transfer[node]
                and not item.mask & timeline.bits[node]
            ]
            last = max(earlier, key=lambda item: item.end, default=None)
            anchor = _last_working(last) if last is not None else None
            if anchor is not None:
                anchors[anchor] = None
        return list(anchors)


def _last_working(item: Item) -> Node | None:
    """Returns the last node of a segment that takes time."""
    return next((node for node in reversed(item.nodes) if not node.facts.instant), None)


# -- memory limits ----------------------------------------------------------------------------------------------------


def _fit(
    partitions: Partitions,
    costs: CostModel,
    limits: Mapping[str, int],
    over: Mapping[str, int],
    estimates: Mapping[str, MemoryEstimate],
) -> None:
    """Reorders the nodes of devices that exceed their limit so that they stay within it."""
    buffers = _buffers(partitions, costs)
    best = {name: estimates[name] for name in over}
    clock = Clock(partitions, costs)
    # Candidates come in the order of how much they change. The first that fits is made final by control edges and then
    # checked once more with transfers: on the timeline a device may hold what another one has not taken yet.
    for order_of in orders(partitions, buffers, list(over)):
        tried = {name: buffers[name].estimate(order) for name, order in order_of.items()}
        if all(tried[name].peak <= limits[name] for name in over):
            for name, order in order_of.items():
                linearize(partitions[name], order)
            timeline = _timeline(partitions, clock) if len(partitions) > 1 else None
            after = _estimates(partitions, buffers, timeline)
            exceeded = {name: limit for name, limit in limits.items() if after[name].peak > limit}
            if exceeded:
                raise _exhausted(after, exceeded, costs)
            return
        for name, estimate in tried.items():
            if estimate.peak < best[name].peak:
                best[name] = estimate
    raise _exhausted(best, {name: limit for name, limit in over.items() if best[name].peak > limit} or over, costs)


def _exhausted(
    estimates: Mapping[str, MemoryEstimate], over: Mapping[str, int], costs: CostModel
) -> errors.ResourceExhaustedError:
    """Returns the error for devices that would exceed their limit, the worst first."""
    name = max(over, key=lambda device: estimates[device].peak - over[device])
    estimate = estimates[name]
    node: Any = estimate.node
    largest = estimate.largest().replace("\n", "\n    ")
    others = "".join(f"\n  also: {other}: {estimates[other]}" for other in over if other != name)
    guess = any(not is_fully_defined(held.node.shapes[held.index]) for held in estimate.held)
    text = errors.describe(
        f"the step would exceed the memory limit of {name} in every execution order that was tried",
        expected=f"at most {format_bytes(over[name])}: memory_limit_in_mb is {over[name] / (1 << 20):g}, "
        "of 2**20 bytes",
        received=f"{estimate}; live tensors at the peak:\n    {largest}{others}",
        hint="a smaller batch, more devices, or tf.while_loop's swap_memory"
        + (f"; unknown dimensions are assumed to be {costs.sizes.unknown}" if guess else ""),
        made_at=made_at(node.stack) if node is not None else None,
    )
    return errors.ResourceExhaustedError(node, node, text)
