"""Consistency: the updates of a step are whole, and the reads of a step see one state of the chosen variables.

The reads of a step form one section, its updates and what reads after them another. There is a lock at each task, held
by several steps for reading or by one for updates. The lock of one task, the coordinator, comes first: it orders the
steps, so that the others cannot deadlock. A section begins with it as soon as all that it needs from outside is there.

If only updates must be whole, a step that updates reads what is committed at each task, as asynchronous training does,
and needs no order of the tasks: each lock is held for the reads of its own task alone. Steps that only read, as those
that save checkpoints, see one state all the same.

The updates are a transaction, with two-phase commit (resources/transaction_state.py): each task remembers the values of
the variables that change there, prepares when they have changed, and keeps the changes if the coordinator, to whom all
have prepared, commits. That is the moment at which all updates happen: who reads later at another task waits there for
its lock, until the decision has arrived.

There is one lock for all chosen variables, wherever they are: each of two groups can be consistent without both being
so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import matches, task_of
from thalweg._src.base.errors import invalid
from thalweg._src.graph.consistency import LOCK_DEVICE, ONE_STATE, READ_FIRST, SHARED
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, ancestors
from thalweg._src.graph.op_def import OPS

_NAME = "sequential_consistency"
_TYPES = {
    "MutexV2": [dtypes.resource],
    "MutexLock": [dtypes.variant],
    "_BeginTransaction": [dtypes.variant],
    "_PrepareTransaction": [dtypes.bool],
    "_CommitTransaction": [dtypes.bool],
}


def make_consistent(step: StepGraph, devices: dict[Node, str], names: Sequence[str]) -> None:
    """Adds locks and a transaction to a step that uses variables for which sequential consistency was requested.

    devices: the device of each node, to which those of new nodes are added
    names: all devices of the session
    """
    # A step has at most two sections: the reads before its updates, and the updates with all that follows from them. A
    # read that no update precedes is in the first, wherever it stands in the program: it cannot see what the step
    # writes. So a section never waits for itself, and each lock is taken once per section.
    beside = [node.attrs[LOCK_DEVICE] for node in step.nodes if LOCK_DEVICE in node.attrs]
    if not beside:
        return
    if step.is_unstructured:
        raise invalid(
            "sequential consistency: expected control flow of tf.cond and tf.while_loop, received other loops"
        )
    coordinator = task_of(next((name for name in names if matches(beside[0], name)), names[0]))
    users = [node for node in step.nodes if _handles(node)]
    updates = {node for node in users if _writes(node)}
    after = _descendants(step, updates)
    sections = _Sections(step, devices, coordinator)
    reads = [node for node in users if node not in after]
    is_ordered = not updates or any(handle.attrs[ONE_STATE] for node in reads for handle in _handles(node))
    sections.add_reads(reads, is_ordered)
    sections.add_updates([node for node in users if node in after], updates)
    step.prune_and_sort()


def order_first_reads(step: StepGraph) -> None:
    """Makes all reads of a step wait for those that must be first."""
    first = [node for node in step.nodes if READ_FIRST in node.attrs and node.facts.reads]
    if not first or step.is_unstructured:
        return
    before = ancestors(first)
    for node in step.nodes:
        if node not in before and (node.facts.reads or node.type == "_While"):
            node.controls = list(dict.fromkeys([*node.controls, *first]))
    step.prune_and_sort()


@dataclass(slots=True)
class _Sections:
    """Adds the sections of a step, one after another.

    released: the nodes that end the sections so far
    """

    step: StepGraph
    devices: dict[Node, str]
    coordinator: str
    released: list[Node] = field(default_factory=list)

    def add_reads(self, section: Sequence[Node], is_ordered: bool) -> None:
        """Lets reads begin when the locks of their tasks are held for reading, in order that of the coordinator first.

        It may be released when the others are held: they keep updates from being committed in between.
        """
        # All steps take the coordinator's lock before those of other tasks. Two steps that took the locks of two tasks
        # in different orders would wait for each other forever. Reads that need no common state take each lock alone,
        # so that no order is needed.
        nodes_by_task = self._by_task(section)
        is_apart = not is_ordered and sum(map(len, nodes_by_task.values())) == len(
            section
        )  # no loop reads at several tasks
        first = None if is_apart else self.coordinator
        locks = self._lock("reads", "MutexLock", nodes_by_task, first, lambda task: {SHARED: True})
        for task, lock in locks.items():
            others = [other for other in locks.values() if other is not lock] if task == first else []
            self._end("reads_end", "ConsumeMutexLock", lock, [*nodes_by_task.get(task, ()), *others])

    def add_updates(self, section: Sequence[Node], updates: Collection[Node]) -> None:
        """Makes the updates of a step a transaction; what reads after them does so when it is decided."""
        if not section:
            return
        # What an update needs is inside of the transaction; what only follows is done when the outcome is decided,
        # while the locks are still held, so that the step sees its own updates. The coordinator commits after all
        # participants have prepared, and each participant ends when the decision has arrived: two-phase commit as nodes
        # of the graph.
        before = ancestors(list(updates))
        inside = self._by_task(node for node in section if node in before)
        later = self._by_task(node for node in section if node not in before)
        tasks = dict.fromkeys((self.coordinator, *inside, *later))
        participants = [task for task in tasks if task != self.coordinator]
        self._drop_order(section, updates)

        def attrs(task: str) -> dict[str, Any]:
            changed = {handle: None for node in updates for handle in _handles(node) if self._task(handle) == task}
            named = "" if task == self.coordinator else self.coordinator
            return {"variables": tuple(name for handle in changed for name in _variable(handle)), "coordinator": named}

        nodes_by_task = {task: inside.get(task, []) for task in tasks}
        begun = self._lock("updates", "_BeginTransaction", nodes_by_task, self.coordinator, attrs)
        prepared = [
            self._node("prepare", "_PrepareTransaction", task, {}, [Output(begun[task], 0)], nodes_by_task[task])
            for task in participants
        ]
        commit = self._node(
            "commit",
            "_CommitTransaction",
            self.coordinator,
            {"N": len(prepared), "participants": tuple(participants)},
            [Output(begun[self.coordinator], 0), *(Output(node, 0) for node in prepared)],
            nodes_by_task[self.coordinator],
        )
        decided = {self.coordinator: commit}
        for task in participants:
            decided[task] = self._node(
                "decided", "_EndTransaction", task, {}, [Output(begun[task], 0), Output(commit, 0)]
            )
        for task, lock in begun.items():
            for node in later.get(task, ()):
                node.controls = [*node.controls, decided[task]]
            self._end("updates_end", "_ReleaseTransaction", lock, [decided[task], *later.get(task, ())])

    def _drop_order(self, section: Iterable[Node], updates: Collection[Node]) -> None:
        """Removes the order of updates of different variables: all of them happen when the transaction is committed.

        An optimizer changes the global step after all else. This would take a message to each of the tasks in turn.
        Updates of one variable keep their order, whatever stood between them. So does what follows from a read after an
        update: the order of such a read and of a later update is that of the nodes between them.
        """
        # `earlier` maps a node to the updates that its control edges lead back to through groups and through operands
        # that only updates use. Such edges carry no value that could tell the order, and inside of a transaction no
        # other step sees it. Edges between updates of one variable are kept, directly instead of through what stood
        # between them.
        fixed = _descendants(self.step, [node for node in section if node not in updates])
        operands = self._operands(updates)
        earlier: dict[Node, dict[Node, None]] = {}  # the updates that come before a node, itself included
        for node in self.step.nodes:
            is_update = node in updates
            is_group = node.type == "NoOp" and bool(node.controls) and all(c in earlier for c in node.controls)
            if node in fixed or node.guard or not (is_update or is_group or node in operands):
                continue
            before = {update: None for p in node.predecessors() for update in earlier.get(p, ())}
            if is_update:
                handles = set(_handles(node))
                same = [update for update in before if not handles.isdisjoint(_handles(update))]
                node.controls = [*(c for c in node.controls if c not in earlier), *same]
                before[node] = None
            elif not is_group:
                node.controls = [c for c in node.controls if c not in earlier]
            if before:
                earlier[node] = before

    def _operands(self, updates: Collection[Node]) -> set[Node]:
        """Returns the pure nodes whose values only updates use: nothing else can tell when they are computed."""
        others = set(self.step.roots())
        for node in reversed(self.step.nodes):
            if node not in updates and (node in others or node.facts.stateful or node.facts.reads or node.guard):
                others |= {node, *node.predecessors()}
        return {node for node in self.step.nodes if node not in others}

    def _by_task(self, section: Iterable[Node]) -> dict[str, list[Node]]:
        """Groups nodes by the tasks whose consistent variables they use; a loop can use those of several."""
        nodes_by_task: dict[str, list[Node]] = {}
        for node in section:
            for task in dict.fromkeys(self._task(handle) for handle in _handles(node)):
                nodes_by_task.setdefault(task, []).append(node)
        return nodes_by_task

    def _lock(
        self,
        name: str,
        op_type: str,
        nodes_by_task: Mapping[str, Sequence[Node]],
        first: str | None,
        attrs: Callable[[str], dict[str, Any]],
    ) -> dict[str, Node]:
        """Returns the nodes that lock a section at its tasks, once all that it needs from outside is there.

        first: the task that is locked before the others, if the section has others
        """
        tasks = (
            list(nodes_by_task) if first is None or not nodes_by_task else list(dict.fromkeys((first, *nodes_by_task)))
        )
        everything = [node for nodes in nodes_by_task.values() for node in nodes]
        locks: dict[str, Node] = {}
        for task in tasks:
            if first is None or task == first:
                after = [*self._needed(nodes_by_task[task] if first is None else everything), *self.released]
            else:
                after = [locks[first]]
            mutex = self._node("mutex", "MutexV2", task, {"container": "", "shared_name": _NAME})
            locks[task] = self._node(name, op_type, task, attrs(task), [Output(mutex, 0)], after)
        for task, nodes in nodes_by_task.items():
            for node in nodes:
                node.controls = [*node.controls, locks[task]]
        return locks

    def _needed(self, section: Collection[Node]) -> list[Node]:
        """Returns what a section waits for: the last of its predecessors outside, without what is there at once."""
        # Waiting for the last predecessors is enough: what they depend on has run by then. A lock that is taken early
        # would block other steps while this one computes.
        within = _descendants(self.step, section)
        outside = {p: None for node in section for p in node.predecessors() if p not in within}
        before = ancestors([earlier for p in outside for earlier in p.predecessors()])
        return [
            p for p in outside if p not in before and (p.controls or p.type not in ("Const", "_Arg", "VarHandleOp"))
        ]

    def _end(self, name: str, op_type: str, lock: Node, after: Sequence[Node]) -> None:
        node = self._node(name, op_type, self._task(lock), {}, [Output(lock, 0)], after)
        self.released.append(node)
        self.step.targets.append(node)

    def _node(
        self,
        name: str,
        op_type: str,
        task: str,
        attrs: dict[str, Any],
        inputs: Iterable[Output] = (),
        controls: Iterable[Node] = (),
    ) -> Node:
        types = _TYPES.get(op_type, [])
        node = Node(
            f"_{_NAME}/{name}{task.replace(':', '_')}",
            OPS.lookup(op_type),
            list(inputs),
            attrs,
            types,
            [()] * len(types),
            controls=list(controls),
            order=self.step.nodes[-1].order,
        )
        self.devices[node] = node.device = f"{task}/device:CPU:0"
        return node

    def _task(self, node: Node) -> str:
        return task_of(self.devices[node])


def _variable(handle: Node) -> tuple[str, str]:
    """Returns the container and the name of a variable."""
    return handle.attrs["container"], handle.attrs["shared_name"] or handle.name


def _is_handle(node: Node) -> bool:
    return LOCK_DEVICE in node.attrs


def _handles(node: Node) -> list[Node]:
    """Returns the handles of consistent variables that a node uses."""
    return [producer for producer, _ in node.inputs if _is_handle(producer)]


def _writes(node: Node) -> bool:
    if node.type != "_While":
        return node.facts.writes
    return any(inner.facts.writes for graph in node.attrs["region"].graphs() for inner in graph.everything())


def _descendants(step: StepGraph, nodes: Iterable[Node]) -> set[Node]:
    """Returns nodes and everything that depends on them."""
    reached = set(nodes)
    for node in step.nodes:  # in topological order
        if any(producer in reached for producer in node.predecessors()):
            reached.add(node)
    return reached
