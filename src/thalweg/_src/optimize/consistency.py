"""Sequential consistency: the reads of a step see one state of the chosen variables, and its updates happen at once.

The reads of a step form one section, its updates and what reads after them another. A section begins with a lock, held
by several steps for reading or by one for updates, as soon as all that it needs from outside is there, and ends by
releasing it. There is one lock for all chosen variables, wherever they are: each of two groups can be consistent
without both being so.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src import dtypes
from thalweg._src.errors import invalid
from thalweg._src.graph.consistency import LOCK_DEVICE, READ_FIRST, SHARED
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, reachable
from thalweg._src.graph.op_def import OPS

_NAME = "sequential_consistency"


def make_consistent(step: StepGraph) -> None:
    """Adds the locks of a step that uses variables for which sequential consistency was requested."""
    devices = [node.attrs[LOCK_DEVICE] for node in step.nodes if LOCK_DEVICE in node.attrs]
    if not devices:
        return
    if step.is_unstructured:
        raise invalid(
            "sequential consistency: expected control flow of tf.cond and tf.while_loop, received other loops"
        )
    users = [node for node in step.nodes if _uses_consistent(node)]
    updates = {node for node in users if _writes(node)}
    after = _descendants(step, updates)
    reads = [node for node in users if node not in after]
    mutex = _node("", "MutexV2", devices[0], {"container": "", "shared_name": _NAME}, users[0].order)
    released: list[Node] = []
    for section, is_shared in ((reads, True), ([node for node in users if node in after], False)):
        if section:
            released = [_lock(step, mutex, section, is_shared, released)]
    step.prune_and_sort()


def order_first_reads(step: StepGraph) -> None:
    """Makes all reads of a step wait for those that must be first."""
    first = [node for node in step.nodes if READ_FIRST in node.attrs and node.facts.reads]
    if not first or step.is_unstructured:
        return
    before = reachable(first)
    for node in step.nodes:
        if node not in before and (node.facts.reads or node.type == "_While"):
            node.controls = list(dict.fromkeys([*node.controls, *first]))
    step.prune_and_sort()


def _lock(step: StepGraph, mutex: Node, section: list[Node], is_shared: bool, released: list[Node]) -> Node:
    """Locks a section of a step, and returns the node that releases the lock."""
    inside = _descendants(step, section)
    needed = {p: None for node in section for p in node.predecessors() if p not in inside and not _is_handle(p)}
    kind = "reads" if is_shared else "updates"
    lock = _node(kind, "MutexLock", mutex.device, {SHARED: is_shared}, section[0].order, [(mutex, 0)])
    lock.controls = [*needed, *released]
    for node in section:
        if not any(p in inside for p in node.predecessors()):
            node.controls = [*node.controls, lock]
    release = _node(f"{kind}_end", "ConsumeMutexLock", mutex.device, {}, section[-1].order, [(lock, 0)])
    release.controls = list(section)
    step.targets.append(release)
    return release


def _node(
    suffix: str, op_type: str, device: str, attrs: dict[str, object], order: float, inputs: Iterable[Output] = ()
) -> Node:
    definition = OPS.lookup(op_type)
    types = {"MutexV2": [dtypes.resource], "MutexLock": [dtypes.variant]}.get(op_type, [])
    name = f"_{_NAME}/{suffix}" if suffix else f"_{_NAME}"
    return Node(name, definition, list(inputs), attrs, types, [()] * len(types), device=device, order=order)


def _is_handle(node: Node) -> bool:
    return LOCK_DEVICE in node.attrs


def _uses_consistent(node: Node) -> bool:
    return any(_is_handle(producer) for producer, _ in node.inputs)


def _writes(node: Node) -> bool:
    if node.type != "_While":
        return node.facts.writes
    return any(inner.facts.writes for part in node.attrs["region"].parts() for inner in part.everything())


def _descendants(step: StepGraph, nodes: Iterable[Node]) -> set[Node]:
    """Returns nodes and everything that depends on them."""
    found = set(nodes)
    for node in step.nodes:  # in topological order
        if any(producer in found for producer in node.predecessors()):
            found.add(node)
    return found
