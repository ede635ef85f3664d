"""Lowering of collectives: the members of a group at this task become transfers and, with other tasks, one participant.

The members send their values to the first of them, which combines them, takes part in what the other tasks do
(`_CollectiveStart` and `_CollectiveWait`), and sends the result back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import compatible, show
from thalweg._src.compiler.partition.transfer import receive, send
from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.source_line import made_at

_MERGE = {"Mul": "Mul", "Min": "Minimum", "Max": "Maximum"}
_NCCL = {"sum": "Add", "prod": "Mul", "min": "Min", "max": "Max"}
_ACTIONS = {
    "CollectiveReduce": "reduce",
    "CollectiveGather": "gather",
    "CollectiveBcastSend": "broadcast",
    "CollectiveBcastRecv": "broadcast",
    "NcclAllReduce": "reduce",
}


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A collective op of a group: its node, the graph that has it, and its device."""

    node: Node
    graph: StepGraph
    device: str

    @property
    def is_source(self) -> bool:
        return self.node.type == "CollectiveBcastSend"

    def describe(self) -> str:
        return f"{self.node.type} {self.node.name!r} on {self.device}"


@dataclass(slots=True, eq=False)
class Instance:
    """The members at this task of one collective."""

    key: tuple[Any, ...]
    members: list[Member] = field(default_factory=list)

    @property
    def node(self) -> Node:
        return self.members[0].node

    @property
    def size(self) -> int:
        """The number of members at all tasks."""
        attrs = self.node.attrs
        return int(attrs["num_devices"] if self.node.type == "NcclAllReduce" else attrs["group_size"])

    @property
    def merge_op(self) -> str:
        attrs = self.node.attrs
        return _NCCL[attrs["reduction"]] if self.node.type == "NcclAllReduce" else str(attrs["merge_op"])

    @property
    def is_local(self) -> bool:
        return len(self.members) == self.size


def lower_collectives(partitions: dict[str, StepGraph], is_connected: bool) -> None:
    """Replaces collective ops in the partitions of this task.

    is_connected: whether this process is a task of a cluster, so that members may be at other tasks
    """
    # All rewrites of a graph are applied together at the end, since the value of one collective may be the result of
    # another: then the replaced output is followed to its replacement. The fractions order collectives in the same way
    # at all tasks, as their start order must be, without moving them past other nodes.
    instances = _instances(partitions)
    rewrites: dict[int, Rewrite] = {}  # a collective may use the result of another
    for number, instance in enumerate(instances, 1):
        _check(instance, is_connected)
        if instance.size > 1:  # otherwise its kernel returns the input
            _Lowering(instance, number / (len(instances) + 1), rewrites).lower()
    for rewrite in rewrites.values():
        rewrite.graph.rewrite(rewrite.outputs, rewrite.nodes)


def _instances(partitions: dict[str, StepGraph]) -> list[Instance]:
    """Returns the collectives of this task, those in loops included; the members of each in the order of devices."""
    instances: dict[tuple[Any, ...], Instance] = {}
    for device, partition in partitions.items():
        for graph, node in _nodes(partition):
            if node.type in _ACTIONS:
                key = _key(node)
                instances.setdefault(key, Instance(key)).members.append(Member(node, graph, device))
    for instance in instances.values():
        instance.members.sort(key=lambda member: _in_order(member.device))
    return list(instances.values())


def _nodes(graph: StepGraph) -> Iterator[tuple[StepGraph, Node]]:
    for node in graph.nodes:
        yield graph, node
        if node.type == "_While":
            for inner in node.attrs["region"].graphs():
                yield from _nodes(inner)


def _key(node: Node) -> tuple[Any, ...]:
    if node.type == "NcclAllReduce":
        return ("nccl", node.attrs["shared_name"])
    return (node.attrs["group_key"], node.attrs["instance_key"])


def _in_order(device: str) -> tuple[Any, ...]:
    """Returns the sort key of a device name: by type, then by number."""
    name, _, index = device.rpartition(":")
    return name, int(index)


# -- checks -----------------------------------------------------------------------------------------------------------


def _check(instance: Instance, is_connected: bool) -> None:
    first, members = instance.members[0], instance.members
    for other in members[1:]:
        for what, get in _EQUAL.items():
            if get(first) != get(other):
                raise _mismatch(what, first, other, str(get(first)), str(get(other)))
        if not compatible(first.node.shapes[0], other.node.shapes[0]):
            raise _mismatch("shapes", first, other, show(first.node.shapes[0]), show(other.node.shapes[0]))
    for one, other in pairwise(members):
        if one.device == other.device:
            raise _error(other, "is on the device of another member of its group", received=one.describe())
    sources = [member for member in members if member.is_source]
    if len(sources) > 1:
        raise _error(sources[1], "sends, as another member of its group does", received=sources[0].describe())
    if not sources and first.node.type == "CollectiveBcastRecv" and instance.is_local:
        raise _error(first, "receives, as all other members of its group do", expected="a CollectiveBcastSend")
    if len(members) > instance.size or (len(members) < instance.size and not _may_be_elsewhere(instance, is_connected)):
        raise _error(
            first,
            f"belongs to a group of {instance.size} members",
            expected="a step that runs all of them",
            received=", ".join(member.describe() for member in members),
            hint=None if is_connected else "run the members in one step, or connect sessions to tf.train.Server",
        )


def _error(member: Member, what: str, **facts: str | None) -> errors.InvalidArgumentError:
    text = errors.describe(f"{member.describe()} {what}", made_at=made_at(member.node.stack), **facts)
    return errors.InvalidArgumentError(member.node, member.node, text)


def _may_be_elsewhere(instance: Instance, is_connected: bool) -> bool:
    return is_connected and instance.node.type != "NcclAllReduce"


_EQUAL: dict[str, Callable[[Member], Any]] = {
    "operations": lambda member: _ACTIONS[member.node.type],
    "group sizes": lambda member: member.node.attrs.get("group_size", member.node.attrs.get("num_devices")),
    "types": lambda member: member.node.attrs["T"].name,
    "reductions": lambda member: member.node.attrs.get("merge_op", member.node.attrs.get("reduction")),
    "final operations": lambda member: member.node.attrs.get("final_op"),
}


def _mismatch(what: str, first: Member, other: Member, ours: str, theirs: str) -> errors.InvalidArgumentError:
    expected = f"{ours}, as in {first.describe()}"
    return _error(other, f"and another member of its group have different {what}", expected=expected, received=theirs)


# -- lowering ---------------------------------------------------------------------------------------------------------


class _Lowering:
    """Replaces the members of one collective.

    The first one is the root. What it does comes right after the last of the values was computed, in the program order
    of all devices, so that it neither waits for what comes later nor depends on it. `fraction` makes the order of
    collectives whose values come from one node the same at all tasks.
    """

    def __init__(self, instance: Instance, fraction: float, rewrites: dict[int, Rewrite]) -> None:
        self._instance = instance
        self._root, *self._others = instance.members
        self._rewrites = rewrites
        values = [producer.order for member in instance.members for producer, _ in member.node.inputs]
        is_broadcast = _ACTIONS[instance.node.type] == "broadcast"  # of which other tasks may not have the value
        self._order = (max(m.node.order for m in instance.members) if is_broadcast else max(values)) + fraction

    def lower(self) -> None:
        """Replaces each member by the result on its device."""
        # Every value goes to the root and the result back from it: with devices of one task this is a copy in memory,
        # and other tasks see a single participant. A source of a broadcast that is not the root sends its value there
        # first.
        action, instance, root = _ACTIONS[self._instance.node.type], self._instance, self._root
        if action == "broadcast":
            source = next((member for member in instance.members if member.is_source), None)
            values = [] if source is None else [self._transfer(source.node.inputs[0], source, root)]
            result = (
                values[0] if instance.is_local else self._with_others("receive" if source is None else "send", values)
            )
        else:
            values = [self._transfer(member.node.inputs[0], member, root) for member in instance.members]
            result = self._concatenated(values) if action == "gather" else self._combined(values)
            if not instance.is_local:
                result = self._with_others(action, [result])
            elif root.node.attrs.get("final_op") == "Div":
                result = self._divided(result)
        self._replace(root, result)
        for member in self._others:
            self._replace(member, self._transfer(result, root, member, is_back=True))

    def _replace(self, member: Member, result: Output) -> None:
        """Replaces a member; what runs after it, runs after the result."""
        after = result.node
        if member is self._root and not _is_new(result, self._instance):
            after = self._add(member, "Identity", [result], {"T": member.node.dtypes[0]})
            result = Output(after, 0)
        rewrite = self._rewrite(member)
        rewrite.outputs[Output(member.node, 0)] = result
        rewrite.nodes[member.node] = after

    def _rewrite(self, member: Member) -> Rewrite:
        return self._rewrites.setdefault(id(member.graph), Rewrite(member.graph))

    def _add(self, member: Member, op: str, inputs: list[Output], attrs: dict[str, Any], **changes: Any) -> Node:
        """Adds a node to the graph of a member, with the member's name, control dependencies and guard."""
        node = member.node.like(op, inputs, attrs, **{"order": self._order, **changes})
        return self._keep(member, node)

    def _keep(self, member: Member, node: Node) -> Node:
        self._rewrite(member)
        member.graph.nodes.append(node)
        return node

    def _transfer(self, value: Output, source: Member, destination: Member, is_back: bool = False) -> Output:
        """Returns a value of one member at another."""
        if source is destination:
            return value
        key = f"{source.node.name}{'/result' if is_back else ''}"
        controls = [] if is_back else source.node.controls
        sent = send(value, key, source.device, destination.device, list(controls), source.node.guard)
        received = receive(value, key, source.device, destination.device, destination.node.guard)
        sent.order = received.order = self._order
        self._keep(source, sent)
        source.graph.targets.append(sent)
        return Output(self._keep(destination, received), 0)

    # -- what is computed here ----------------------------------------------------------------------------------------

    def _combined(self, values: list[Output]) -> Output:
        root, dtype, merge = self._root, self._root.node.dtypes[0], self._instance.merge_op
        if len(values) == 1:
            return values[0]
        if merge == "Add":
            return Output(self._add(root, "AddN", values, {"T": dtype, "N": len(values)}), 0)
        result = values[0]
        for value in values[1:]:
            result = Output(self._add(root, _MERGE[merge], [result, value], {"T": dtype}), 0)
        return result

    def _divided(self, total: Output) -> Output:
        dtype = self._root.node.dtypes[0]
        count = np.array(self._instance.size, dtype.as_numpy_dtype)
        divisor = self._constant(count, dtype, "members")
        return Output(self._add(self._root, "Div", [total, divisor], {"T": dtype}), 0)

    def _concatenated(self, values: list[Output]) -> Output:
        if len(values) == 1:
            return values[0]
        axis = self._constant(np.array(0, np.int32), dtypes.int32, "axis")
        attrs = {"T": self._root.node.dtypes[0], "N": len(values), "Tidx": dtypes.int32}
        shape = self._root.node.shapes[0]
        if not self._instance.is_local and shape is not None and shape[0] is not None:
            shape = (shape[0] // self._instance.size * len(values), *shape[1:])
        return Output(self._add(self._root, "ConcatV2", [*values, axis], attrs, shapes=[shape]), 0)

    def _constant(self, value: Any, dtype: DType, name: str) -> Output:
        attrs = {"value": value, "dtype": dtype}
        changes = {"dtypes": [dtype], "shapes": [()], "controls": [], "guard": ()}
        return Output(self._add(self._root, "Const", [], attrs, name=f"{self._root.node.name}/{name}", **changes), 0)

    # -- what other tasks take part in --------------------------------------------------------------------------------

    def _with_others(self, action: str, values: list[Output]) -> Output:
        node, instance = self._root.node, self._instance
        attrs = {
            **OPS.lookup("_CollectiveStart").defaults,
            **{key: node.attrs[key] for key in ("group_size", "group_key")},
            **{key: node.attrs[key] for key in ("merge_op", "final_op") if key in node.attrs},
            "local_size": len(instance.members),
            "instance_keys": [node.attrs["instance_key"]],
            "action": action,
            "T": [node.dtypes[0]] * len(values),
            "dtype": node.dtypes[0],
            "shape": node.shapes[0],
        }
        names = {"dtypes": [dtypes.variant], "shapes": [()], "name": f"{node.name}/start"}
        started = self._add(self._root, "_CollectiveStart", values, attrs, **names)
        return Output(
            self._add(self._root, "_CollectiveWait", [Output(started, 0)], {"T": [node.dtypes[0]]}, controls=[]), 0
        )


def _is_new(result: Output, instance: Instance) -> bool:
    """Returns whether a result was computed for a collective, rather than being the input of a member."""
    return all(result not in member.node.inputs for member in instance.members)
