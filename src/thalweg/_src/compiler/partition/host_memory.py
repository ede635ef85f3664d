"""Host memory: on an accelerator, which values live in host memory, and the copies between host and device.

Ops declare shapes, axes and indices as host arguments. What is computed from them alone (arithmetic on shapes) is
computed on the host as well, so that reading them never synchronizes with the device.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS, ArgDef

_COUNTING = (dtypes.int32, dtypes.int64, dtypes.bool)
_HANDLES = (dtypes.resource, dtypes.variant)


def place_resident_feeds(step: StepGraph, placed: dict[Node, str], feed_devices: Sequence[str]) -> None:
    """Places each feed whose value is in the memory of an accelerator on that device.

    feed_devices: of each fed value, the device in whose memory it is
    """
    for feed in step.feeds:
        name = feed_devices[feed.attrs["index"]]
        if DeviceSpec.from_string(name).device_type != "CPU" and feed.dtypes[0] not in _HANDLES:
            feed.attrs = {**feed.attrs, "_host": False}
            placed[feed] = name


def assign_memory(step: StepGraph, is_fetched_to_host: bool = True) -> None:
    """Marks nodes that run on the host (`_host`) and adds copies where a value is needed in the other memory.

    is_fetched_to_host: whether fetched values are copied to the host; otherwise they stay where they are
    """
    # In topological order, since whether a node runs on the host depends on where its inputs are. Copies are added
    # where a value is needed in the other memory, at most one per value and direction, right after the node that
    # computes it, so that a copy to the host starts long before it is waited for.
    memory = _Memory(step)
    for node in list(step.nodes):
        memory.visit(node)
    fetched = memory.fetched if is_fetched_to_host else memory.resident
    step.fetches = [fetched(output) for output in step.fetches]
    step.prune_and_sort()


def arguments(args: tuple[ArgDef, ...], attrs: dict[str, object], count: int) -> list[ArgDef]:
    """Returns the argument that each of a node's flat inputs or outputs belongs to."""
    result: list[ArgDef] = []
    for arg in args:
        if arg.number_attr is not None:
            result += [arg] * int(attrs[arg.number_attr])  # type: ignore[call-overload]
        elif arg.type_list_attr is not None:
            result += [arg] * len(attrs[arg.type_list_attr])  # type: ignore[arg-type]
        else:
            result.append(arg)
    assert len(result) == count
    return result


def on_host(output: Output) -> bool:
    """Returns whether an output of an accelerator's partition is in host memory."""
    node, index = output
    if node.type == "_Arg":
        return bool(node.attrs.get("_host", True))  # set in loop bodies and for resident feeds
    if node.type == "_While":
        return _is_counter(node, index)
    if node.type in ("_Recv", "_RecvMany"):
        return False
    if node.type == "_CopyToHost" or "_host" in node.attrs:
        return True
    host = node.definition.host
    return bool(host) and arguments(node.definition.outputs, node.attrs, len(node.dtypes))[index].name in host


def _is_counter(loop: Node, index: int) -> bool:
    """Returns whether a loop variable is a counter, which is kept on the host."""
    return loop.dtypes[index] in _COUNTING and loop.shapes[index] == ()


class _Memory:
    def __init__(self, step: StepGraph) -> None:
        self._step = step
        self._copies: dict[tuple[Output, bool], Output] = {}

    def visit(self, node: Node) -> None:
        """Decides whether a node runs on the host, and copies its inputs to the memory where it needs them."""
        if node.guard:
            node.guard = tuple((self.at(predicate, host=True), side) for predicate, side in node.guard)
        if node.type in ("_Arg", "_Recv", "_RecvMany"):
            return
        if node.type == "_While":
            self._visit_loop(node)
            return
        if self._runs_on_host(node):
            node.attrs = {**node.attrs, "_host": True}
            node.inputs = [self.at(output, host=True) for output in node.inputs]
            return
        host = node.definition.host
        inputs = arguments(node.definition.inputs, node.attrs, len(node.inputs))
        node.inputs = [
            output if node.input_dtype(i) is dtypes.resource else self.at(output, host=inputs[i].name in host)
            for i, output in enumerate(node.inputs)
        ]

    def _visit_loop(self, node: Node) -> None:
        """Keeps the counters of a loop on the host, and its other variables on the device."""
        # A loop reads its condition on the host in every iteration. With counters on the host that takes no
        # synchronization with the device: the host runs ahead and only submits work. A variable must be on one side
        # throughout, so that what the body computes on the other side is copied at its end.
        region, count = node.attrs["region"], len(node.dtypes)
        sides = [_is_counter(node, i) for i in range(count)] + [on_host(output) for output in node.inputs[count:]]
        node.inputs = [
            output if node.input_dtype(i) is dtypes.resource else self.at(output, host=sides[i])
            for i, output in enumerate(node.inputs)
        ]
        for argument, host in zip(region.body.feeds, sides):
            argument.attrs = {**argument.attrs, "_host": host}
        for graph in region.graphs():
            for inner in list(graph.nodes):
                if inner.type != "_Arg":
                    self.visit(inner)
        region.condition.fetches = [self.at(output, host=True) for output in region.condition.fetches]
        region.body.fetches = [
            output if node.dtypes[i] in _HANDLES else self.at(output, host=sides[i])
            for i, output in enumerate(region.body.fetches)
        ]
        for graph in region.graphs():
            graph.prune_and_sort()

    def _runs_on_host(self, node: Node) -> bool:
        # Only integers and booleans, and only if all inputs that are not constants are on the host already: pulling an
        # input from the device would be the synchronization that this avoids.
        definition = node.definition
        if definition.stateful or definition.waits or not node.inputs or not node.dtypes:
            return False
        if not all(dtype in _COUNTING for dtype in node.dtypes):
            return False
        computed = [output for output in node.inputs if output.node.type != "Const"]
        return bool(computed) and all(map(on_host, computed))

    def at(self, output: Output, host: bool) -> Output:
        """Returns an output in host or device memory, copied at most once."""
        producer, index = output
        if on_host(output) == host:
            return output
        if (output, host) not in self._copies:
            self._copies[output, host] = self._copy(producer, index, host)
        return self._copies[output, host]

    def fetched(self, output: Output) -> Output:
        """Returns a fetched output on the host; all such copies of a step are waited for together."""
        if not on_host(output) and (output, True) not in self._copies:
            self._copies[output, True] = copy = self._copy(*output, host=True)
            copy.node.attrs = {**copy.node.attrs, "_fetched": True}
        return self.at(output, host=True)

    def resident(self, output: Output) -> Output:
        """Returns a fetched output where it is; constant shapes and counters are on the host, as those of callers."""
        is_number = output.node.type == "Const" and output.node.dtypes[0] in _COUNTING
        return self.at(output, host=True) if is_number else output

    def _copy(self, producer: Node, index: int, host: bool) -> Output:
        if producer.type == "Const":
            copy = producer.like("Const", [], {**producer.attrs, "_host": True}, name=f"{producer.name}/_host")
        else:
            copy = Node(
                f"{producer.name}/{'_to_host' if host else '_to_device'}",
                OPS.lookup("_CopyToHost" if host else "_CopyToDevice"),
                [Output(producer, index)],
                {"T": producer.dtypes[index]},
                [producer.dtypes[index]],
                [producer.shapes[index]],
                order=producer.order,
                stack=producer.stack,
                guard=producer.guard,
            )
        return Output(copy, 0)
