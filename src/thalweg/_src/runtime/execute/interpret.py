"""Interpreter: runs a segment call by call, with the same results as its generated function.

It is used for traced steps, and for the first step of a large program, which may be the only one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.runtime.compile.failure import UNTAKEN_BRANCH, explain, in_iteration
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.kernels.registry import Call, invoke
from thalweg._src.runtime.resources.step import Step


class Observer(Protocol):
    """Called when a node starts and, with the result of that call, when it ends."""

    def start(self, node: Node) -> Any: ...

    def end(self, node: Node, started: Any) -> None: ...


def interpret(
    segment: Segment,
    calls: dict[Node, Call],
    constants: dict[Output, Any],
    step: Step,
    inputs: Sequence[Any],
    observer: Observer | None,
    device: str,
) -> list[Any]:
    """Runs the nodes of a segment one by one; an observer is called before and after each."""
    return _Interpreter(calls, constants, step, observer, device).run(
        segment.nodes, dict(zip(segment.inputs, inputs)), segment.outputs
    )


class _Interpreter:
    def __init__(
        self, calls: dict[Node, Call], constants: dict[Output, Any], step: Step, observer: Observer | None, device: str
    ) -> None:
        self._calls = calls
        self._constants = constants
        self._step = step
        self._observer = observer
        self._name = self._device = device

    def run(self, nodes: Sequence[Node], feeds: dict[Output, Any], outputs: Sequence[Output]) -> list[Any]:
        """Runs nodes on given values and returns some of their outputs; each value is dropped at its last use."""
        values: dict[Output, Any] = {**self._constants, **feeds}
        uses = Counter(output for node in nodes for output in node.inputs)
        uses.update(predicate for node in nodes for predicate, _ in node.guard)
        uses.update(outputs)
        for node in nodes:
            if node not in self._calls:
                continue
            if self._step.cancelled:
                self._step.stop()
            taken = self._is_taken(node, values)
            seen = [values.get(output) for output in node.inputs] if taken else []
            # Dropped before the call, so that only `seen` refers to a value at its last use, as only its name does in
            # the generated function: an update in place counts the references to a buffer.
            for output in [*node.inputs, *(predicate for predicate, _ in node.guard)]:
                uses[output] -= 1
                if not uses[output]:
                    values.pop(output, None)
            if not taken:
                continue
            result = self._call(node, seen)
            for index, value in enumerate((result,) if len(node.dtypes) == 1 else result or ()):
                output = Output(node, index)
                if uses[output]:
                    values[output] = value
            del seen, result  # else they would live until the next node has run
        return [values[output] for output in outputs]

    def _is_taken(self, node: Node, values: dict[Output, Any]) -> bool:
        try:
            return all(bool(values[predicate]) is side for predicate, side in node.guard)
        except RuntimeError as error:  # not a scalar
            raise explain(error, node, None, self._device) from None

    def _call(self, node: Node, seen: Sequence[Any]) -> Any:
        observer = self._observer
        started = observer.start(node) if observer is not None else None
        try:
            if node.type == "_While":
                result = self._loop(node, seen)
            elif node.type == "_Choose":
                result = seen[2] if seen[0] else seen[1]
            elif node.type == "_Alive":
                result = self._alive(node, seen)
            else:
                result = invoke(self._calls[node], seen, self._step)
        except Exception as error:
            raise explain(error, node, seen, self._device) from None
        if observer is not None:
            observer.end(node, started)
        return result

    def _loop(self, node: Node, seen: Sequence[Any]) -> Any:
        region, count = node.attrs["region"], len(node.dtypes)
        arguments = [Output(argument, 0) for argument in region.body.feeds]
        variables, captures = list(seen[:count]), dict(zip(arguments[count:], seen[count:]))
        outside = self._device
        for iteration in itertools.count():
            self._device = in_iteration(self._name, iteration)
            feeds = {**captures, **dict(zip(arguments, variables))}
            if not self.run(region.condition.nodes, feeds, region.condition.fetches)[0]:
                break
            variables = self.run(region.body.nodes, feeds, region.body.fetches)
        self._device = outside
        return variables[0] if count == 1 else variables

    def _alive(self, node: Node, seen: Sequence[Any]) -> Any:
        *predicates, value = seen
        for predicate, side in zip(predicates, node.attrs["sides"]):
            if predicate is None or bool(predicate) is not side:
                raise errors.invalid(UNTAKEN_BRANCH)
        return value
