"""Placement: the device of each node and the reasons, as a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from thalweg._src.base.config import RunMetadata
from thalweg._src.base.devices import task_of
from thalweg._src.compiler.place.groups import Group
from thalweg._src.compiler.place.simulate import Schedule
from thalweg._src.graph.ir.step_graph import Node


class MemoryReport(Protocol):
    """Memory estimates of a step, which are made after partitioning."""

    def summary(self) -> Iterable[str]:
        """Returns the estimates as lines of text."""

    def write_to(self, metadata: RunMetadata) -> None:
        """Adds the estimates to the metadata of a step."""


@dataclass(slots=True)
class Placement:
    """The device of each node, and the user's requests that could not be satisfied.

    groups: the colocation groups with their feasible devices
    why: the placer that chose among these
    schedule: the simulated step, if the placer simulates
    memory: the execution order of the partitions, and the memory that they are estimated to need
    """

    devices: dict[Node, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    why: str = "first of the best type"
    schedule: Schedule | None = None
    memory: MemoryReport | None = None

    def report(self, why: bool = False) -> str:
        """Returns one line per node, then notes; with `why`, also feasible devices, reasons, and simulated times."""
        if not why:
            lines = [f"{node.name}: ({node.type}): {device}" for node, device in self.devices.items()]
            return "\n".join(lines + self.notes)
        lines = _table(self._explained())
        if self.schedule is not None:
            lines += ["", *self.schedule.summary().splitlines()]
        if self.memory is not None:
            lines += ["", "estimated memory:", *self.memory.summary()]
        return "\n".join(lines + ([""] if self.notes else []) + self.notes)

    def report_estimates(self, metadata: RunMetadata) -> None:
        """Adds the estimated costs and memory to the metadata of a step."""
        if self.memory is not None:
            self.memory.write_to(metadata)

    def _explained(self) -> Iterable[tuple[str, str, str, str, str]]:
        seen = {*self.devices.values(), *(device for group in self.groups for device in group.feasible)}
        short = _last if len(set(map(task_of, seen))) == 1 else str
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
    "_Arg": "on the device of its first consumer",
    "Const": "wherever it is used",
    "_Send": "with the tensor it sends",
    "_Recv": "where it is needed",
    "_While": "its partition of the loop",
    "Cast": "for a transfer in bfloat16",
}


def _last(device: str) -> str:
    return device.rpartition("/device:")[2]


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
