"""Partition: cuts the step graph at device boundaries, with one Send and Recv per tensor and destination.

A loop whose nodes are on several devices becomes one loop on each of them. The condition is computed on one device and
sent to the others in every iteration.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src.base import errors
from thalweg._src.compiler.partition.bfloat16_transfer import can_narrow, narrow, stored_values, widen
from thalweg._src.compiler.partition.transfer import receive, send, signal
from thalweg._src.graph.ir.step_graph import Guard, Node, Output, Region, StepGraph
from thalweg._src.graph.walk import reachable

Devices = dict[Node, str]


def partition(step: StepGraph, devices: Devices, lossy: bool = False) -> dict[str, StepGraph]:
    """Returns the partition of each device; a step on one device is returned unchanged.

    lossy: float32 may be sent as bfloat16
    """
    names = list(dict.fromkeys(devices[node] for node in step.everything() if node in devices))
    if len(names) <= 1:
        return dict.fromkeys(names, step)
    if step.is_unstructured:
        raise errors.invalid(
            "Control flow that was not built by tf.cond or tf.while_loop cannot run on several devices: "
            f"{', '.join(names)}."
        )
    _skip_groups(step, devices)
    # Loops come first: afterwards each node of the step, loops included, is on one device. Then every edge between
    # devices becomes a transfer, and what is needed on each device is what its fetches, targets and needed sends depend
    # on.
    _cut_loops(step, devices, "", lossy)
    positions = {name: [i for i, (node, _) in enumerate(step.fetches) if devices[node] == name] for name in names}
    fetches = {name: [step.fetches[i] for i in positions[name]] for name in names}
    graphs = _split(step, _Cut(devices, "", lossy), fetches)
    for name, graph in graphs.items():
        graph.feeds = [feed for feed in step.feeds if devices.get(feed) == name]
        graph.positions = positions[name]
    return {name: graph for name, graph in graphs.items() if graph.nodes}


def _split(step: StepGraph, cut: _Cut, needed: dict[str, list[Output]]) -> dict[str, StepGraph]:
    """Returns the subgraph of each device, given the values that are needed there."""
    cut.analyze(step.nodes)
    for node in step.nodes:
        device = cut.devices[node]
        node.inputs = [cut.at(output, device) for output in node.inputs]
        node.controls = [cut.after(control, device) for control in node.controls]
        node.guard = cut.guard_at(node.guard, device)
    fetches = {name: [cut.at(output, name) for output in outputs] for name, outputs in needed.items()}
    targets = {name: [node for node in step.targets if cut.devices[node] == name] for name in needed}
    roots = [*(node for outputs in fetches.values() for node, _ in outputs), *(n for t in targets.values() for n in t)]
    # A send has no consumer on its device, so it must be a target; but only if the value is used in the end: cutting a
    # node that turns out to be dead has added transfers for it. A send without its receive would wait in the
    # rendezvous.
    for node in cut.needed_sends(roots):
        targets[cut.devices[node]].append(node)
    graphs = {name: StepGraph([], [], fetches[name], targets[name]) for name in needed}
    for graph in graphs.values():
        graph.prune_and_sort()
    return graphs


# A group, such as that of all updates of an optimizer, computes nothing, yet it has a device: often the worker, while
# its members and what waits for them are at parameter servers. Each signal to the group and back would take the delay
# of the network twice.
def _skip_groups(step: StepGraph, devices: Devices) -> None:
    """Lets nodes wait for the members of a group at another device themselves, where that takes no more signals."""
    waiting: dict[Node, list[Node]] = {}  # of each group, on other devices
    for node in step.nodes:
        for control in node.controls:
            if control.type == "NoOp" and not control.guard and devices[control] != devices[node]:
                waiting.setdefault(control, []).append(node)
    for group, nodes in waiting.items():  # in the order of the graph: members of a group in a group come first
        sources, destinations = {devices[member] for member in group.controls}, {devices[node] for node in nodes}
        signals = sum(len(sources - {destination}) for destination in destinations)
        if signals <= len(sources - {devices[group]}) + len(destinations):
            for node in nodes:
                node.controls = list(dict.fromkeys([*(c for c in node.controls if c is not group), *group.controls]))


# -- loops ------------------------------------------------------------------------------------------------------------


def _cut_loops(step: StepGraph, devices: Devices, prefix: str, lossy: bool) -> None:
    """Replaces each loop whose nodes are on several devices by one loop per device."""
    replaced: dict[Output, Output] = {}
    pieces_of: dict[Node, list[Node]] = {}
    for loop in [node for node in step.nodes if node.type == "_While"]:
        spread = _spread(loop, devices)
        if len(spread) > 1:
            pieces_of[loop] = _cut_loop(loop, spread, devices, f"{prefix}{loop.name}/", replaced, lossy)
    if not pieces_of:
        return
    step.nodes += [piece for pieces in pieces_of.values() for piece in pieces]
    for node in step.nodes:
        node.controls = _with_pieces(node.controls, pieces_of)
    step.targets = list(dict.fromkeys([*_with_pieces(step.targets, pieces_of), *_with_pieces(pieces_of, pieces_of)]))
    step.rewrite(replaced)


def _with_pieces(nodes: Iterable[Node], pieces_of: dict[Node, list[Node]]) -> list[Node]:
    return [piece for node in nodes for piece in pieces_of.get(node, [node])]


def _spread(loop: Node, devices: Devices) -> list[str]:
    """Returns the devices that run nodes of a loop, first the one that computes the condition."""
    inside = (node for graph in loop.attrs["region"].graphs() for node in graph.everything())
    return list(dict.fromkeys([devices[loop], *(devices[n] for n in inside if n.type not in ("_Arg", "Const"))]))


def _cut_loop(
    loop: Node, spread: list[str], devices: Devices, prefix: str, replaced: dict[Output, Output], lossy: bool
) -> list[Node]:
    """Returns one loop per device; together they are equivalent to the original one."""
    # Each device runs all iterations with the variables whose next values it computes. It knows when to stop since the
    # condition is computed on one device, and the others receive it in each iteration like any other value. Captured
    # values enter on each device that uses them. The prefix makes the keys of transfers differ from those of other
    # loops.
    region: Region = loop.attrs["region"]
    count, arguments = len(loop.dtypes), region.body.feeds
    for graph, key in zip(region.graphs(), ("condition/", "body/")):
        for node in graph.nodes:
            if node.type == "Const" and devices[node] not in spread:
                devices[node] = spread[0]
        _cut_loops(graph, devices, prefix + key, lossy)
    copies = {name: [_copy(argument, devices, name) for argument in arguments[count:]] for name in spread}
    captured = {
        (Output(a, 0), name): Output(copy, 0) for name in spread for a, copy in zip(arguments[count:], copies[name])
    }
    for argument in arguments[count:]:
        devices[argument] = ""  # on no device, so that each device uses its copy
    carried = {name: [i for i in range(count) if devices[arguments[i]] == name] for name in spread}
    results = {name: [region.body.fetches[i] for i in carried[name]] for name in spread}
    decided = dict.fromkeys(spread, region.condition.fetches)
    conditions = _split(region.condition, _Cut(devices, f"{prefix}condition/", lossy, captured), decided)
    bodies = _split(region.body, _Cut(devices, f"{prefix}body/", lossy, captured), results)
    result = []
    for name in spread:
        piece = _loop_at(name, loop, Region(conditions[name], bodies[name]), carried[name], copies[name])
        replaced.update((Output(loop, old), Output(piece, new)) for new, old in enumerate(carried[name]))
        devices[piece] = name
        result.append(piece)
    return result


def _loop_at(name: str, loop: Node, region: Region, carried: list[int], copies: list[Node]) -> Node:
    """Returns the loop of one device: with the loop variables that are placed there and the captures that it needs."""
    count, arguments = len(loop.dtypes), loop.attrs["region"].body.feeds
    used = {node for graph in region.graphs() for node in graph.nodes}
    captures = [i for i, copy in enumerate(copies) if copy in used]
    region.condition.feeds = [*(arguments[i] for i in carried), *(copies[i] for i in captures)]
    region.body.feeds = list(region.condition.feeds)
    return loop.like(
        "_While",
        [*(loop.inputs[i] for i in carried), *(loop.inputs[count + i] for i in captures)],
        {**loop.attrs, "region": region},
        name=f"{loop.name}/{name.rpartition('device:')[2]}",
        dtypes=[loop.dtypes[i] for i in carried],
        shapes=[loop.shapes[i] for i in carried],
    )


def _copy(argument: Node, devices: Devices, name: str) -> Node:
    copy = argument.like("_Arg", [], argument.attrs)
    devices[copy] = name
    return copy


# -- transfers --------------------------------------------------------------------------------------------------------


class _Cut:
    """The transfers added so far to one graph: which values are available on which device."""

    def __init__(
        self, devices: Devices, prefix: str, lossy: bool, available: dict[tuple[Output, str], Output] | None = None
    ) -> None:
        self.devices = devices
        self._prefix = prefix
        self._lossy = lossy
        self._stored: set[Output] = set()
        self._narrowed: dict[Output, Node] = {}
        self._received: dict[tuple[Output, str], Output] = dict(available or {})
        self._signalled: dict[tuple[Node, str], Node] = {}
        self._sends: dict[Node, Node] = {}  # of each Recv
        self.guards: dict[Node, Guard] = {}  # before partitioning

    def analyze(self, nodes: list[Node]) -> None:
        """Records what depends on the whole graph, before it is cut."""
        self.guards = {node: node.guard for node in nodes}
        self._stored = stored_values(nodes) if self._lossy else set()

    def _add(self, node: Node, device: str) -> Node:
        self.devices[node] = device
        return node

    def at(self, output: Output, device: str) -> Output:
        """Returns an output on a device: the output itself, a copy of a constant, or the received value."""
        # One transfer per value and destination: later consumers there share the receive. A constant without control
        # inputs is cheaper to have twice than to send.
        producer, index = output
        source = self.devices[producer]
        if source == device:
            return output
        if (output, device) not in self._received:
            if producer.type == "Const" and not producer.controls:
                name = f"{producer.name}/{device.rpartition('device:')[2].replace(':', '_')}"
                copy = producer.like("Const", [], producer.attrs, name=name, guard=())
                self._received[output, device] = Output(self._add(copy, device), 0)
            else:
                self._received[output, device] = Output(self._transfer(output, f"{producer.name}:{index}", device), 0)
        return self._received[output, device]

    def guard_at(self, guard: Guard, device: str) -> Guard:
        """Returns a guard with its predicates on a device."""
        return tuple((self.at(predicate, device), side) for predicate, side in guard)

    def after(self, control: Node, device: str) -> Node:
        """Returns a control dependency on a device: the node itself, or the Recv of a signal that is sent after it."""
        source = self.devices[control]
        if source == device:
            return control
        if (control, device) not in self._signalled:
            sent = self._add(signal(control), source)
            self.guards[sent] = self.guards.get(control, ())
            self._signalled[control, device] = self._transfer(
                Output(sent, 0), f"^{control.name}", device, after=[control]
            )
        return self._signalled[control, device]

    def _transfer(self, output: Output, key: str, device: str, after: list[Node] | None = None) -> Node:
        source = self.devices[output.node]
        guard = self.guards.get(output.node, ())  # a value of an untaken branch is neither sent nor received
        here, there = self.guard_at(guard, source), self.guard_at(guard, device)
        key = self._prefix + key
        is_narrowed = self._lossy and can_narrow(output) and output not in self._stored
        if is_narrowed:
            if output not in self._narrowed:
                self._narrowed[output] = self._add(narrow(output, here), source)
            output = Output(self._narrowed[output], 0)
        # Both ends have the guard of the value, with its predicates on their own devices: a receive in a branch that
        # was not taken would wait for a value that is never sent.
        sent = self._add(send(output, key, source, device, after, here), source)
        received = self._add(receive(output, key, source, device, there), device)
        self._sends[received] = sent
        return self._add(widen(received, there), device) if is_narrowed else received

    def needed_sends(self, roots: Iterable[Node]) -> list[Node]:
        """Returns the Sends whose values some of the roots depend on; not every node that was cut is needed."""
        sends = self._sends
        needed = reachable(roots, lambda n: [*n.predecessors(), sends[n]] if n in sends else n.predecessors())
        return [node for node in sends.values() if node in needed]
