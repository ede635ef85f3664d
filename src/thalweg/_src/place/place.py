"""Place: feasible devices from kernels, requests and colocation, then what a placer chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thalweg._src import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph
from thalweg._src.place import policy, search  # noqa: F401  they register their placers
from thalweg._src.place.cost import CostModel
from thalweg._src.place.groups import DeviceTypes, Group, Together, colocate, constrain, gather, holder, kernels, kind
from thalweg._src.place.placement import Placement
from thalweg._src.place.placers import DEFAULT, decide, lookup
from thalweg._src.place.problem import Problem
from thalweg._src.place.updates import divide, rejoin

__all__ = ["Placement", "place", "pose"]

_ANYWHERE = ("_Arg", "Const")  # in a loop: what is there on every device that needs it
_INITIALIZING = ("AssignVariableOp", "VarHandleOp", "VarIsInitializedOp")


def place(
    step: StepGraph,
    devices: Sequence[str],
    device_types: DeviceTypes,
    soft: bool,
    placer: str = DEFAULT,
    costs: CostModel | None = None,
    homes: dict[str, str] | None = None,
) -> Placement:
    """Chooses a device for each group of nodes that must stay together.

    placer: the name of a registered one; `first`, the default, takes the first device of the best kind
    homes: where earlier steps have left state, by the node that keeps it; receives what this step adds
    """
    placement = Placement()
    if len(devices) == 1 and not any(node.device for node in step.everything()):
        placement.devices = dict.fromkeys(step.nodes, devices[0])  # the usual case, and nothing to decide
        return placement
    if placer in ("", DEFAULT) or step.is_unstructured:
        for nodes in gather(step.everything(), colocate(step)):
            if nodes[0].type != "_Arg" or len(nodes) > 1:
                group = constrain(nodes, devices, device_types, soft, placement.notes)
                placement.groups.append(group)
                placement.devices.update(dict.fromkeys(nodes, group.preferred))
    else:
        lookup(placer)
        parts = divide(step)
        problem = pose(step, devices, device_types, soft, costs, homes, placement.notes)
        _ask(problem, placer, placement)
        if homes is not None:
            _remember(placement.groups, placement.devices, homes)
        rejoin(step, parts, placement.devices)
    _place_loops(step, placement.devices)
    _place_feeds(step, placement, devices[0])
    return placement


def pose(
    step: StepGraph,
    devices: Sequence[str],
    device_types: DeviceTypes,
    soft: bool = False,
    costs: CostModel | None = None,
    homes: dict[str, str] | None = None,
    notes: list[str] | None = None,
) -> Problem:
    """Returns what a placer has to solve for a step."""
    groups = _open_groups(step, devices, device_types, soft, [] if notes is None else notes)
    _stay(groups, homes or {})
    return Problem(step, groups, devices, costs or CostModel())


def _ask(problem: Problem, placer: str, placement: Placement) -> None:
    """Puts each group where a placer wants it."""
    placement.groups = list(problem.all_groups)
    if problem.groups:
        decision = decide(problem, placer)
        placement.why, placement.schedule = decision.why, decision.schedule
        placement.notes += [decision.note] if decision.note else []
    else:
        placement.schedule = problem.simulate({})
    for group, home in zip(placement.groups, placement.schedule.homes):
        placement.devices.update(dict.fromkeys(group.nodes, problem.devices[home]))


def _place_feeds(step: StepGraph, placement: Placement, host: str) -> None:
    """Puts each feed, and each constant that has no place yet, where it is used first; others get it from there."""
    for node in step.nodes:
        for producer, _ in node.inputs:
            if producer.type in _ANYWHERE:
                placement.devices.setdefault(producer, placement.devices[node])
    for node in step.nodes:
        placement.devices.setdefault(node, host)


# -- loops ------------------------------------------------------------------------------------------------------------


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
    return devices.get(holder(output))


def _inside(loop: Node) -> Iterable[Node]:
    for part in loop.attrs["region"].parts():
        yield from part.everything()


def _join_loops(step: StepGraph, together: Together, device_types: DeviceTypes) -> list[Node]:
    """Joins each loop with all that it repeats; returns those that cannot be, or ask for devices inside."""
    kinds: dict[object, set[str]] = {}
    asking: set[object] = set()
    everywhere = {name for node in step.everything() if node.type == "_While" for name in device_types(node)}
    for nodes in gather(step.everything(), together):
        leader = together.leader(nodes[0])
        kinds[leader] = kernels(nodes, device_types) if any(n.type != "_Arg" for n in nodes) else everywhere
        if any(node.device for node in nodes):
            asking.add(leader)
    apart = []
    for loop in [node for node in step.nodes if node.type == "_While"]:
        leaders = dict.fromkeys(map(together.leader, [loop, *_inside(loop)]))
        common = set.intersection(*[kinds[leader] for leader in leaders])
        if not common or not asking.isdisjoint(leaders):
            apart.append(loop)
            continue
        for leader in leaders:
            together.join(leader, loop)
        kinds[together.leader(loop)] = common
    return apart


# -- what a placer is asked about -------------------------------------------------------------------------------------


def _open_groups(
    step: StepGraph, devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]
) -> list[Group]:
    """Returns the groups of a step; feeds and constants go with their users and are in none."""
    together = colocate(step)
    apart = _join_loops(step, together, device_types)
    outside = set(step.nodes)
    groups = [
        constrain(nodes, devices, device_types, soft, notes)
        for nodes in gather(step.everything(), together)
        if len(nodes) > 1 or not _follows(nodes[0], outside)
    ]
    if apart:
        repeated = {node for loop in apart for node in _inside(loop)}
        for group in groups:
            if not repeated.isdisjoint(group.nodes):
                group.fix(group.preferred, group.why or "in a loop that asks for devices")
        found = {node: group.preferred for group in groups for node in group.nodes}
        _place_loops(step, found)
        for group in groups:
            if group.nodes[0] in apart:
                group.fix(found[group.nodes[0]], "where the loop's condition is decided")
    return groups


def _follows(node: Node, outside: set[Node]) -> bool:
    if node.type == "Const":
        return node in outside and not node.device and not node.controls
    return node.type == "_Arg"


def _stay(groups: Sequence[Group], homes: dict[str, str]) -> None:
    """Leaves state where earlier steps have put it, and variables where any step would look for them first."""
    for group in groups:
        names = [node.name for node in _keepers(group)]
        home = next((homes[name] for name in names if name in homes), None)
        if home in group.feasible:
            group.fix(str(home), "its state is there since an earlier step")
        elif any(node.type == "VarHandleOp" for node in _keepers(group)) and _only_initializes(group):
            group.fix(group.preferred, group.why or "a variable of which only the first value is made here")


def _remember(groups: Sequence[Group], devices: dict[Node, str], homes: dict[str, str]) -> None:
    for group in groups:
        for node in _keepers(group):
            homes.setdefault(node.name, devices[node])


def _keepers(group: Group) -> list[Node]:
    """Returns the nodes that keep something between steps which other devices cannot see.

    A variable in host memory is not among them: all CPU devices of a process share it.
    """
    found = [node for node in group.nodes if node.definition.stateful and node.type not in ("_Arg", "_While")]
    found = [node for node in found if dtypes.resource not in _taken(node)]
    tasks = {name.rpartition("/device:")[0] for name in group.feasible}
    shared = bool(found) and len(tasks) == 1 and all(kind(name) == "CPU" for name in group.feasible)
    return [node for node in found if not (shared and node.type == "VarHandleOp")]


def _only_initializes(group: Group) -> bool:
    return all(node.type in _INITIALIZING or dtypes.resource not in _taken(node) for node in group.nodes)


def _taken(node: Node) -> list[dtypes.DType]:
    return [producer.dtypes[i] for producer, i in node.inputs]
