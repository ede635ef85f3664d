"""Simulated timeline of partitions: the start of each node, with transfers between devices.

A segment consists of all nodes of a partition with the same blocking ancestors (`compile/segment.py`). A device runs
one segment at a time, the ready one that comes first in program order. A transfer starts when the tensor is computed
and its Recv has started.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.graph.ir.step_graph import Node, StepGraph, waits

_READY, _END, _SENT = range(3)


@dataclass(slots=True, eq=False)
class Item:
    """A segment or a blocking node; `mask` has one bit for each blocking ancestor in the partition."""

    device: str
    mask: int
    number: int
    waits: bool
    nodes: list[Node] = field(default_factory=list)
    before: set[int] = field(default_factory=set)
    start: float = 0.0
    end: float = 0.0


class Clock:
    """The estimated durations of all nodes and transfers, in seconds."""

    def __init__(self, partitions: Mapping[str, StepGraph], costs: CostModel) -> None:
        self.seconds = {
            node: costs.time(node, name) for name, partition in partitions.items() for node in partition.nodes
        }
        self.senders: dict[Node, Node] = {}
        self.transfer: dict[Node, float] = {}
        senders = {}
        for node in _of_type(partitions, "_Send"):
            senders[transfer_key(node)] = node
            self.seconds[node] = costs.link(node.attrs["send_device"], node.attrs["recv_device"]).overhead
        for node in _of_type(partitions, "_Recv"):
            sender = senders.get(transfer_key(node))
            if sender is not None:  # otherwise it receives from the client
                link = costs.link(node.attrs["send_device"], node.attrs["recv_device"])
                self.senders[node] = sender
                self.transfer[node] = link.latency + costs.bytes(node, 0) / link.bandwidth


def transfer_key(node: Node) -> tuple[str, str, str]:
    """Returns the key that a Send shares with its Recv."""
    return node.attrs["send_device"], node.attrs["recv_device"], node.attrs["tensor_name"]


def _of_type(partitions: Mapping[str, StepGraph], op_type: str) -> Iterable[Node]:
    return (node for partition in partitions.values() for node in partition.nodes if node.type == op_type)


class Timeline:
    """When each node of a step starts.

    items, item_of: the segments and blocking nodes, and the one that each node belongs to; `segments`: by device
    bits: the bit of each blocking node in the masks of items
    starts: of each node; for a Recv, the start of its transfer
    finish: the end of the step; None for a deadlock
    """

    def __init__(self, partitions: Mapping[str, StepGraph], clock: Clock) -> None:
        self._clock = clock
        self._partitions = partitions
        self.items: list[Item] = []
        self.item_of: dict[Node, Item] = {}
        self.segments: dict[str, list[Item]] = {}
        self.bits: dict[Node, int] = {}
        self.starts: dict[Node, float] = {}
        self.arrivals: dict[Node, float] = {}  # by Send
        for name, partition in partitions.items():
            self._add_partition(name, partition)
        self.followers: list[list[int]] = [[] for _ in self.items]
        for item in self.items:
            for number in item.before:
                self.followers[number].append(item.number)
        self._receiver = {sender: self.item_of[receiver].number for receiver, sender in clock.senders.items()}
        self.finish = self._run()

    def _add_partition(self, name: str, partition: StepGraph) -> None:
        masks: dict[Node, int] = {}
        segments: dict[int, Item] = {}  # by mask
        count = 0
        for node in partition.nodes:
            # The same rule as in code generation: nodes with the same blocking ancestors run without a pause, as one
            # segment.
            mask, before = 0, []
            for producer in node.predecessors():
                mask |= masks[producer] | self.bits.get(producer, 0)
                before.append(self.item_of[producer])
            masks[node] = mask
            item = None
            if waits(node):
                self.bits[node] = 1 << count
                count += 1
            else:
                item = segments.get(mask)
            if item is None:
                item = Item(name, mask, len(self.items), node in self.bits)
                self.items.append(item)
                if not item.waits:
                    segments[mask] = item
            item.nodes.append(node)
            item.before.update(earlier.number for earlier in before if earlier is not item)
            self.item_of[node] = item
        self.segments[name] = list(segments.values())

    def _run(self) -> float | None:
        # Discrete-event simulation. All events of one moment are handled before a device chooses its next segment, so
        # that the choice depends on program order alone and not on the order of events in the heap. If events run out
        # before all items have ended, some wait for each other: a deadlock.
        items, clock = self.items, self._clock
        left = [len(item.before) for item in items]
        posted: dict[int, float] = {}
        sent: dict[int, float] = {}
        ready: dict[str, list[int]] = {name: [] for name in self._partitions}
        idle = dict.fromkeys(self._partitions, True)
        events = [(0.0, _READY, item.number) for item in items if not item.before]
        now, ended = 0.0, 0

        def move(number: int) -> None:
            """Starts a transfer whose Send and Recv are both ready."""
            node = items[number].nodes[0]
            self.starts[node] = now
            arrival = self.arrivals[clock.senders[node]] = now + clock.transfer[node]
            heapq.heappush(events, (arrival, _END, number))

        while events:
            now = events[0][0]
            while events and events[0][0] == now:
                _, what, number = heapq.heappop(events)
                item = items[number]
                if what == _SENT:
                    sent[number] = now
                    if number in posted:
                        move(number)
                elif what == _READY and not item.waits:
                    heapq.heappush(ready[item.device], number)
                elif what == _READY:
                    item.start = posted[number] = self.starts[item.nodes[0]] = now
                    if item.nodes[0] not in clock.senders:
                        heapq.heappush(events, (now + clock.seconds[item.nodes[0]], _END, number))
                    elif number in sent:
                        move(number)
                else:
                    item.end = now
                    ended += 1
                    if not item.waits:
                        idle[item.device] = True
                    for follower in self.followers[number]:
                        left[follower] -= 1
                        if not left[follower]:
                            heapq.heappush(events, (now, _READY, follower))
            if events and events[0][0] == now:
                continue
            for name, queue in ready.items():
                if queue and idle[name]:
                    idle[name] = False
                    self._run_segment(items[heapq.heappop(queue)], now, events)
        return now if ended == len(items) else None

    def _run_segment(self, item: Item, now: float, events: list[tuple[float, int, int]]) -> None:
        item.start = now
        for node in item.nodes:
            self.starts[node] = now
            now += self._clock.seconds[node]
            receiver = self._receiver.get(node)
            if receiver is not None:
                heapq.heappush(events, (now, _SENT, receiver))
        heapq.heappush(events, (now, _END, item.number))

    def order(self, name: str) -> tuple[list[Node], dict[Node, Node | None]]:
        """Returns the nodes of a device by start time, and for each Send the first node after the arrival."""
        nodes = self._partitions[name].nodes
        position = {node: place for place, node in enumerate(nodes)}
        order = sorted(nodes, key=lambda node: (self.starts[node], position[node]))
        moments = [self.starts[node] for node in order]
        until: dict[Node, Node | None] = {}
        for node in nodes:
            if node in self.arrivals:
                place = bisect_left(moments, self.arrivals[node])
                until[node] = order[place] if place < len(order) else None
        return order, until

    @cached_property
    def latest(self) -> list[float]:
        """The latest start of each item that does not lengthen the step (ALAP)."""
        assert self.finish is not None
        # Backwards over items by start time: an item may be later by the smallest room before its followers, the next
        # segment on its device and the receivers of what it sends, each extended by what these can be later themselves.
        following: dict[int, int] = {}
        segments: dict[str, int] = {}
        by_start = sorted(self.items, key=lambda item: (self.starts[item.nodes[0]], item.number))
        for item in by_start:
            if not item.waits:
                if item.device in segments:
                    following[segments[item.device]] = item.number
                segments[item.device] = item.number
        spare = [0.0] * len(self.items)
        for item in reversed(by_start):
            room = [self.finish - item.end]
            room += [self.items[f].start - item.end + spare[f] for f in self.followers[item.number]]
            if item.number in following:
                after = following[item.number]
                room.append(self.items[after].start - item.end + spare[after])
            for node in item.nodes:
                receiver = self._receiver.get(node)
                if receiver is not None:  # the tensor may arrive later if its consumers may run later
                    room.append(self.items[receiver].end - self.arrivals[node] + spare[receiver])
            spare[item.number] = max(0.0, min(room))
        return [item.start + spare[item.number] for item in self.items]
