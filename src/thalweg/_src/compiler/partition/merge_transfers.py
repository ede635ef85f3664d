"""Merging of transfers: tensors that one task can send to another at the same time travel as one message.

A message costs more than a small tensor: a call to the system, a thread that wakes up, a node that waits. Sends are
merged whose values are computed after the same blocking nodes: a program runs these without a pause, so all of them are
there when the last one is. Since none of them waits for a node that the others do not wait for, merging cannot make two
partitions wait for each other. Large tensors are sent as soon as they exist.
"""

from __future__ import annotations

from math import prod

from thalweg._src.base.devices import task_of
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, blocking_ancestors
from thalweg._src.graph.op_def import OPS

LARGE = 1 << 20  # bytes; sending these takes longer than a message costs


def merge_transfers(partitions: dict[str, StepGraph]) -> None:
    """Merges the transfers between partitions of different tasks; those in branches and loops stay as they are."""
    if len(set(map(task_of, partitions))) < 2:
        return
    # Two sends merge only if their receives exist and are unconditional, since one message is sent and received as a
    # whole. Equal blocking ancestors on the sender make the merged send ready exactly when the last of its values is;
    # on the receiver each consumer then waits for the whole message, of which all tensors arrive together.
    receives = {
        (node.attrs["send_device"], device, node.attrs["tensor_name"]): node
        for device, partition in partitions.items()
        for node in partition.nodes
        if node.type == "_Recv" and not node.guard
    }
    merged: dict[str, list[tuple[Node, list[Node]]]] = {}
    for device, partition in partitions.items():
        groups = _groups(device, partition)
        for destination, sends in groups:
            received = [receives.get((device, destination, send.attrs["tensor_name"])) for send in sends]
            if destination in partitions and None not in received:
                send, receive = _merged(sends, [node for node in received if node is not None])
                partition.targets = [*(target for target in partition.targets if target not in set(sends)), send]
                merged.setdefault(destination, []).append((receive, [node for node in received if node is not None]))
        if groups:
            partition.prune_and_sort()
    for device, replaced in merged.items():
        outputs: dict[Output, Output] = {}
        moved: dict[Node, Node] = {}
        for receive, nodes in replaced:
            outputs.update((Output(node, 0), Output(receive, index)) for index, node in enumerate(nodes))
            moved.update((node, receive) for node in nodes)
        partitions[device].rewrite(outputs, moved)


def _groups(device: str, partition: StepGraph) -> list[tuple[str, list[Node]]]:
    """Returns the sends of a partition that can be merged, with their destination."""
    groups: dict[tuple[str, int], list[Node]] = {}
    if partition.is_unstructured:
        return []
    for node, ancestors in blocking_ancestors(partition).items():
        if node.type == "_Send" and not node.guard and not _is_large(node):
            destination = node.attrs["recv_device"]
            if task_of(destination) not in ("", task_of(device)):
                groups.setdefault((destination, ancestors), []).append(node)
    return [(destination, sends) for (destination, _), sends in groups.items() if len(sends) > 1]


def _is_large(send: Node) -> bool:
    producer, index = send.inputs[0]
    shape = producer.shapes[index]
    if shape is None or None in shape:
        return False
    return prod(dim for dim in shape if dim is not None) * producer.dtypes[index].size >= LARGE


def _merged(sends: list[Node], receives: list[Node]) -> tuple[Node, Node]:
    first = sends[0]
    types = [node.attrs["T"] for node in sends]
    attrs = {**{key: first.attrs[key] for key in ("send_device", "recv_device")}, "T": types}
    attrs["tensor_name"] = f"{first.attrs['tensor_name']} and {len(sends) - 1} more"
    send = Node(
        f"{first.name}_and_{len(sends) - 1}_more",
        OPS.lookup("_SendMany"),
        [node.inputs[0] for node in sends],
        attrs,
        [],
        [],
        controls=list(dict.fromkeys(control for node in sends for control in node.controls)),
        order=max(node.order for node in sends),
        stack=first.stack,
    )
    receive = Node(
        f"{receives[0].name}_and_{len(sends) - 1}_more",
        OPS.lookup("_RecvMany"),
        [],
        attrs,
        types,
        [node.shapes[0] for node in receives],
        order=min(node.order for node in receives),
        stack=receives[0].stack,
    )
    return send, receive
