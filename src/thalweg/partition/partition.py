"""Partition: cut the step graph at device borders, one Send and Recv for each tensor and destination."""

from __future__ import annotations

from thalweg import errors
from thalweg.graph.step_graph import Guard, Node, Output, StepGraph, topological
from thalweg.partition.transfer import receive, send, signal


def partition(step: StepGraph, devices: dict[Node, str]) -> dict[str, StepGraph]:
    """Returns the part of each device; a step on one device is its own only part."""
    names = list(dict.fromkeys(devices[node] for node in step.nodes))
    if len(names) <= 1:
        return dict.fromkeys(names, step)
    if step.is_free:
        raise errors.InvalidArgumentError(
            None, None, f"Control flow that no tf.cond or tf.while_loop made cannot be cut across {', '.join(names)}."
        )
    cut = _Cut(devices)
    for node in step.nodes:
        home = devices[node]
        node.inputs = [cut.at(output, home) for output in node.inputs]
        node.controls = [cut.after(control, home) for control in node.controls]
        node.guard = cut.guard_at(node.guard, home)
    parts: dict[str, list[Node]] = {name: [] for name in names}
    for node in [*step.nodes, *cut.added]:
        parts[devices[node]].append(node)
    result = {}
    for name, nodes in parts.items():
        positions = [i for i, (node, _) in enumerate(step.fetches) if devices[node] == name]
        result[name] = StepGraph(
            topological(nodes),
            [feed for feed in step.feeds if devices.get(feed) == name],
            [step.fetches[i] for i in positions],
            [node for node in nodes if node in set(step.targets) or node.type == "_Send"],
            positions,
        )
    return result


class _Cut:
    """The transfers made so far: what is on which device already."""

    def __init__(self, devices: dict[Node, str]) -> None:
        self._devices = devices
        self._received: dict[tuple[Output, str], Output] = {}
        self._signalled: dict[tuple[Node, str], Node] = {}
        self.added: list[Node] = []

    def _add(self, node: Node, device: str) -> Node:
        self._devices[node] = device
        self.added.append(node)
        return node

    def at(self, output: Output, home: str) -> Output:
        """Returns the output as seen on a device: itself, a constant made there again, or what was received."""
        producer, index = output
        source = self._devices[producer]
        if source == home:
            return output
        if (output, home) not in self._received:
            if producer.type == "Const" and not producer.controls:
                copy = producer.like("Const", [], producer.attrs, name=f"{producer.name}/{home[-5:]}")
                self._received[output, home] = (self._add(copy, home), 0)
            else:
                self._received[output, home] = (self._transfer(output, f"{producer.name}:{index}", home), 0)
        return self._received[output, home]

    def guard_at(self, guard: Guard, home: str) -> Guard:
        """Returns a guard as a device sees it."""
        return tuple((self.at(predicate, home), side) for predicate, side in guard)

    def after(self, control: Node, home: str) -> Node:
        """Returns a node to wait for on a device: the control itself, or the receipt of a signal sent after it."""
        source = self._devices[control]
        if source == home:
            return control
        if (control, home) not in self._signalled:
            sent = self._add(signal(control), source)
            self._signalled[control, home] = self._transfer((sent, 0), f"^{control.name}", home, after=[control])
        return self._signalled[control, home]

    def _transfer(self, output: Output, key: str, home: str, after: list[Node] | None = None) -> Node:
        source = self._devices[output[0]]
        guard = output[0].guard  # what is not computed is neither sent nor waited for
        self._add(send(output, key, source, home, after, self.guard_at(guard, source)), source)
        return self._add(receive(output, key, source, home, self.guard_at(guard, home)), home)
