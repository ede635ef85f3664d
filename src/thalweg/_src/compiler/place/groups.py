"""Colocation groups: nodes that must be on one device, and the feasible devices of each group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thalweg._src.base import dtypes, errors
from thalweg._src.base.devices import DeviceSpec, matches, merge_devices
from thalweg._src.compiler.place.infeasible import DeviceTypes as DeviceTypes, infeasible
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

_PREFERENCE = {"GPU": 0, "CPU": 2}  # other accelerators rank between
_STRING_HANDLES = ("Barrier", "SparseConditionalAccumulator")  # ops whose handles have the type string


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that are placed on one device.

    feasible: devices with kernels for all of them that satisfy the user's requests
    preferred: the first feasible device of the best device type
    why: what restricted the choice, for reports
    """

    nodes: list[Node]
    feasible: tuple[str, ...]
    preferred: str
    why: str = ""
    index: int = -1  # among the groups of a placement problem

    @property
    def name(self) -> str:
        return self.nodes[0].name

    def fix(self, device: str, why: str) -> None:
        """Fixes the device of the group."""
        self.feasible, self.preferred, self.why = (device,), device, why

    def __repr__(self) -> str:
        return f"<Group {self.name!r} of {len(self.nodes)}>"


class DisjointSets:
    """Union-find: merges items into disjoint sets, pair by pair."""

    def __init__(self) -> None:
        self._leader: dict[object, object] = {}

    def leader(self, item: object) -> object:
        """Returns the representative of an item's set."""
        leader = self._leader
        while leader.setdefault(item, item) is not item:
            leader[item] = leader[leader[item]]
            item = leader[item]
        return item

    def join(self, item: object, other: object) -> None:
        self._leader[self.leader(item)] = self.leader(other)


def colocate(step: StepGraph) -> DisjointSets:
    """Merges nodes that name the same colocation class, and nodes that use a resource with its handle."""
    # A resource lives on one device, and only kernels there can reach it: every user of a handle is on the device of
    # the handle, also through the arguments and results of loops. What the user colocates by name is joined in the same
    # sets.
    sets = DisjointSets()
    nodes = dict.fromkeys(step.everything())
    by_name = {node.name: node for node in nodes}
    for node in nodes:
        for name in node.attrs.get("_class", ()):
            target = name.removeprefix("loc:@")
            sets.join(node, by_name.get(target, target))
        for index, output in enumerate(node.inputs):
            if _is_handle(output):
                user = node.attrs["region"].body.feeds[index] if node.type == "_While" else node
                sets.join(user, holder(output))
        if node.type == "_While":
            for argument, output in zip(node.attrs["region"].body.feeds, node.attrs["region"].body.fetches):
                if argument.dtypes[0] is dtypes.resource:
                    sets.join(argument, holder(output))
    return sets


def _is_handle(output: Output) -> bool:
    node, index = output
    return node.dtypes[index] is dtypes.resource or node.type in _STRING_HANDLES


def _uses_handle(node: Node) -> bool:
    return any(map(_is_handle, node.inputs))


def gather(nodes: Iterable[Node], sets: DisjointSets) -> list[list[Node]]:
    """Returns the nodes by group, ordered by the first node of each group."""
    groups: dict[object, list[Node]] = {}
    for node in dict.fromkeys(nodes):
        groups.setdefault(sets.leader(node), []).append(node)
    return list(groups.values())


def holder(output: Output) -> Node:
    """Returns the node that a value is colocated with: for a result of a loop, the argument that carries it."""
    node, index = output
    holding: Node = node.attrs["region"].body.feeds[index] if node.type == "_While" else node
    return holding


# -- where a group may go ---------------------------------------------------------------------------------------------


def constrain(
    nodes: list[Node], devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]
) -> Group:
    """Returns a group with its feasible devices; raises if there are none."""
    # Feasible is what has kernels for all nodes of the group and matches the merged request. Soft placement gives up
    # the request, never the kernels.
    requested = _request(nodes, devices, device_types, soft, notes)
    types = kernels(nodes, device_types)
    able = [name for name in devices if device_type(name) in types]
    chosen = [name for name in able if not requested or matches(requested, name)]
    why = f"requested {requested}" if requested else ""
    if not chosen and soft and able:
        chosen = able
        notes.append(f"{nodes[0].name}: requested {requested}, soft placement chose {best(able)}")
        why = f"requested {requested}, which is not available"
    if not chosen:
        raise _unplaceable(nodes, requested, devices, device_types)
    if not why and len(able) < len(devices):
        why = f"kernels for {', '.join(sorted(types))} only"
    return Group(nodes, tuple(chosen), best(chosen), why)


def kernels(nodes: Iterable[Node], device_types: DeviceTypes) -> set[str]:
    """Returns the device types that all of the nodes have kernels for.

    A node without any kernel goes where the others go, and is refused when it is bound, in the same words everywhere.
    """
    type_sets = [types for node in nodes if node.type != "_Arg" and (types := device_types(node))]
    return set.intersection(*type_sets or [{"CPU"}])


def best(names: Sequence[str]) -> str:
    return min(names, key=lambda name: _PREFERENCE.get(device_type(name), 1))


@lru_cache(maxsize=4096)
def device_type(device: str) -> str:
    """Returns the type in a device name."""
    return DeviceSpec.from_string(device).device_type or "CPU"


def _request(group: list[Node], devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]) -> str:
    """Merges the device requests of a group; conflicting requests are an error, or noted under soft placement.

    An operation that uses a resource runs where the resource is, whatever device it requests.
    """
    # Users of a handle come last: the variable's own request counts first, and theirs cannot contradict it.
    requested, asker = "", group[0]
    for node in sorted(group, key=_uses_handle):
        if not node.device or node.device == requested:
            continue
        merged = merge_devices(requested, node.device) if requested else node.device
        if requested and not (matches(requested, merged) and matches(node.device, merged)):
            if not soft and not _uses_handle(node):
                what = f"Cannot colocate nodes '{node.name}' and '{asker.name}': {node.device} is not {requested}"
                hint = "allow_soft_placement=True follows the first of them"
                raise infeasible(group, devices, device_types, what, node, hint)
            notes.append(f"{node.name}: requested {node.device}, colocated with a node on {requested}")
            continue
        requested, asker = merged, node
    return requested


def _unplaceable(
    group: list[Node], requested: str, devices: Sequence[str], device_types: DeviceTypes
) -> errors.InvalidArgumentError:
    """Returns the error for a group without a feasible device."""
    node = next((node for node in group if node.device), group[0])
    requested_devices = [name for name in devices if not requested or matches(requested, name)]
    if not requested_devices:
        reason = f"was explicitly assigned to {requested} but available devices are [ {', '.join(devices)} ]. "
        reason += "Make sure the device specification refers to a valid device."
        what = f"Cannot assign a device for operation {node.name}: {node.name} {reason}"
        hint = "allow_soft_placement=True uses another device where this one is missing"
    else:
        node = next(
            (n for n in group if all(device_type(name) not in device_types(n) for name in requested_devices)), node
        )
        place = f" on '{requested}'" if requested else ""
        what = f"Cannot assign a device for operation {node.name}{place}: {node.type} has no kernel for it"
        hint = "place the operation on a device that has one"
        if all(any(device_type(name) in device_types(n) for name in requested_devices) for n in group):
            what = f"Cannot assign a device for operation {node.name}{place}: "
            what += "no device type has kernels for all nodes colocated with it"
            hint = "colocate fewer operations"
    return infeasible(group, devices, device_types, what, node, hint)
