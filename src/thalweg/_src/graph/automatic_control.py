"""Automatic control dependencies: operations with effects run in the order of the program.

In the body of a function, what reads or writes a resource waits for what wrote it before, and what writes it waits for
what read it; other effects, such as printing, are ordered among themselves. All of them run in each call. A conditional
or a loop with effects counts as one operation: its results wait for the effects inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._src.base.dtypes import resource
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

_OTHER = "other effects"  # the key of effects that concern no resource
Key = Any  # the handle of a resource, or _OTHER


class Order:
    """The operations that later ones have to wait for, in the function, branch or loop that is being built.

    effects: operations that must run, in order
    reads: operations that read a resource
    """

    def __init__(self) -> None:
        self._writer: dict[Key, Operation] = {}
        self._readers: dict[Key, list[Operation]] = {}
        self.effects: list[Operation] = []
        self.reads: list[Operation] = []

    def inside(self) -> Order:
        """Returns the order at the beginning of a branch or a loop."""
        inner = Order()
        # Copies, since both sides of a conditional start from the same order, and neither sees what the other adds.
        inner._writer = dict(self._writer)
        inner._readers = {key: list(readers) for key, readers in self._readers.items()}
        return inner

    def before(self, definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> list[Operation]:
        """Returns what a new operation has to wait for."""
        # Read after write and write after write wait for the last writer; write after read waits for all readers since
        # then. Reads are not ordered among themselves. Earlier operations need not be named: the last writer has waited
        # for them.
        controls: list[Operation] = []
        for key, writes in _accesses(definition, inputs, attrs):
            if key in self._writer:
                controls.append(self._writer[key])
            if writes:
                controls += self._readers.get(key, ())
        return controls

    def added(self, operation: Operation, inputs: Sequence[Tensor]) -> None:
        """Notes an operation that was added."""
        for key, writes in _accesses(operation.definition, inputs, operation.attrs):
            self._note(key, writes, operation)
        if acts(operation):
            self.effects.append(operation)

    def _note(self, key: Key, writes: bool, operation: Operation) -> None:
        if writes:
            # The write has waited for all readers so far; later operations that wait for the write need not know of
            # them.
            self._writer[key] = operation
            self._readers.pop(key, None)
        else:
            self._readers.setdefault(key, []).append(operation)
            if not any(arg.name == "flow_in" for arg in operation.definition.inputs):  # which orders it already
                self.reads.append(operation)

    def close(self, blocks: Iterable[Order], results: Sequence[Operation]) -> None:
        """Notes that a conditional or a loop is complete, with the operations that give out its results."""
        for block in blocks:
            if block.effects and results:
                self.effects.append(results[0])
            # The first result takes the place of everything inside: it waits for all effects of the side or the
            # iterations that run (see `effected`), while an operation inside of a branch is dead if the branch is not
            # taken, and what waits for a dead operation never runs.
            for key, writer in block._writer.items():
                if self._writer.get(key) is not writer and results:
                    self._note(key, True, results[0])
            for key, readers in block._readers.items():
                if readers != self._readers.get(key) and results:
                    self._note(key, False, results[0])


def _accesses(definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> list[tuple[Key, bool]]:
    """Returns the resources that an operation uses, and whether it may change each."""
    facts = definition.facts
    if not facts.stateful and not facts.reads and not facts.writes:
        return []
    accesses = [(_key(tensor), facts.writes or not facts.reads) for tensor in inputs if tensor.dtype is resource]
    if any(hasattr(value, "targets") for value in attrs.values()):  # it calls a function
        return [*accesses, (_OTHER, True)]
    # Effects that concern no resource, such as printing, form one sequence of their own; a source without inputs, such
    # as the handle of a variable, has none.
    if accesses or facts.random or not inputs:
        return accesses
    return [(_OTHER, True)]


def _key(handle: Tensor) -> Key:
    """Returns what identifies a resource: the name of a variable, or the handle."""
    return handle.op.attrs["shared_name"] if handle.op.type == "VarHandleOp" else handle


def acts(operation: Operation) -> bool:
    """Returns whether an operation has an effect, other than that it gives out a handle, a value or a random number."""
    facts = operation.definition.facts
    if not facts.stateful or facts.random or (facts.reads and not facts.writes):
        return False
    return not (operation.outputs and not operation.inputs and all(t.dtype == resource for t in operation.outputs))
