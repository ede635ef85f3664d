"""Memory-aware list scheduling: candidate execution orders of a partition, and control edges that fix one."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from thalweg._src.compiler.schedule.peak_memory import Buffers
from thalweg._src.compiler.schedule.timeline import transfer_key
from thalweg._src.graph.ir.step_graph import Node, StepGraph, waits
from thalweg._src.graph.walk import postorder

Partitions = Mapping[str, StepGraph]
Orders = dict[str, list[Node]]


def orders(partitions: Partitions, buffers: Mapping[str, Buffers], limited: Sequence[str]) -> Iterator[Orders]:
    """Yields execution orders for the devices that are short of memory, the one that changes least first.

    Each is the projection of one topological order of all devices' nodes, so that it cannot deadlock.
    """
    graph = _GlobalGraph(partitions, limited)
    yield graph.order({node: place for place, node in enumerate(graph.nodes)})
    yield graph.order(graph.depth_first())
    yield graph.order(None, buffers)


class _GlobalGraph:
    """The nodes of all partitions and their dependencies: tensors, controls, transfers, effects in program order."""

    def __init__(self, partitions: Partitions, limited: Sequence[str]) -> None:
        self.nodes = [node for partition in partitions.values() for node in partition.nodes]
        self._device_of = {node: name for name, partition in partitions.items() for node in partition.nodes}
        self._roots = [node for partition in partitions.values() for node in partition.roots()]
        self._limited = set(limited)
        # Dependencies across all devices: a receive comes after its send. With orders that are projections of one
        # topological order of this graph, no two devices can wait for each other. On devices that are reordered,
        # effects stay in program order, since they may be visible to each other without an edge.
        self.before: dict[Node, set[Node]] = {node: set(node.predecessors()) for node in self.nodes}
        sends = {transfer_key(node): node for node in self.nodes if node.type == "_Send"}
        for node in self.nodes:
            if node.type == "_Recv" and transfer_key(node) in sends:
                self.before[node].add(sends[transfer_key(node)])
        for name in limited:
            effects = [node for node in partitions[name].nodes if _has_effect(node)]
            for earlier, later in pairwise(effects):
                self.before[later].add(earlier)

    def depth_first(self) -> dict[Node, int]:
        """Returns the position of each node in depth-first postorder: the inputs of a node run right before it."""
        position = {node: i for i, node in enumerate(self.nodes)}
        order = postorder(self._roots, lambda node: sorted(self.before[node], key=position.__getitem__))
        return {node: place for place, node in enumerate(order)}

    def order(self, rank: Mapping[Node, int] | None, buffers: Mapping[str, Buffers] | None = None) -> Orders:
        """Returns the execution order of the limited devices: always the ready node with the smallest rank.

        Nodes of other devices run as soon as they are ready. Without ranks, the node that adds least memory runs next.
        """
        # List scheduling. The key of a ready node changes when it becomes the last reader of a buffer; it is then
        # pushed again with the smaller key, and the stale entry is skipped when it comes up.
        gain = _Gain(buffers, self._device_of, self._limited) if buffers is not None else None
        left = {node: len(before) for node, before in self.before.items()}
        followers: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node, before in self.before.items():
            for earlier in before:
                followers[earlier].append(node)
        position = {node: place for place, node in enumerate(self.nodes)}
        ready: list[tuple[int, int]] = []
        free: list[Node] = []
        result: Orders = {name: [] for name in self._limited}
        done: set[Node] = set()

        def offer(node: Node) -> None:
            if self._device_of[node] not in self._limited:
                free.append(node)
                return
            key = gain.of(node) if gain is not None else (rank or {}).get(node, 0)
            heapq.heappush(ready, (key, position[node]))

        for node in self.nodes:
            if not left[node]:
                offer(node)
        while free or ready:
            node = free.pop() if free else self.nodes[heapq.heappop(ready)[1]]
            if node in done:  # pushed again later, with a smaller key
                continue
            done.add(node)
            if self._device_of[node] in self._limited:
                result[self._device_of[node]].append(node)
                for other in gain.run(node) if gain is not None else ():
                    if not left[other] and other not in done:
                        offer(other)
            for follower in followers[node]:
                left[follower] -= 1
                if not left[follower]:
                    offer(follower)
        return result


class _Gain:
    """The bytes that running a node adds to the memory of its device, given the nodes that have run."""

    def __init__(self, buffers: Mapping[str, Buffers], device_of: Mapping[Node, str], limited: set[str]) -> None:
        self._buffers = buffers
        self._device_of = device_of
        self._needed = {name: buffers[name].needed() for name in limited}
        self._done: set[Node] = set()

    def of(self, node: Node) -> int:
        buffers, needed = self._buffers[self._device_of[node]], self._needed[self._device_of[node]]
        produced = sum(buffers.sizes[b] for b in buffers.gives[node] if needed[b])
        return produced - sum(buffers.sizes[b] for b in buffers.takes[node] if needed[b] == 1)

    def run(self, node: Node) -> list[Node]:
        """Marks a node as run; returns the nodes that have become the last reader of a buffer."""
        buffers, needed = self._buffers[self._device_of[node]], self._needed[self._device_of[node]]
        self._done.add(node)
        changed = []
        for buffer in buffers.takes[node]:
            needed[buffer] -= 1
            if needed[buffer] == 1 and buffer not in buffers.stays:
                changed += [reader for reader in buffers.readers[buffer] if reader not in self._done]
        return changed


def _has_effect(node: Node) -> bool:
    """Returns whether a node stays in program order among nodes with effects; transfers are ordered by their keys."""
    return node.facts.stateful and not node.facts.instant and node.type not in ("_Send", "_Recv")


def linearize(partition: StepGraph, order: Sequence[Node]) -> None:
    """Fixes the execution order of a partition.

    The executor runs other nodes while a node blocks, so control edges tie each blocking node to its neighbours.
    """
    # A node that blocks lets the executor run any segment that is ready. To keep the order, each blocking node waits
    # for the last node before it, and each later node for all blocking ones before it, unless other edges say so
    # already: the masks hold the blocking ancestors as bits.
    partition.nodes = list(order)
    waiting: list[Node] = []
    bit: dict[Node, int] = {}
    mask: dict[Node, int] = {}
    last: Node | None = None
    for place, node in enumerate(order):
        node.order = place
        waited = 0
        for producer in node.predecessors():
            waited |= mask[producer] | bit.get(producer, 0)
        if waits(node):
            if last is not None and last not in node.controls:
                node.controls = [*node.controls, last]
                waited |= mask[last]
            bit[node] = 1 << len(waiting)
            waiting.append(node)
        elif not node.facts.instant:
            missing = ((1 << len(waiting)) - 1) & ~waited
            if missing:
                node.controls = [*node.controls, *(w for w in waiting if bit[w] & missing)]
                waited |= missing
            last = node
        mask[node] = waited
