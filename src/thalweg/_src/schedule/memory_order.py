"""Memory-aware list scheduling: candidate execution orders of a partition, and control edges that fix one."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from thalweg._src.graph.ir.step_graph import Node, StepGraph, waits
from thalweg._src.schedule.peak_memory import Buffers
from thalweg._src.schedule.timeline import transfer_key

Parts = Mapping[str, StepGraph]
Orders = dict[str, list[Node]]


def orders(parts: Parts, buffers: Mapping[str, Buffers], limited: Sequence[str]) -> Iterator[Orders]:
    """Yields orders for the devices that are short of memory, the one that changes least first.

    Each is part of one order of all devices' nodes, so whatever follows it does not wait for itself.
    """
    everything = _Everything(parts, limited)
    yield everything.order({node: place for place, node in enumerate(everything.nodes)})
    yield everything.order(everything.depth_first())
    yield everything.order(None, buffers)


class _Everything:
    """The nodes of all parts, with all that orders them: tensors, controls, transfers, and effects as written."""

    def __init__(self, parts: Parts, limited: Sequence[str]) -> None:
        self.nodes = [node for part in parts.values() for node in part.nodes]
        self._home = {node: name for name, part in parts.items() for node in part.nodes}
        self._roots = [node for part in parts.values() for node in part.roots()]
        self._limited = set(limited)
        self.before: dict[Node, set[Node]] = {node: set(node.predecessors()) for node in self.nodes}
        sends = {transfer_key(node): node for node in self.nodes if node.type == "_Send"}
        for node in self.nodes:
            if node.type == "_Recv" and transfer_key(node) in sends:
                self.before[node].add(sends[transfer_key(node)])
        for name in limited:
            effects = [node for node in parts[name].nodes if _has_effect(node)]
            for earlier, later in pairwise(effects):
                self.before[later].add(earlier)

    def depth_first(self) -> dict[Node, int]:
        """Returns the place of each node if all that one needs is done right before it."""
        place: dict[Node, int] = {}
        opened: set[Node] = set()
        stack = [*reversed(self._roots)]
        position = {node: i for i, node in enumerate(self.nodes)}
        while stack:
            node = stack[-1]
            if node in opened:
                stack.pop()
                place.setdefault(node, len(place))
                continue
            opened.add(node)
            earlier = [p for p in self.before[node] if p not in opened]
            stack += sorted(earlier, key=position.__getitem__, reverse=True)
        return place

    def order(self, rank: Mapping[Node, int] | None, buffers: Mapping[str, Buffers] | None = None) -> Orders:
        """Runs what other devices do as soon as it can be, and of the limited ones' nodes the best ranked.

        Without ranks, the best is the one after which least is held.
        """
        gain = _Gain(buffers, self._home, self._limited) if buffers is not None else None
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
            if self._home[node] not in self._limited:
                free.append(node)
                return
            key = gain.of(node) if gain is not None else (rank or {}).get(node, 0)
            heapq.heappush(ready, (key, position[node]))

        for node in self.nodes:
            if not left[node]:
                offer(node)
        while free or ready:
            node = free.pop() if free else self.nodes[heapq.heappop(ready)[1]]
            if node in done:  # was offered again at a better price
                continue
            done.add(node)
            if self._home[node] in self._limited:
                result[self._home[node]].append(node)
                for other in gain.run(node) if gain is not None else ():
                    if not left[other] and other not in done:
                        offer(other)
            for follower in followers[node]:
                left[follower] -= 1
                if not left[follower]:
                    offer(follower)
        return result


class _Gain:
    """What running a node adds to the memory of its device, as the step goes on."""

    def __init__(self, buffers: Mapping[str, Buffers], home: Mapping[Node, str], limited: set[str]) -> None:
        self._buffers = buffers
        self._home = home
        self._needed = {name: buffers[name].needed() for name in limited}
        self._done: set[Node] = set()

    def of(self, node: Node) -> int:
        known, needed = self._buffers[self._home[node]], self._needed[self._home[node]]
        made = sum(known.sizes[b] for b in known.gives[node] if needed[b])
        return made - sum(known.sizes[b] for b in known.takes[node] if needed[b] == 1)

    def run(self, node: Node) -> list[Node]:
        """Notes that a node has run; returns those that are now the last to need something."""
        known, needed = self._buffers[self._home[node]], self._needed[self._home[node]]
        self._done.add(node)
        changed = []
        for buffer in known.takes[node]:
            needed[buffer] -= 1
            if needed[buffer] == 1 and buffer not in known.stays:
                changed += [reader for reader in known.readers[buffer] if reader not in self._done]
        return changed


def _has_effect(node: Node) -> bool:
    """Returns whether a node keeps its place among those with effects; what it sends or receives has places by key."""
    return node.facts.stateful and not node.facts.instant and node.type not in ("_Send", "_Recv")


def linearize(part: StepGraph, order: Sequence[Node]) -> None:
    """Makes an order the one in which a part runs.

    Others would overtake a blocking node: so it starts after what comes before it, and what comes after waits for it.
    """
    part.nodes = list(order)
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
