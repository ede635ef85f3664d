"""Placement: feasible devices from kernels, requests and colocation, then a placer's choice among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.devices import task_of
from thalweg._src.compiler.place import policy, search  # noqa: F401  they register their placers
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.groups import (
    DeviceTypes,
    DisjointSets,
    Group,
    colocate,
    constrain,
    device_type,
    gather,
    holder,
    kernels,
)
from thalweg._src.compiler.place.placement import Placement
from thalweg._src.compiler.place.placers import DEFAULT, decide, lookup
from thalweg._src.compiler.place.problem import Problem
from thalweg._src.compiler.place.updates import merge_updates, split_updates
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph

__all__ = ["Placement", "place", "make_problem"]

_ANYWHERE = ("_Arg", "Const")  # in a loop: available on every device that needs it
_INITIALIZING = ("AssignVariableOp", "VarHandleOp", "VarIsInitializedOp")


def place(
    step: StepGraph,
    devices: Sequence[str],
    device_types: DeviceTypes,
    soft: bool,
    placer: str = DEFAULT,
    costs: CostModel | None = None,
    state_devices: dict[str, str] | None = None,
) -> Placement:
    """Chooses a device for each colocation group.

    placer: the name of a registered placer; `first`, the default, takes the first device of the best type
    state_devices: the device of the state of earlier steps, by node name; receives what this step adds
    """
    placement = Placement()
    if len(devices) == 1 and not any(node.device for node in step.everything()):
        placement.devices = dict.fromkeys(step.nodes, devices[0])  # the common case: nothing to choose
        return placement
    # The default needs neither costs nor a simulation: each group by itself takes its first device. Other placers see
    # one problem with all groups, in which grouped updates are split, so that each variable can go to a device of its
    # own; state of earlier steps stays where it is, since it cannot move.
    if placer in ("", DEFAULT) or step.is_unstructured:
        for nodes in gather(step.everything(), colocate(step)):
            if nodes[0].type != "_Arg" or len(nodes) > 1:
                group = constrain(nodes, devices, device_types, soft, placement.notes)
                placement.groups.append(group)
                placement.devices.update(dict.fromkeys(nodes, group.preferred))
    else:
        lookup(placer)
        shares = split_updates(step)
        problem = make_problem(step, devices, device_types, soft, costs, state_devices, placement.notes)
        _apply_placer(problem, placer, placement)
        if state_devices is not None:
            _record_state(placement.groups, placement.devices, state_devices)
        merge_updates(step, shares, placement.devices)
    _place_loops(step, placement.devices)
    _place_feeds(step, placement, devices[0])
    return placement


def make_problem(
    step: StepGraph,
    devices: Sequence[str],
    device_types: DeviceTypes,
    soft: bool = False,
    costs: CostModel | None = None,
    state_devices: dict[str, str] | None = None,
    notes: list[str] | None = None,
) -> Problem:
    """Returns the placement problem of a step."""
    groups = _groups(step, devices, device_types, soft, [] if notes is None else notes)
    _fix_state(groups, state_devices or {})
    return Problem(step, groups, devices, costs or CostModel())


def _apply_placer(problem: Problem, placer: str, placement: Placement) -> None:
    """Assigns each group to the device that the placer chooses."""
    placement.groups = list(problem.all_groups)
    if problem.groups:
        decision = decide(problem, placer)
        placement.why, placement.schedule = decision.why, decision.schedule
        placement.notes += [decision.note] if decision.note else []
    else:
        placement.schedule = problem.simulate({})
    for group, device in zip(placement.groups, placement.schedule.assignment):
        placement.devices.update(dict.fromkeys(group.nodes, problem.devices[device]))


def _place_feeds(step: StepGraph, placement: Placement, host: str) -> None:
    """Places each feed, and each unplaced constant, on the device of its first consumer, which sends it to others."""
    # The first consumer in program order decides; further devices get the value by a transfer or, for a constant, a
    # copy.
    for node in step.nodes:
        for producer, _ in node.inputs:
            if producer.type in _ANYWHERE:
                placement.devices.setdefault(producer, placement.devices[node])
    for node in step.nodes:
        placement.devices.setdefault(node, host)


# -- loops ------------------------------------------------------------------------------------------------------------


def _place_loops(step: StepGraph, devices: dict[Node, str]) -> None:
    """Places each loop where its condition is computed, and each loop variable where its next value is computed."""
    for loop in [node for node in step.nodes if node.type == "_While"]:
        region: Region = loop.attrs["region"]
        for graph in region.graphs():
            _place_loops(graph, devices)
        inside = dict.fromkeys(devices[n] for graph in region.graphs() for n in graph.nodes if n.type not in _ANYWHERE)
        arguments = region.body.feeds
        # A loop runs on every device of its nodes (see partition); `devices[loop]` is the one that decides. Arguments
        # follow the computation of their next value, since that is what would be sent in every iteration otherwise, not
        # the initial one.
        if inside:
            devices[loop] = next(iter(inside))
        decided = _device_of(region.condition.fetches[0], devices)
        if decided is not None and decided in inside:
            devices[loop] = decided
        placed = -1
        while placed != len(devices):  # a value may pass from one loop variable to the next
            placed = len(devices)
            for argument, following in zip(arguments, region.body.fetches):
                device = _device_of(following, devices)
                if argument not in devices and device is not None and device in inside:
                    devices[argument] = device
        for argument in arguments:
            devices.setdefault(argument, devices[loop])


def _device_of(output: Output, devices: dict[Node, str]) -> str | None:
    """Returns the device of a value, if it is placed."""
    return devices.get(holder(output))


def _inside(loop: Node) -> Iterable[Node]:
    for graph in loop.attrs["region"].graphs():
        yield from graph.everything()


def _join_loops(step: StepGraph, sets: DisjointSets, device_types: DeviceTypes) -> list[Node]:
    """Colocates each loop with its body; returns those that cannot be, or whose body requests devices."""
    # A loop that is spread over devices sends its condition in each iteration, which a placer that moves single groups
    # cannot see as one cost. So a loop with its body is one group, unless the user asked for devices inside of it or no
    # device has kernels for all of it.
    types: dict[object, set[str]] = {}
    requesting: set[object] = set()
    everywhere = {name for node in step.everything() if node.type == "_While" for name in device_types(node)}
    for nodes in gather(step.everything(), sets):
        leader = sets.leader(nodes[0])
        types[leader] = kernels(nodes, device_types) if any(n.type != "_Arg" for n in nodes) else everywhere
        if any(node.device for node in nodes):
            requesting.add(leader)
    apart = []
    for loop in [node for node in step.nodes if node.type == "_While"]:
        leaders = dict.fromkeys(map(sets.leader, [loop, *_inside(loop)]))
        common = set.intersection(*[types[leader] for leader in leaders])
        if not common or not requesting.isdisjoint(leaders):
            apart.append(loop)
            continue
        for leader in leaders:
            sets.join(leader, loop)
        types[sets.leader(loop)] = common
    return apart


# -- colocation groups ------------------------------------------------------------------------------------------------


def _groups(
    step: StepGraph, devices: Sequence[str], device_types: DeviceTypes, soft: bool, notes: list[str]
) -> list[Group]:
    """Returns the groups of a step; feeds and constants follow their consumers and are in none."""
    # Groups of loops that stay apart are fixed on their preferred devices, and the loop where its condition then is:
    # what happens per iteration is not for a placer that counts each node once to trade.
    sets = colocate(step)
    apart = _join_loops(step, sets, device_types)
    outside = set(step.nodes)
    groups = [
        constrain(nodes, devices, device_types, soft, notes)
        for nodes in gather(step.everything(), sets)
        if len(nodes) > 1 or not _follows(nodes[0], outside)
    ]
    if apart:
        repeated = {node for loop in apart for node in _inside(loop)}
        for group in groups:
            if not repeated.isdisjoint(group.nodes):
                group.fix(group.preferred, group.why or "in a loop that requests devices")
        preferred = {node: group.preferred for group in groups for node in group.nodes}
        _place_loops(step, preferred)
        for group in groups:
            if group.nodes[0] in apart:
                group.fix(preferred[group.nodes[0]], "where the loop's condition is computed")
    return groups


def _follows(node: Node, outside: set[Node]) -> bool:
    if node.type == "Const":
        return node in outside and not node.device and not node.controls
    return node.type == "_Arg"


def _fix_state(groups: Sequence[Group], state_devices: dict[str, str]) -> None:
    """Fixes state on the device where earlier steps left it, and variables where any step would look for them first."""
    for group in groups:
        # A variable that this step only initializes is read by later steps, each of which is placed by itself: all of
        # them must look for it on the same device, so that it is fixed by a rule that does not depend on the step.
        names = [node.name for node in _stateful_nodes(group)]
        device = next((state_devices[name] for name in names if name in state_devices), None)
        if device in group.feasible:
            group.fix(str(device), "its state has been there since an earlier step")
        elif any(node.type == "VarHandleOp" for node in _stateful_nodes(group)) and _only_initializes(group):
            group.fix(group.preferred, group.why or "a variable that is only initialized here")


def _record_state(groups: Sequence[Group], devices: dict[Node, str], state_devices: dict[str, str]) -> None:
    for group in groups:
        for node in _stateful_nodes(group):
            state_devices.setdefault(node.name, devices[node])


def _stateful_nodes(group: Group) -> list[Node]:
    """Returns the nodes with state between steps that other devices cannot see.

    A variable in host memory is not among them: all CPU devices of a process share it.
    """
    stateful = [node for node in group.nodes if node.definition.stateful and node.type not in ("_Arg", "_While")]
    stateful = [node for node in stateful if dtypes.resource not in _taken(node)]
    tasks = set(map(task_of, group.feasible))
    shared = bool(stateful) and len(tasks) == 1 and all(device_type(name) == "CPU" for name in group.feasible)
    return [node for node in stateful if not (shared and node.type == "VarHandleOp")]


def _only_initializes(group: Group) -> bool:
    return all(node.type in _INITIALIZING or dtypes.resource not in _taken(node) for node in group.nodes)


def _taken(node: Node) -> list[dtypes.DType]:
    return [producer.dtypes[i] for producer, i in node.inputs]
