"""Placement: the device of each node, with the reasons, as text and as pictures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from thalweg._src.config import RunMetadata
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.place.groups import Group
from thalweg._src.place.simulate import Schedule


class MemoryReport(Protocol):
    """Memory estimates of a step, which are made after partitioning."""

    def summary(self) -> Iterable[str]:
        """Returns the estimates as lines of text."""

    def write_to(self, metadata: RunMetadata) -> None:
        """Adds the estimates to what a step reports."""


@dataclass(slots=True)
class Placement:
    """The device of each node, and what had to be changed of the user's wishes.

    groups: what was placed together, with the devices that it could have gone to
    why: who chose among these
    schedule: the step as it was simulated, if it was
    memory: the order of its parts, and the memory that they are foreseen to take
    """

    devices: dict[Node, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    why: str = "first of the best kind"
    schedule: Schedule | None = None
    memory: MemoryReport | None = None

    def report(self, why: bool = False) -> str:
        """Returns a line a node, then the notes; with `why`, also feasible devices, reasons, and what was simulated."""
        if not why:
            lines = [f"{node.name}: ({node.type}): {device}" for node, device in self.devices.items()]
            return "\n".join(lines + self.notes)
        lines = _table(self._explained())
        if self.schedule is not None:
            lines += ["", *self.schedule.summary().splitlines()]
        if self.memory is not None:
            lines += ["", "memory foreseen:", *self.memory.summary()]
        return "\n".join(lines + ([""] if self.notes else []) + self.notes)

    def foretell(self, metadata: RunMetadata) -> None:
        """Adds the costs and the memory that were foreseen to what a step reports."""
        if self.memory is not None:
            self.memory.write_to(metadata)

    def _explained(self) -> Iterable[tuple[str, str, str, str, str]]:
        names = {device.rpartition("/device:")[0] for device in self.devices.values()}
        short = _last if len(names) == 1 else str
        group_of = {node: group for group in self.groups for node in group.nodes}
        yield "node", "op", "device", "feasible", "why"
        for node, device in self.devices.items():
            group = group_of.get(node)
            feasible = ", ".join(map(short, group.feasible)) if group else short(device)
            yield node.name, node.type, short(device), feasible, self._reason(node, group)

    def _reason(self, node: Node, group: Group | None) -> str:
        if group is None:
            return _REASONS.get(node.type, "with its variables") if self.groups else "the only device"
        reason = group.why if group.why and len(group.feasible) == 1 else self.why
        if group.why and len(group.feasible) > 1:
            reason = f"{group.why}; {self.why}"
        return reason if node is group.nodes[0] else f"with '{group.name}' ({reason})"


_REASONS = {
    "_Arg": "where it is used first",
    "Const": "where it is used",
    "_Send": "with what it sends",
    "_Recv": "where it is needed",
    "_While": "its part of the loop",
    "Cast": "for a transfer in bfloat16",
}


def _last(device: str) -> str:
    return device.rpartition("/device:")[2]


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
