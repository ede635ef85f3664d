"""Problem: a step graph as placers and the simulator see it, with every name looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.place.cost import CostModel
from thalweg._src.place.groups import Group, kind
from thalweg._src.place.simulate import Schedule, simulate

Choice = dict[Group, str]


@dataclass(slots=True)
class Value:
    """What a unit gives to others, numbered; `size` is 0 for a mere order."""

    number: int
    size: int
    readers: list[int] = field(default_factory=list)
    fetched: bool = False


class Problem:
    """What is to be placed: groups with their feasible devices, costs, and a simulator.

    groups: those that may go to more than one device; all others are decided
    devices: the names that choices are made of
    units, outputs, inputs, times: the nodes of the graph that take time, in an order that respects all dependencies;
        what each gives; who gives it what; and its seconds on each device. Loops are one unit.
    crowds, crowd_of: devices that share cores: how many, how much each slows the others down; and the one of each
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
        self._crowd()
        self.feasible = [[self.place_of[name] for name in group.feasible] for group in self.all_groups]
        self.preferred = [self.place_of[group.preferred] for group in self.all_groups]

    def _crowd(self) -> None:
        """Finds the devices that slow each other down when they work, and how much."""
        numbers: dict[tuple[str, str], int] = {}
        self.crowd_of: list[int] = []
        self.crowds: list[tuple[int, float]] = []
        for name in self.devices:
            share = self.costs.crowding.get(kind(name))
            key = (name, "") if share is None else (name.rpartition("/device:")[0], kind(name))
            number = numbers.setdefault(key, len(numbers))
            if number == len(self.crowds):
                self.crowds.append((0, share or 0.0))
            self.crowds[number] = (self.crowds[number][0] + 1, self.crowds[number][1])
            self.crowd_of.append(number)

    def _number(self, step: StepGraph) -> None:
        """Finds the units, the group of each, and their times; constants are everywhere and handles nowhere."""
        home = {node: group.index for group in self.all_groups for node in group.nodes}
        user: dict[Node, Node] = {}
        for node in step.nodes:
            for producer, _ in node.inputs:
                user.setdefault(producer, node)
        self.kept = [0] * len(self.all_groups)
        self.units: list[Node] = []
        self.group_of: list[int] = []
        early = _early(step.nodes)
        for node in sorted(step.nodes, key=lambda node: node not in early):
            group = home.get(node)
            if group is None:  # a feed: where it is used first
                group = home.get(user[node]) if node in user else None
            if node.type == "VarHandleOp" and group is not None:
                self.kept[group] += self.costs.sizes.kept(node)
            if not (_is_everywhere(node) or node.type == "VarHandleOp"):
                self.units.append(node)
                self.group_of.append(-1 if group is None else group)
        kinds: dict[tuple[str, object], list[int]] = {}
        for place, name in enumerate(self.devices):
            kinds.setdefault((name.rpartition("device:")[2].partition(":")[0], self.costs.speed(name)), []).append(
                place
            )
        alike = [(self.devices[places[0]], places) for places in kinds.values()]
        self.times: list[list[float]] = []
        for node in self.units:
            times = [0.0] * len(self.devices)
            for name, places in alike:
                seconds = self.costs.time(node, name)
                for place in places:
                    times[place] = seconds
            self.times.append(times)

    def _connect(self, step: StepGraph) -> None:
        """Finds what each unit gives to whom, and how many things each waits for."""
        number = {node: unit for unit, node in enumerate(self.units)}
        values: dict[Output, Value] = {}
        self.outputs: list[list[Value]] = [[] for _ in self.units]
        self.waits = [0] * len(self.units)
        self.inputs: list[list[tuple[int, Value]]] = [[] for _ in self.units]

        def read(output: Output, reader: int) -> None:
            producer = number.get(output[0])
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

        for unit, node in enumerate(self.units):
            needed = dict.fromkeys(node.inputs)
            needed.update((predicate, None) for predicate, _ in node.guard)
            needed.update(((control, -1), None) for control in dict.fromkeys(node.controls))
            for output in needed:
                read(output, unit)
        for output in step.fetches:
            read(output, -1)

    # -- what placers ask ---------------------------------------------------------------------------------------------

    def simulate(self, choice: Mapping[Group, str]) -> Schedule:
        """Runs the step on paper with some choice; groups that it leaves out are on their preferred device."""
        return simulate(self, self.homes(choice))

    def time(self, choice: Mapping[Group, str]) -> float:
        """Returns the seconds that the step takes with some choice."""
        return self.simulate(choice).finish

    def single(self, device: str) -> Choice:
        """Returns the choice of one device for everything that can go there, the preferred one for the rest."""
        return {group: device if device in group.feasible else group.preferred for group in self.groups}

    def neighbours(self) -> dict[Group, dict[Group, int]]:
        """Returns for each group those it exchanges tensors with, and how many bytes."""
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

    # -- choices as numbers, for the inner loops ----------------------------------------------------------------------

    def homes(self, choice: Mapping[Group, str]) -> list[int]:
        """Returns the number of the device of each group."""
        homes = list(self.preferred)
        for group, device in choice.items():
            homes[group.index] = self.place_of[device]
        return homes

    def choice(self, homes: Sequence[int]) -> Choice:
        return {group: self.devices[homes[group.index]] for group in self.groups}


def _early(nodes: Iterable[Node]) -> set[Node]:
    """Returns what is there when the step starts: others get it before any work is done."""
    found: set[Node] = set()
    for node in nodes:
        if (node.facts.instant or node.facts.is_alias) and found.issuperset(node.predecessors()):
            found.add(node)
    return found


def _is_everywhere(node: Node) -> bool:
    """Returns whether a node is made again wherever it is needed, and so costs nothing."""
    return node.type == "Const" and not node.controls
