"""Order hints: `after` says in which order operations run that do not depend on each other, to bound memory."""

from __future__ import annotations

from thalweg._src.base import errors
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

ORDER_HINTS = "_after"


def after(first: object, then: object) -> None:
    """Lets `then` run only after `first`, in steps that run both; each is a tensor, an operation, or a list of them.

    Unlike a control dependency it can be said of operations that exist, and makes no step run more than it would.
    """
    earlier, later = _operations(first), _operations(then)
    for operation in later:
        for before in earlier:
            _check(before, operation)
    for operation in later:
        # By name, so that hints survive serialization; the attribute is replaced, not changed, as compiled steps may
        # share it.
        hints = dict.fromkeys((*operation.attrs.get(ORDER_HINTS, ()), *(before.name for before in earlier)))
        operation.attrs = {**operation.attrs, ORDER_HINTS: tuple(hints)}
        operation.graph._changed()


def _operations(elements: object) -> list[Operation]:
    if isinstance(elements, list | tuple):
        return [operation for element in elements for operation in _operations(element)]
    element = elements._as_graph_element() if hasattr(elements, "_as_graph_element") else elements
    element = element if isinstance(element, Operation) else getattr(element, "op", None)
    if not isinstance(element, Operation):
        raise TypeError(f"after: expected a tensor, an operation or a list of them, received {elements!r}")
    return [element]


def _check(before: Operation, operation: Operation) -> None:
    operation.graph._require_mutable()
    if before.graph is not operation.graph:
        raise ValueError(f"after: {operation.name!r} is from a different graph than {before.name!r}")
    if before.context is not operation.context:
        raise ValueError(
            errors.describe(
                f"after: {operation.name!r} cannot be ordered after {before.name!r}",
                expected="operations of the same branch or loop",
                hint="order the whole loop, by its inputs or its results",
                made_at=operation.made_at,
            )
        )
    path = _path(operation, before)
    if path:
        raise ValueError(
            errors.describe(
                f"after: {operation.name!r} cannot wait for {before.name!r}, which waits for it",
                received=" -> ".join(repr(step.name) for step in path),
                made_at=operation.made_at,
            )
        )


def _path(source: Operation, destination: Operation) -> list[Operation]:
    """Returns operations that lead from one to another, or nothing."""
    # Walked against the edges from the destination; each operation remembers the one that it was reached from, so that
    # the chain from the source on is the path to show. Hints count as edges: two that contradict each other are a
    # cycle, too.
    following = {destination: destination}
    stack = [destination]
    while stack and source not in following:
        operation = stack.pop()
        for earlier in _predecessors(operation):
            if earlier not in following:
                following[earlier] = operation
                stack.append(earlier)
    if source not in following:
        return []
    path = [source]
    while path[-1] is not destination:
        path.append(following[path[-1]])
    return path


def _predecessors(operation: Operation) -> list[Operation]:
    inputs = [tensor.op for tensor in operation.inputs if isinstance(tensor, Tensor)]
    by_name = operation.graph._by_name
    hints = [by_name[name] for name in operation.attrs.get(ORDER_HINTS, ()) if name in by_name]
    return [*inputs, *operation._control_inputs, *hints]
