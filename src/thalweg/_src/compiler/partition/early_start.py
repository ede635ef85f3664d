"""Early starts: which steps other tasks may start before the task that leads them does.

In a training loop, the parameters of the next step can then be on their way while the answer to the last one is.
"""

from __future__ import annotations

from collections.abc import Mapping

from thalweg._src.base import dtypes
from thalweg._src.base.devices import task_of
from thalweg._src.graph.ir.step_graph import Node, StepGraph

_SENDS, _RECEIVES = ("_Send", "_SendMany"), ("_Recv", "_RecvMany")
Key = tuple[str, str, str]  # of a transfer


def may_start_early(partitions: Mapping[str, StepGraph], leader: str) -> bool:
    """Returns whether other tasks only read, until something arrives that the leading task has sent.

    leader: the name of the task without whose part a step does nothing
    """
    others = {device: graph for device, graph in partitions.items() if task_of(device) != leader}
    if any(graph.feeds or graph.is_unstructured for graph in others.values()):
        return False
    # Nodes are late that run after a transfer of the leader, by way of other tasks too. The keys of late transfers only
    # grow, so this ends with the nodes for which no such way exists: those run early.
    keys: set[Key] = set()
    while True:
        late = {device: _late(graph, leader, keys) for device, graph in others.items()}
        sent = {_key(node) for nodes in late.values() for node in nodes if node.type in _SENDS}
        if sent <= keys:
            break
        keys |= sent
    return all(
        _only_reads(node) for device, graph in others.items() for node in graph.nodes if node not in late[device]
    )


def _late(graph: StepGraph, leader: str, keys: set[Key]) -> set[Node]:
    late: set[Node] = set()
    for node in graph.nodes:
        if node.type in _RECEIVES:
            is_late = task_of(node.attrs["send_device"]) == leader or _key(node) in keys
        else:
            is_late = any(before in late for before in node.predecessors())
        if is_late:
            late.add(node)
    return late


def _key(node: Node) -> Key:
    return node.attrs["send_device"], node.attrs["recv_device"], node.attrs["tensor_name"]


def _only_reads(node: Node) -> bool:
    """Returns whether a node changes nothing, and waits for nothing but transfers."""
    if node.type in _SENDS or node.type in _RECEIVES or node.facts.instant:
        return True
    if node.facts.writes or node.facts.waits or "region" in node.attrs:
        return False
    is_handle = not node.inputs and all(dtype is dtypes.resource for dtype in node.dtypes)
    return is_handle or node.facts.reads or not node.facts.stateful
