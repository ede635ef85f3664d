"""Pruning: the subgraph that fetches and targets need, cut where values are fed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.walk import reachable

_MANY = 8  # control inputs; more are replaced by one NoOp that has them


def prune(
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    members: Collection[Operation] | None = None,
) -> StepGraph:
    """Copies the subgraph that a step needs; no later pass sees anything else.

    members: the operations that control edges may wait for, by default all; others are effects of the caller
    """
    fed = {tensor: _feed_node(index, tensor) for index, tensor in enumerate(feeds)}
    needed = _needed(fed, fetches, targets, members)
    nodes: dict[Operation, Node] = {}
    for operation in sorted(needed, key=attrgetter("id")):
        nodes[operation] = Node(
            operation.name,
            operation.definition,
            [],
            operation.attrs,
            [t.dtype for t in operation.outputs],
            [t.dims for t in operation.outputs],
            device=operation.device,
            order=operation.id,
            stack=operation.stack,
        )

    def output(tensor: Tensor) -> Output:
        feed = fed.get(tensor)
        return Output(nodes[tensor.op], tensor.value_index) if feed is None else Output(feed, 0)

    # Operations are visited in program order, but inputs and control inputs are filled in afterwards: those of a loop's
    # Merge come later in that order. A control input that was not needed by itself is dropped here; in a function it is
    # an effect that the caller of the function waits for.
    gates: dict[tuple[Node, ...], Node] = {}
    for operation, node in nodes.items():
        node.inputs = [output(tensor) for tensor in operation.inputs]
        node.controls = [nodes[control] for control in operation.control_inputs if control in nodes]
        if len(node.controls) > _MANY:
            # An initializer waits for thousands of operations, and each of as many others waits for it: through one
            # node these are a sum of edges instead of a product.
            node.controls = [_gate(gates, tuple(node.controls), node)]
    step = StepGraph(
        [*fed.values(), *nodes.values(), *gates.values()],
        list(fed.values()),
        [output(tensor) for tensor in fetches],
        [nodes[operation] for operation in targets],
    )
    return step


def _gate(gates: dict[tuple[Node, ...], Node], controls: tuple[Node, ...], first: Node) -> Node:
    """Returns one node that stands for many control inputs, shared by all nodes that have the same ones."""
    if controls not in gates:
        name = f"{first.name}/_after_{len(controls)}"
        gates[controls] = Node(
            name, OPS.lookup("NoOp"), [], {}, [], [], controls=list(controls), order=first.order - 0.5
        )
    return gates[controls]


def _feed_node(index: int, tensor: Tensor) -> Node:
    dtype = tensor.dtype.base_dtype
    attrs = {"T": dtype, "index": index, "_feeds": tensor.name}
    name = f"_arg_{tensor.op.name}_{tensor.value_index}"
    stack = tensor.op.stack
    return Node(name, OPS.lookup("_Arg"), [], attrs, [dtype], [tensor.dims], order=index - 1e9, stack=stack)


def _needed(
    fed: dict[Tensor, Node],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    members: Collection[Operation] | None,
) -> set[Operation]:
    def predecessors(operation: Operation) -> list[Operation]:
        # An operation all of whose outputs are fed is not run, so nothing waits for it either.
        controls = [c for c in operation.control_inputs if members is None or c in members]
        awaited = [c for c in controls if not (c.outputs and all(t in fed for t in c.outputs))]
        return [*(tensor.op for tensor in operation.inputs if tensor not in fed), *awaited]

    # The walk ends at fed tensors: neither what computes them nor what that waits for is run. A target runs even if all
    # its outputs are fed, since the client asks for its effect.
    return reachable([*(tensor.op for tensor in fetches if tensor not in fed), *targets], predecessors)


def needed_feeds(
    elements: Iterable[Tensor | Operation], feeds: set[Tensor], done: Collection[Operation] = ()
) -> tuple[set[Tensor], set[Operation]]:
    """Returns the feeds and operations that some fetches depend on, without those of operations that are done."""

    def predecessors(operation: Operation) -> Iterable[Operation]:
        if operation in done:
            return ()
        return [*(tensor.op for tensor in operation.inputs if tensor not in feeds), *operation.control_inputs]

    fetched = set(elements)
    roots = [element.op if isinstance(element, Tensor) else element for element in fetched - feeds]
    # An operation that an earlier part of a partial run has executed ends the walk: its results are there, so feeds
    # that only it needs are not asked for again.
    operations = reachable(roots, predecessors).difference(done)
    return feeds & {*fetched, *(tensor for operation in operations for tensor in operation.inputs)}, operations
