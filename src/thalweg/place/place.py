"""Place: feasible devices from kernels, requests and colocation, then the first of the best kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from thalweg import dtypes, errors
from thalweg.devices import DeviceSpec, matches, merge_devices
from thalweg.graph.source_line import made_at
from thalweg.graph.step_graph import Node, Output, Region, StepGraph

DeviceTypes = Callable[[Node], set[str]]
_PREFERENCE = ("GPU", "CPU")
_ANYWHERE = ("_Arg", "Const")  # in a loop: what is there on every device that needs it


@dataclass(slots=True)
class Placement:
    """The device of each node, and what had to be changed of the user's wishes."""

    devices: dict[Node, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def report(self) -> str:
        """Returns a line a node, then the notes on soft placement."""
        lines = [f"{node.name}: ({node.type}): {device}" for node, device in self.devices.items()]
        return "\n".join(lines + self.notes)


def place(step: StepGraph, devices: Sequence[str], device_types: DeviceTypes, soft: bool) -> Placement:
    """Chooses a device for each group of nodes that must stay together."""
    placement = Placement()
    if len(devices) == 1 and not any(node.device for node in step.everything()):
        placement.devices = dict.fromkeys(step.nodes, devices[0])  # the usual case, and nothing to decide
        return placement
    for group in _groups(step):
        if group[0].type != "_Arg" or len(group) > 1:
            chosen = _choose(group, devices, device_types, soft, placement.notes)
            placement.devices.update(dict.fromkeys(group, chosen))
    _place_loops(step, placement.devices)
    _place_feeds(step, placement, devices[0])
    return placement


def _place_feeds(step: StepGraph, placement: Placement, host: str) -> None:
    """Puts each feed where it is used first; from there it is sent to its other users."""
    for node in step.nodes:
        for producer, _ in node.inputs:
            if producer.type == "_Arg":
                placement.devices.setdefault(producer, placement.devices[node])
    for node in step.nodes:
        placement.devices.setdefault(node, host)


def _place_loops(step: StepGraph, devices: dict[Node, str]) -> None:
    """Puts each loop where its condition is decided, and each value it carries where the next one is made."""
    for loop in [node for node in step.nodes if node.type == "_While"]:
        region: Region = loop.attrs["region"]
        for part in region.parts():
            _place_loops(part, devices)
        inside = dict.fromkeys(devices[n] for part in region.parts() for n in part.nodes if n.type not in _ANYWHERE)
        arguments = region.body.feeds
        if inside:
            devices[loop] = next(iter(inside))
        decided = _home(region.condition.fetches[0], devices)
        if decided is not None and decided in inside:
            devices[loop] = decided
        for _ in arguments:  # as often as a value can be passed on from one variable to the next
            for argument, following in zip(arguments, region.body.fetches):
                home = _home(following, devices)
                if argument not in devices and home in inside:
                    devices[argument] = home
        for argument in arguments:
            devices.setdefault(argument, devices[loop])


def _home(output: Output, devices: dict[Node, str]) -> str | None:
    """Returns where a value is, if that is decided."""
    return devices.get(_holder(output))


def _holder(output: Output) -> Node:
    """Returns the node that a value stays with: of one that a loop leaves, the variable that carries it."""
    node, index = output
    holder: Node = node.attrs["region"].body.feeds[index] if node.type == "_While" else node
    return holder


def _groups(step: StepGraph) -> list[list[Node]]:
    """Joins nodes that name the same colocation class, and whatever touches a resource with its handle."""
    leader: dict[object, object] = {}

    def find(item: object) -> object:
        while leader.setdefault(item, item) is not item:
            leader[item] = leader[leader[item]]
            item = leader[item]
        return item

    nodes = dict.fromkeys(step.everything())
    by_name = {node.name: node for node in nodes}
    for node in nodes:
        for name in node.attrs.get("_class", ()):
            target = name.removeprefix("loc:@")
            leader[find(node)] = find(by_name.get(target, target))
        for index, output in enumerate(node.inputs):
            if node.input_dtype(index) is dtypes.resource:
                user = node.attrs["region"].body.feeds[index] if node.type == "_While" else node
                leader[find(user)] = find(_holder(output))
        if node.type == "_While":
            for argument, output in zip(node.attrs["region"].body.feeds, node.attrs["region"].body.fetches):
                if argument.dtypes[0] is dtypes.resource:
                    leader[find(argument)] = find(_holder(output))
    groups: dict[object, list[Node]] = {}
    for node in nodes:
        groups.setdefault(find(node), []).append(node)
    return list(groups.values())


def _choose(group: list[Node], devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]) -> str:
    requested = _request(group, soft, notes)
    feasible = set.intersection(*[device_types(node) for node in group if node.type != "_Arg"] or [{"CPU"}])
    able = [name for name in devices if DeviceSpec.from_string(name).device_type in feasible]
    chosen = [name for name in able if not requested or matches(requested, name)]
    if not chosen and soft and able:
        chosen = able
        notes.append(f"{group[0].name}: asked for {requested}, soft placement chose {_best(able)}")
    if not chosen:
        raise _impossible(group, requested, devices, feasible)
    return _best(chosen)


def _best(names: Sequence[str]) -> str:
    return min(names, key=lambda name: _PREFERENCE.index(DeviceSpec.from_string(name).device_type or "CPU"))


def _request(group: list[Node], soft: bool, notes: list[str]) -> str:
    """Merges what the nodes of a group ask for; two that contradict each other cannot both be had."""
    requested, asker = "", None
    for node in group:
        if not node.device or node.device == requested:
            continue
        merged = merge_devices(requested, node.device) if requested else node.device
        if requested and not (matches(requested, merged) and matches(node.device, merged)):
            if not soft:
                raise errors.InvalidArgumentError(
                    node,
                    node,
                    errors.describe(
                        f"Cannot colocate nodes '{node.name}' and '{asker.name if asker else ''}'",
                        expected="nodes of one colocation group to ask for one device",
                        received=f"{node.device} and {requested}",
                        made_at=made_at(node._stack),
                    ),
                )
            notes.append(f"{node.name}: asked for {node.device}, colocated with a node on {requested}")
            continue
        requested, asker = merged, node
    return requested


def _impossible(
    group: list[Node], requested: str, devices: Sequence[str], feasible: set[str]
) -> errors.InvalidArgumentError:
    node = next((node for node in group if node.device), group[0])
    if requested and not any(matches(requested, name) for name in devices):
        what, hint = "no such device", "allow_soft_placement=True uses another device where this one is missing"
    else:
        what, hint = f"{node.type} has no kernel for it", "place the operation on a device that has one"
    return errors.InvalidArgumentError(
        node,
        node,
        errors.describe(
            f"{node.name!r} cannot be placed on '{requested}': {what}",
            expected=f"one of {', '.join(devices)}; kernels exist for {', '.join(sorted(feasible)) or 'no type'}",
            hint=hint,
            made_at=made_at(node._stack),
        ),
    )
