"""Impossible: the error for nodes that must stay together and fit no device: who asks for what, what comes nearest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg._src import errors
from thalweg._src.devices import DeviceSpec, matches
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.source_line import made_at

_MANY = 12  # members that are listed

DeviceTypes = Callable[[Node], set[str]]


def impossible(
    group: Sequence[Node], devices: Sequence[str], device_types: DeviceTypes, what: str, culprit: Node, hint: str
) -> errors.InvalidArgumentError:
    """Returns the error that lists a group's members with their lines and constraints, and the nearest device."""
    asked = {_kind(node.device) for node in group if node.device}
    kinds = {node: _of_interest(device_types(node), {*asked, *map(_kind, devices)}) for node in group}
    common = set.intersection(*kinds.values())
    nearest = min(devices, key=lambda name: _distance(name, kinds))
    return errors.InvalidArgumentError(
        culprit,
        culprit,
        errors.describe(
            what,
            expected=f"one of {', '.join(devices)}; kernels exist for {', '.join(sorted(common)) or 'no type'}",
            received=_members(kinds, nearest) if len(group) > 1 else None,
            hint=f"nearest is {nearest}, {_lacking(nearest, kinds)}; {hint}",
            made_at=made_at(culprit.stack),
        ),
    )


def _of_interest(kinds: set[str], known: set[str]) -> set[str]:
    """Leaves out kinds of device that neither are there nor were asked for, unless there are no others."""
    return kinds & known or kinds


def _members(kinds: dict[Node, set[str]], nearest: str) -> str:
    """Returns a line a member, those first that stand in the way."""
    order = sorted(kinds, key=lambda node: (not _objections(nearest, node, kinds[node]), not node.device))
    lines = [_member(node, kinds[node]) for node in order[:_MANY]]
    if len(order) > _MANY:
        lines.append(f"and {len(order) - _MANY} others")
    return f"{len(order)} nodes that stay together" + "".join(f"\n    {line}" for line in lines)


def _member(node: Node, kinds: set[str]) -> str:
    wish = f"asks for {node.device}" if node.device else "asks for no device"
    line = made_at(node.stack)
    text = f"'{node.name}' ({node.type}) {wish}, has kernels for {', '.join(sorted(kinds)) or 'none'}"
    return f"{text}, made at {line}" if line else text


def _objections(name: str, node: Node, kinds: set[str]) -> list[str]:
    found = [] if _kind(name) in kinds else [f"{node.type} has no kernel for it"]
    return found if not node.device or matches(node.device, name) else [*found, f"asks for {node.device}"]


def _lacking(name: str, kinds: dict[Node, set[str]]) -> str:
    """Says what stands against a device."""
    against = [(node, objection) for node in kinds for objection in _objections(name, node, kinds[node])]
    if not against:
        return "which would do"
    node, objection = against[0]
    rest = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
    return f"but '{node.name}' {objection}{rest}" if objection.startswith("asks") else f"but {objection}{rest}"


def _distance(name: str, kinds: dict[Node, set[str]]) -> tuple[int, int, int, int]:
    """Returns how far a device is from what a group can use and asks for: kernels count most, then wishes."""
    without = sum(_kind(name) not in found for found in kinds.values())
    unmet = sum(bool(node.device) and not matches(node.device, name) for node in kinds)
    have = DeviceSpec.from_string(name)
    fields = apart = 0
    for node in kinds:
        want = DeviceSpec.from_string(node.device) if node.device else DeviceSpec()
        for field in ("job", "replica", "task", "device_type"):
            wanted = getattr(want, field)
            fields += wanted is not None and wanted != getattr(have, field)
        if want.device_index is not None:
            apart += abs(want.device_index - (have.device_index or 0))
    return without, unmet, fields, apart


def _kind(name: str) -> str:
    return DeviceSpec.from_string(name).device_type or "CPU"
