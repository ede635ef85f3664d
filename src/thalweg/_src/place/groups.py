"""Groups: nodes that must stay together, and the devices that each group may go to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thalweg._src import dtypes, errors
from thalweg._src.devices import DeviceSpec, matches, merge_devices
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.place.impossible import DeviceTypes as DeviceTypes, impossible

_PREFERENCE = {"GPU": 0, "CPU": 2}  # other accelerators are between


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that go to one device.

    feasible: where all of them can run and may, as the user asked
    preferred: the first of these of the best kind
    why: what narrowed the choice, for people
    """

    nodes: list[Node]
    feasible: tuple[str, ...]
    preferred: str
    why: str = ""
    index: int = -1  # among the groups that a placer is asked about

    @property
    def name(self) -> str:
        return self.nodes[0].name

    def fix(self, device: str, why: str) -> None:
        """Leaves one device to choose from."""
        self.feasible, self.preferred, self.why = (device,), device, why

    def __repr__(self) -> str:
        return f"<Group {self.name!r} of {len(self.nodes)}>"


class Together:
    """Joins things that belong together, one pair after the other."""

    def __init__(self) -> None:
        self._leader: dict[object, object] = {}

    def leader(self, item: object) -> object:
        """Returns the one that stands for all that were joined with an item."""
        leader = self._leader
        while leader.setdefault(item, item) is not item:
            leader[item] = leader[leader[item]]
            item = leader[item]
        return item

    def join(self, item: object, other: object) -> None:
        self._leader[self.leader(item)] = self.leader(other)


def colocate(step: StepGraph) -> Together:
    """Joins nodes that name the same colocation class, and whatever touches a resource with its handle."""
    together = Together()
    nodes = dict.fromkeys(step.everything())
    by_name = {node.name: node for node in nodes}
    for node in nodes:
        for name in node.attrs.get("_class", ()):
            target = name.removeprefix("loc:@")
            together.join(node, by_name.get(target, target))
        for index, output in enumerate(node.inputs):
            if node.input_dtype(index) is dtypes.resource:
                user = node.attrs["region"].body.feeds[index] if node.type == "_While" else node
                together.join(user, holder(output))
        if node.type == "_While":
            for argument, output in zip(node.attrs["region"].body.feeds, node.attrs["region"].body.fetches):
                if argument.dtypes[0] is dtypes.resource:
                    together.join(argument, holder(output))
    return together


def gather(nodes: Iterable[Node], together: Together) -> list[list[Node]]:
    """Returns the nodes in their groups, in the order of each group's first."""
    groups: dict[object, list[Node]] = {}
    for node in dict.fromkeys(nodes):
        groups.setdefault(together.leader(node), []).append(node)
    return list(groups.values())


def holder(output: Output) -> Node:
    """Returns the node that a value stays with: of one that a loop leaves, the variable that carries it."""
    node, index = output
    holding: Node = node.attrs["region"].body.feeds[index] if node.type == "_While" else node
    return holding


# -- where a group may go ---------------------------------------------------------------------------------------------


def constrain(
    nodes: list[Node], devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]
) -> Group:
    """Returns a group with the devices it may go to; raises if there are none."""
    requested = _request(nodes, devices, device_types, soft, notes)
    kinds = kernels(nodes, device_types)
    able = [name for name in devices if kind(name) in kinds]
    chosen = [name for name in able if not requested or matches(requested, name)]
    why = f"asked for {requested}" if requested else ""
    if not chosen and soft and able:
        chosen = able
        notes.append(f"{nodes[0].name}: asked for {requested}, soft placement chose {best(able)}")
        why = f"asked for {requested}, which cannot be had"
    if not chosen:
        raise _unplaceable(nodes, requested, devices, device_types)
    if not why and len(able) < len(devices):
        why = f"kernels for {', '.join(sorted(kinds))} alone"
    return Group(nodes, tuple(chosen), best(chosen), why)


def kernels(nodes: Iterable[Node], device_types: DeviceTypes) -> set[str]:
    """Returns the kinds of device that all of some nodes can run on."""
    return set.intersection(*[device_types(node) for node in nodes if node.type != "_Arg"] or [{"CPU"}])


def best(names: Sequence[str]) -> str:
    return min(names, key=lambda name: _PREFERENCE.get(kind(name), 1))


@lru_cache(maxsize=4096)
def kind(device: str) -> str:
    """Returns the type in a device's name."""
    return DeviceSpec.from_string(device).device_type or "CPU"


def _request(group: list[Node], devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]) -> str:
    """Merges what the nodes of a group ask for; two that contradict each other cannot both be had."""
    requested, asker = "", group[0]
    for node in group:
        if not node.device or node.device == requested:
            continue
        merged = merge_devices(requested, node.device) if requested else node.device
        if requested and not (matches(requested, merged) and matches(node.device, merged)):
            if not soft:
                what = f"Cannot colocate nodes '{node.name}' and '{asker.name}': {node.device} is not {requested}"
                hint = "allow_soft_placement=True follows the first of them"
                raise impossible(group, devices, device_types, what, node, hint)
            notes.append(f"{node.name}: asked for {node.device}, colocated with a node on {requested}")
            continue
        requested, asker = merged, node
    return requested


def _unplaceable(
    group: list[Node], requested: str, devices: Sequence[str], device_types: DeviceTypes
) -> errors.InvalidArgumentError:
    """Returns the error for a group that no device has kernels for, or not the one it asks for."""
    node = next((node for node in group if node.device), group[0])
    wanted = [name for name in devices if not requested or matches(requested, name)]
    if not wanted:
        what = f"{node.name!r} cannot be placed on '{requested}': no such device"
        hint = "allow_soft_placement=True uses another device where this one is missing"
    else:
        node = next((n for n in group if all(kind(name) not in device_types(n) for name in wanted)), node)
        place = f" on '{requested}'" if requested else ""
        what = f"{node.name!r} cannot be placed{place}: {node.type} has no kernel for it"
        hint = "place the operation on a device that has one"
        if all(any(kind(name) in device_types(n) for name in wanted) for n in group):
            what = f"{node.name!r} cannot be placed{place}: no kind of device has kernels for all that stay with it"
            hint = "colocate fewer operations"
    return impossible(group, devices, device_types, what, node, hint)
