"""All-reduce buckets: reductions of a group with other tasks are fused, and start while the backward pass goes on.

A bucket starts as soon as the last of its values is computed, and what needs the result waits for it. All tasks fill
buckets and start collectives in the same order, that of the nodes that compute the values: gradients are reduced in the
order in which the backward pass makes them.
"""

from __future__ import annotations

from math import prod
from typing import Any

from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, waits
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.walk import postorder

FIRST_BYTES = 1 << 20  # of the first bucket, so that the network is busy early
BUCKET_BYTES = 25 << 20
_FIRST = -4e8  # position after the feeds and before all operations of the graph
_START = "_CollectiveStart"


def fuse_all_reduce(partitions: dict[str, StepGraph]) -> None:
    """Fuses the reductions of partitions with other tasks, and puts all collectives of each group in order."""
    # Tasks agree on nothing while they compile, so that every decision follows from what is the same at all of them:
    # order of nodes, static shapes, attributes. All collectives of a group form one chain: tasks that started them in
    # different orders would wait for each other. Those with known shapes are announced at the start of the step, with a
    # description that is compared, so that different programs fail instead of hanging.
    graphs = [graph for graph in partitions.values() if not graph.is_unstructured]
    if not any(node.type == _START for graph in graphs for node in graph.everything()):
        return
    ancestors = _ancestors(graphs)
    for graph in graphs:
        _fuse(graph, ancestors)
        for group in dict.fromkeys(_group(node) for node in graph.everything() if node.type == _START):
            _order(graph, group, [_begin(graph, group)])
        graph.prune_and_sort()


def _group(start: Node) -> tuple[int, int, int]:
    return start.attrs["group_key"], start.attrs["group_size"], start.attrs["local_size"]


def _is_static(start: Node) -> bool:
    """Returns whether the step runs a collective in any case, on values whose shapes are known."""
    shapes = (start.input_shape(index) for index in range(len(start.inputs)))
    is_symmetric = start.attrs["action"] in ("reduce", "gather")
    return is_symmetric and not start.guard and all(shape is not None and None not in shape for shape in shapes)


# -- buckets ----------------------------------------------------------------------------------------------------------


def _ancestors(graphs: list[StepGraph]) -> dict[Node, frozenset[Node]]:
    """Returns the blocking nodes that each node depends on, through transfers between the partitions of this task."""
    sends = {_key(node): node for graph in graphs for node in graph.nodes if node.type == "_Send"}
    sets: dict[Node, frozenset[Node]] = {}
    shared: dict[frozenset[Node], frozenset[Node]] = {}

    def predecessors(node: Node) -> list[Node]:
        local = sends.get(_key(node)) if node.type == "_Recv" else None
        return [*node.predecessors(), *([] if local is None else [local])]

    for node in postorder((node for graph in graphs for node in graph.nodes), predecessors):
        before = predecessors(node)
        blocking = frozenset[Node]().union(*(sets[predecessor] for predecessor in before))
        is_received_here = node.type == "_Recv" and _key(node) in sends
        blocking = blocking | {node} if waits(node) and not is_received_here else blocking
        sets[node] = shared.setdefault(blocking, blocking)
    return sets


def _key(transfer: Node) -> tuple[str, ...]:
    return tuple(transfer.attrs[name] for name in ("send_device", "recv_device", "tensor_name"))


def _fuse(graph: StepGraph, ancestors: dict[Node, frozenset[Node]]) -> None:
    ends = {node.inputs[0].node: node for node in graph.nodes if node.type == "_CollectiveWait"}
    outputs: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for bucket in _buckets([node for node in graph.nodes if node.type == _START], ancestors):
        if len(bucket) == 1:
            bucket[0].attrs = {**bucket[0].attrs, "is_owned": _is_owned(bucket[0], graph)}
            continue
        start = _merged(bucket)
        wait = ends[bucket[0]].like(
            "_CollectiveWait",
            [Output(start, 0)],
            {"T": start.attrs["T"]},
            name=start.name.removesuffix("/start"),
            dtypes=start.attrs["T"],
            shapes=[ends[node].shapes[0] for node in bucket],
            order=max(ends[node].order for node in bucket),
        )
        for index, node in enumerate(bucket):
            outputs[Output(ends[node], 0)] = Output(wait, index)
            moved[ends[node]] = wait
    graph.rewrite(outputs, moved)


def _buckets(starts: list[Node], ancestors: dict[Node, frozenset[Node]]) -> list[list[Node]]:
    """Groups what can be reduced together: values that do not depend on each other, in the order of their nodes."""
    # Values in one bucket must have the same blocking ancestors, transfers from other devices of this task followed:
    # the bucket starts when its last value is there, and must not wait for something that a member's consumers compute.
    # The first bucket is small, so that communication starts early in the backward pass; later ones amortize latency.
    buckets: list[list[Node]] = []
    open_buckets: dict[Any, tuple[list[Node], int]] = {}
    filled: set[Any] = set()
    for node in starts:
        attrs = node.attrs
        if attrs["action"] != "reduce" or not _is_static(node):
            buckets.append([node])
            continue
        key = (_group(node), attrs["dtype"], attrs["merge_op"], attrs["final_op"], ancestors[node])
        if key not in open_buckets:
            open_buckets[key] = ([], 0)
            buckets.append(open_buckets[key][0])
        bucket, size = open_buckets[key]
        bucket.append(node)
        size += prod(dim or 0 for dim in node.input_shape(0) or ()) * attrs["dtype"].size
        open_buckets[key] = (bucket, size)
        if size >= (BUCKET_BYTES if key in filled else FIRST_BYTES):
            filled.add(key)
            del open_buckets[key]
    return buckets


def _merged(bucket: list[Node]) -> Node:
    first = bucket[0]
    attrs = {
        **first.attrs,
        "T": [node.attrs["dtype"] for node in bucket],
        "instance_keys": [key for node in bucket for key in node.attrs["instance_keys"]],
    }
    return first.like(
        _START,
        [node.inputs[0] for node in bucket],
        attrs,
        name=f"{first.name.removesuffix('/start')}_and_{len(bucket) - 1}_more/start",
        controls=list(dict.fromkeys(control for node in bucket for control in node.controls)),
        order=max(node.order for node in bucket),
    )


def _is_owned(start: Node, graph: StepGraph) -> bool:
    """Returns whether a reduction may overwrite its value: a new tensor that nothing else uses."""
    if start.attrs["action"] != "reduce":
        return False
    output = start.inputs[0]
    # In place means without a copy of the largest tensors of the step. That is safe only if nothing else can see the
    # buffer: no other consumer, no fetch, no view, and nothing that may return a constant or its own input.
    facts, uses = output.node.facts, [node for node in graph.nodes for value in node.inputs if value == output]
    is_new = facts.traceable and not (facts.stateful or facts.forwards or facts.view or facts.shape_only)
    is_computed = any(producer.type != "Const" for producer, _ in output.node.inputs)
    return is_new and is_computed and uses == [start] and output not in graph.fetches


# -- order ------------------------------------------------------------------------------------------------------------


def _begin(graph: StepGraph, group: tuple[int, int, int]) -> Node:
    """Adds the node that compares what the tasks of a group are about to do."""
    starts = [node for node in graph.everything() if node.type == _START and _group(node) == group]
    planned = [node for node in graph.nodes if node in set(starts) and _is_static(node)]
    for node in planned:
        node.attrs = {**node.attrs, "is_planned": True}
    attrs: dict[str, Any] = dict(zip(("group_key", "group_size", "local_size"), group))
    attrs.update(plan="\n".join(map(_described, starts)), count=len(planned))
    name, stack = f"{starts[0].name.removesuffix('/start')}/begin", starts[0].stack
    order = _FIRST + attrs["group_key"] % 1000
    begin = Node(name, OPS.lookup("_CollectiveBegin"), [], attrs, [], [], order=order, stack=stack)
    graph.nodes.append(begin)
    return begin


def _described(start: Node) -> str:
    """Returns a line about a collective that must be the same at all tasks."""
    attrs = start.attrs
    kind = "broadcast" if attrs["action"] in ("send", "receive") else attrs["action"]
    shapes = [start.input_shape(index) for index in range(len(start.inputs))] or [attrs["shape"]]
    keys = ", ".join(map(str, attrs["instance_keys"]))
    what = f"{kind} of instances {keys}: {attrs['dtype'].name} {' '.join(map(show, shapes))}"
    return f"{what} by {attrs['merge_op']}, {attrs['final_op']} in a group of {attrs['group_size']}"


def _order(graph: StepGraph, group: tuple[int, int, int], before: list[Node]) -> None:
    """Lets the collectives of a group start one after another, in a loop after what precedes it."""
    for node in graph.nodes:
        inner = list(node.attrs["region"].graphs()) if node.type == "_While" else []
        if node.type == _START and _group(node) == group:
            node.controls = list(dict.fromkeys([*node.controls, *before]))
            before = [node]
        elif any(n.type == _START and _group(n) == group for region_graph in inner for n in region_graph.everything()):
            for region_graph in inner:
                _order(region_graph, group, [])
            node.controls = list(dict.fromkeys([*node.controls, *before]))
            before = [node]
