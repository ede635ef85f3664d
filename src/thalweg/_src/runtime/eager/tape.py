"""Gradient tapes: the operations on watched tensors, recorded as they run, and gradients computed from them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.graph.default_stacks import stacks
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.tensor import EagerTensor

# What ran, with its inputs and outputs: an EagerOperation, or a Binding, of which gradients make one.
Call = tuple[Any, Sequence[EagerTensor], Sequence[EagerTensor]]


class Tape:
    """The operations on watched tensors, in the order in which they ran.

    watches_variables: whether trainable variables are watched when they are read
    persistent: whether it may also record the computation of its own gradients
    """

    __slots__ = ("operations", "persistent", "variables", "watched", "watches_variables")

    def __init__(self, watches_variables: bool, persistent: bool = False) -> None:
        self.watches_variables = watches_variables
        self.persistent = persistent
        self.operations: list[Call] = []
        self.watched: set[EagerTensor] = set()
        self.variables: dict[int, Any] = {}  # by identity, since variables may compare by value

    def watch(self, tensor: EagerTensor) -> None:
        """Records operations on a tensor from now on."""
        self.watched.add(tensor)

    def push(self) -> None:
        """Starts to record in this thread."""
        stacks.tapes = (*stacks.tapes, self)

    def pop(self) -> None:
        """Ends recording in this thread."""
        stacks.tapes = tuple([tape for tape in stacks.tapes if tape is not self])


class VariableWatcher(Tape):
    """A tape that records the trainable variables that are read, and no operations."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(True)

    def watch(self, tensor: EagerTensor) -> None:
        """Does nothing."""

    def __enter__(self) -> VariableWatcher:
        """Starts recording."""
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends recording."""
        self.pop()


def record(operation: EagerOperation) -> None:
    """Records an operation on the tapes that watch one of its inputs."""
    record_call(operation, operation.inputs, operation.outputs)


def record_call(call: object, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor]) -> None:
    """Records an operation, or the call of a binding, on the tapes that watch one of its inputs."""
    for tape in stacks.tapes:
        watched = tape.watched
        if not watched.isdisjoint(inputs):
            tape.operations.append((call, inputs, outputs))
            for output in outputs:
                if output.kind.has_gradient:
                    watched.add(output)


def could_record(tensors: Iterable[EagerTensor]) -> bool:
    """Returns whether a tape watches one of these tensors."""
    return bool(stacks.tapes) and any(not tape.watched.isdisjoint(tensors) for tape in stacks.tapes)


def derivative_order() -> int:
    """Returns the order of the derivatives that the tapes of this thread may be used for."""
    return len(stacks.tapes) + any(tape.persistent for tape in stacks.tapes)


def variable_accessed(variable: Any) -> None:
    """Watches a trainable variable that is read, and notes it in the function that is being traced."""
    graph = stacks.graphs[-1] if stacks.graphs else None
    if graph is not None and graph.captures:
        graph.variables[id(variable)] = variable
    if variable.trainable:
        for tape in stacks.tapes:
            if tape.watches_variables:
                tape.variables[id(variable)] = variable
                tape.watch(variable._handle)


@contextlib.contextmanager
def stop_recording() -> Iterator[None]:
    """Context manager: no tape of this thread records."""
    before, stacks.tapes = stacks.tapes, ()
    try:
        yield
    finally:
        stacks.tapes = before


def operations_between(
    calls: Sequence[Call], sources: Sequence[EagerTensor]
) -> tuple[list[EagerOperation], set[EagerTensor]]:
    """Returns the operations that depend on the sources, and the tensors that do."""
    reached = set(sources)
    operations = []
    for call, inputs, outputs in calls:
        if not reached.isdisjoint(inputs):
            if type(call) is not EagerOperation:
                call = EagerOperation(call.definition, call.attrs, inputs, outputs)
            operations.append(call)
            reached.update(outputs)
    return operations, reached
