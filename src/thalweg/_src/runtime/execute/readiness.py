"""Readiness: which segments and blocking nodes of a program can start, and which values are no longer needed.

A pure state machine: finished items and used values go in, ready items and values to drop come out. It holds no values
and uses no threads, locks or clocks; its caller makes one call at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from thalweg._src.graph.ir.step_graph import Node, Output

Item = Node | int  # a blocking node, or a segment by its index


class Schedule:
    """The dependencies of each segment and blocking node of a program, computed once for all runs."""

    __slots__ = ("followers", "uses", "waits", "works")

    def __init__(
        self, before: Mapping[Item, Collection[Item]], taken: Iterable[Output], works: Sequence[bool] = ()
    ) -> None:
        """Counts the predecessors of each item (`before`) and the uses of each value (`taken` lists it once per use).

        works: whether each segment has anything to run
        """
        # Kahn's algorithm, split into what is the same in every run and the counters of one run: each item counts its
        # distinct predecessors, and becomes ready with the last of them. A value is dropped with its last use; fetches
        # count as uses that never happen, so that they are never dropped.
        self.waits: dict[Item, int] = {item: len(earlier) for item, earlier in before.items()}
        self.followers: dict[Item, list[Item]] = {}
        for item, earlier in before.items():
            for e in earlier:
                self.followers.setdefault(e, []).append(item)
        self.uses: dict[Output, int] = {}
        for output in taken:
            self.uses[output] = self.uses.get(output, 0) + 1
        self.works = works


class Readiness:
    """The counters of one run: call `start` once, then `finished` once for each item that either has returned."""

    __slots__ = ("_followers", "left", "over", "uses", "waits")

    def __init__(self, schedule: Schedule) -> None:
        self._followers = schedule.followers
        self.waits = dict(schedule.waits)
        self.uses = dict(schedule.uses)
        self.left = len(self.waits)  # items that have not finished
        self.over = not self.left

    def start(self) -> list[Item]:
        """Returns the items that wait for nothing."""
        return [item for item, count in self.waits.items() if count == 0]

    def finished(self, item: Item) -> list[Item]:
        """Returns the items that become ready when one finishes; after the last one, `over` is set."""
        self.left -= 1
        self.over = self.left == 0
        ready = []
        for follower in self._followers.get(item, ()):
            self.waits[follower] -= 1
            if self.waits[follower] == 0:
                ready.append(follower)
        return ready

    def used(self, output: Output) -> bool:
        """Returns whether this was the last use of a value, so that it may be dropped."""
        self.uses[output] -= 1
        return self.uses[output] == 0
