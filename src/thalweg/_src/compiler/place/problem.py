"""Placement problem: a step graph as placers and the simulator see it, with all names resolved to indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from thalweg._src.base.devices import task_of
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.groups import Group, device_type
from thalweg._src.compiler.place.simulate import Schedule, Value, simulate
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

Choice = dict[Group, str]


class Problem:
    """The placement problem of a step: groups with their feasible devices, costs, and a simulator.

    groups: those with more than one feasible device; all others are fixed
    devices: the names of the devices to choose from
    units, outputs, inputs, times: the nodes of the graph that take time, in topological order; the values that each
        produces; the producer and value of each input; and the seconds on each device. A loop is one unit.
    core_pools, pool_of: sets of devices that share cores, as (number of devices, slowdown per other busy device); and
        the pool of each device
    """

    def __init__(self, step: StepGraph, groups: Sequence[Group], devices: Sequence[str], costs: CostModel) -> None:
        self.devices = tuple(devices)
        self.costs = costs
        self.step = step
        self.groups = tuple(group for group in groups if len(group.feasible) > 1)
        self.all_groups = tuple(groups)
        self.place_of = {name: place for place, name in enumerate(devices)}
        for index, group in enumerate(self.all_groups):
            group.index = index
        self._number(step)
        self._connect(step)
        pairs = [[costs.link(a, b) if a != b else None for b in self.devices] for a in self.devices]
        self.overhead = [[link.overhead if link else 0.0 for link in row] for row in pairs]
        self.latency = [[link.overhead + link.latency if link else 0.0 for link in row] for row in pairs]
        self.per_byte = [[1.0 / link.bandwidth if link else 0.0 for link in row] for row in pairs]
        self.segment = costs.segment
        self._find_core_pools()
        self.feasible = [[self.place_of[name] for name in group.feasible] for group in self.all_groups]
        self.preferred = [self.place_of[group.preferred] for group in self.all_groups]

    def _find_core_pools(self) -> None:
        """Finds the devices that contend for the same cores, and by how much they slow each other down."""
        numbers: dict[tuple[str, str], int] = {}
        self.pool_of: list[int] = []
        self.core_pools: list[tuple[int, float]] = []
        for name in self.devices:
            share = self.costs.contention.get(device_type(name))
            key = (name, "") if share is None else (task_of(name), device_type(name))
            number = numbers.setdefault(key, len(numbers))
            if number == len(self.core_pools):
                self.core_pools.append((0, share or 0.0))
            self.core_pools[number] = (self.core_pools[number][0] + 1, self.core_pools[number][1])
            self.pool_of.append(number)

    def _number(self, step: StepGraph) -> None:
        """Finds the units, the group of each, and their times; constants are replicated and handles take no time."""
        index_of = {node: group.index for group in self.all_groups for node in group.nodes}
        consumer: dict[Node, Node] = {}
        for node in step.nodes:
            for producer, _ in node.inputs:
                consumer.setdefault(producer, node)
        self.persistent = [0] * len(self.all_groups)
        self.units: list[Node] = []
        self.group_of: list[int] = []
        # Reads and feeds that are there when the step starts are numbered first. Numbers are topological, and in the
        # simulator a device runs its units by number: reads in the middle of the program would wait for computation
        # that they do not need.
        early = _available_at_start(step.nodes)
        for node in sorted(step.nodes, key=lambda node: node not in early):
            group = index_of.get(node)
            if group is None:  # a feed: with its first consumer
                group = index_of.get(consumer[node]) if node in consumer else None
            if node.type == "VarHandleOp" and group is not None:
                self.persistent[group] += self.costs.sizes.persistent(node)
            if not (_is_everywhere(node) or node.type == "VarHandleOp"):
                self.units.append(node)
                self.group_of.append(-1 if group is None else group)
        types: dict[tuple[str, object], list[int]] = {}
        for place, name in enumerate(self.devices):
            types.setdefault((device_type(name), self.costs.speed(name)), []).append(place)
        alike = [(self.devices[places[0]], places) for places in types.values()]
        self.times: list[list[float]] = []
        for node in self.units:
            times = [0.0] * len(self.devices)
            for name, places in alike:
                seconds = self.costs.time(node, name)
                for place in places:
                    times[place] = seconds
            self.times.append(times)

    def _connect(self, step: StepGraph) -> None:
        """Finds the producers and consumers of each unit, and how many inputs each waits for."""
        number = {node: unit for unit, node in enumerate(self.units)}
        values: dict[Output, Value] = {}
        self.outputs: list[list[Value]] = [[] for _ in self.units]
        self.waits = [0] * len(self.units)
        self.inputs: list[list[tuple[int, Value]]] = [[] for _ in self.units]

        def read(output: Output, reader: int) -> None:
            producer = number.get(output.node)
            if producer is None:
                return
            if output not in values:
                node, index = output
                size = self.costs.bytes(node, index) if index >= 0 else 0
                values[output] = Value(len(values), size)
                self.outputs[producer].append(values[output])
            if reader >= 0:
                values[output].readers.append(reader)
                self.inputs[reader].append((producer, values[output]))
                self.waits[reader] += 1
            else:
                values[output].fetched = True

        # A control dependency is a value of no bytes, and a predicate is an input: both cost latency across devices.
        for unit, node in enumerate(self.units):
            needed = dict.fromkeys(node.inputs)
            needed.update((predicate, None) for predicate, _ in node.guard)
            needed.update((Output(control, -1), None) for control in dict.fromkeys(node.controls))
            for output in needed:
                read(output, unit)
        for output in step.fetches:
            read(output, -1)

    # -- interface of placers -----------------------------------------------------------------------------------------

    def simulate(self, choice: Mapping[Group, str]) -> Schedule:
        """Simulates the step with a choice; groups that it leaves out are on their preferred device."""
        return simulate(self, self.assignment(choice))

    def time(self, choice: Mapping[Group, str]) -> float:
        """Returns the simulated seconds of the step with a choice."""
        return self.simulate(choice).finish

    def single(self, device: str) -> Choice:
        """Returns the choice of one device wherever it is feasible, and of the preferred device elsewhere."""
        return {group: device if device in group.feasible else group.preferred for group in self.groups}

    def neighbours(self) -> dict[Group, dict[Group, int]]:
        """Returns, for each group, the groups that it exchanges tensors with, and how many bytes."""
        result: dict[Group, dict[Group, int]] = {group: {} for group in self.all_groups}
        for unit, outputs in enumerate(self.outputs):
            for value in outputs:
                for reader in value.readers:
                    here, there = self.group_of[unit], self.group_of[reader]
                    if here != there and here >= 0 and there >= 0:
                        one, other = self.all_groups[here], self.all_groups[there]
                        result[one][other] = result[one].get(other, 0) + value.size
                        result[other][one] = result[other].get(one, 0) + value.size
        return result

    def work(self) -> dict[Group, float]:
        """Returns the seconds that each group takes on its preferred device."""
        result = dict.fromkeys(self.all_groups, 0.0)
        for unit, index in enumerate(self.group_of):
            if index >= 0:
                result[self.all_groups[index]] += self.times[unit][self.preferred[index]]
        return result

    # -- choices as device indices, for the inner loops ---------------------------------------------------------------

    def assignment(self, choice: Mapping[Group, str]) -> list[int]:
        """Returns the index of the device of each group."""
        assignment = list(self.preferred)
        for group, device in choice.items():
            assignment[group.index] = self.place_of[device]
        return assignment

    def choice(self, assignment: Sequence[int]) -> Choice:
        return {group: self.devices[assignment[group.index]] for group in self.groups}


def _available_at_start(nodes: Iterable[Node]) -> set[Node]:
    """Returns the nodes whose results are available at the start of the step, before any work is done."""
    available: set[Node] = set()
    for node in nodes:
        if (node.facts.instant or node.facts.is_alias) and available.issuperset(node.predecessors()):
            available.add(node)
    return available


def _is_everywhere(node: Node) -> bool:
    """Returns whether a node is replicated wherever it is needed, and so costs nothing."""
    return node.type == "Const" and not node.controls
