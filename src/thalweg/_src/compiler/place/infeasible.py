"""Infeasible groups: the error for colocated nodes that fit no device, with their requests and the nearest one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg._src.base import errors
from thalweg._src.base.devices import DeviceSpec, matches
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.source_line import made_at

_MANY = 12  # members that are listed

DeviceTypes = Callable[[Node], set[str]]


def infeasible(
    group: Sequence[Node], devices: Sequence[str], device_types: DeviceTypes, what: str, culprit: Node, hint: str
) -> errors.InvalidArgumentError:
    """Returns the error that lists a group's members, their source lines and constraints, and the nearest device."""
    asked = {_device_type(node.device) for node in group if node.device}
    types = {node: _relevant(device_types(node), {*asked, *map(_device_type, devices)}) for node in group}
    common = set.intersection(*types.values())
    nearest = min(devices, key=lambda name: _distance(name, types))
    return errors.InvalidArgumentError(
        culprit,
        culprit,
        errors.describe(
            what,
            expected=f"one of {', '.join(devices)}; kernels exist for {', '.join(sorted(common)) or 'no type'}",
            received=_members(types, nearest) if len(group) > 1 else None,
            hint=f"nearest is {nearest}, {_lacking(nearest, types)}; {hint}",
            made_at=made_at(culprit.stack),
        ),
    )


def _relevant(types: set[str], device_types: set[str]) -> set[str]:
    """Drops device types that are neither available nor requested, unless there are no others."""
    return types & device_types or types


def _members(types: dict[Node, set[str]], nearest: str) -> str:
    """Returns one line per member, those first that rule out the nearest device."""
    order = sorted(types, key=lambda node: (not _objections(nearest, node, types[node]), not node.device))
    lines = [_member(node, types[node]) for node in order[:_MANY]]
    if len(order) > _MANY:
        lines.append(f"and {len(order) - _MANY} others")
    return f"{len(order)} colocated nodes" + "".join(f"\n    {line}" for line in lines)


def _member(node: Node, types: set[str]) -> str:
    request = f"requests {node.device}" if node.device else "requests no device"
    line = made_at(node.stack)
    text = f"'{node.name}' ({node.type}) {request}, has kernels for {', '.join(sorted(types)) or 'none'}"
    return f"{text}, defined at {line}" if line else text


def _objections(name: str, node: Node, types: set[str]) -> list[str]:
    objections = [] if _device_type(name) in types else [f"{node.type} has no kernel for it"]
    return objections if not node.device or matches(node.device, name) else [*objections, f"requests {node.device}"]


def _lacking(name: str, types: dict[Node, set[str]]) -> str:
    """Returns what rules out a device."""
    against = [(node, objection) for node in types for objection in _objections(name, node, types[node])]
    if not against:
        return "which is feasible"
    node, objection = against[0]
    rest = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
    return f"but '{node.name}' {objection}{rest}" if objection.startswith("requests") else f"but {objection}{rest}"


def _distance(name: str, types: dict[Node, set[str]]) -> tuple[int, int, int, int]:
    """Returns the distance of a device from what a group supports and requests: kernels weigh most, then requests."""
    without = sum(_device_type(name) not in types_of for types_of in types.values())
    unmet = sum(bool(node.device) and not matches(node.device, name) for node in types)
    have = DeviceSpec.from_string(name)
    fields = apart = 0
    for node in types:
        want = DeviceSpec.from_string(node.device) if node.device else DeviceSpec()
        for field in ("job", "replica", "task", "device_type"):
            requested = getattr(want, field)
            fields += requested is not None and requested != getattr(have, field)
        if want.device_index is not None:
            apart += abs(want.device_index - (have.device_index or 0))
    return without, unmet, fields, apart


def _device_type(name: str) -> str:
    return DeviceSpec.from_string(name).device_type or "CPU"
