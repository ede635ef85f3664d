"""Recorded: the kernels of a segment as one launch, once its shapes have settled.

An accelerator runs kernels faster than Python can start small ones. It can note all kernels of a function with the
memory that they use (a CUDA graph) and then start them by a single call. So a segment is cut in three: what runs on the
host before, what runs on the device, and what comes after. The middle part runs as it is a few times; then it is
recorded, and from then on started whole, for as long as everything that the record depends on is as it was: shapes,
values on the host, and the buffers of variables. Whatever cannot be recorded runs as before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from thalweg._src import dtypes
from thalweg._src.compile.bind import Bound
from thalweg._src.compile.clusters import Clusters
from thalweg._src.compile.codegen import Code, generate
from thalweg._src.compile.segment import Segment
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.kernels.registry import Call
from thalweg._src.partition.host_memory import on_host
from thalweg._src.resources.devices import Device
from thalweg._src.resources.step import Step
from thalweg._src.resources.variables import VariableResource, capturing, locked

_RUNS = 3  # of a kind before it is recorded: whoever runs it once more will run it often
_KINDS = 4  # records of one segment: each keeps memory of its own
_REMEMBERED = 256  # kinds that are counted; one that comes again only after so many others is rare
_FEWEST = 4  # kernels that are worth it
_log = logging.getLogger("thalweg")


def recorded(segment: Segment, bound: Bound, device: Device, clusters: Clusters | None = None) -> Recorded | None:
    """Returns the function of a segment that records its kernels; None if there is nothing to gain.

    clusters: what puts clusters in the place of nodes
    """
    if device.accelerator is None or device.accelerator.capture is None:
        return None
    parts = _cut(segment, bound)
    if sum(node in bound.calls for node in parts[1]) < _FEWEST:
        return None
    return Recorded(segment, parts, bound, device, clusters)


def _cut(segment: Segment, bound: Bound) -> tuple[list[Node], list[Node], list[Node]]:
    """Divides the nodes of a segment into those before, inside and after the record."""
    before: list[Node] = []
    inside: list[Node] = []
    after: list[Node] = []
    place: dict[Node, list[Node]] = {}
    for node in segment.nodes:
        earlier = [place[p] for p in node.predecessors() if p in place]
        if any(part is after for part in earlier):
            part = after
        elif any(part is inside for part in earlier):
            part = inside if _can_be_recorded(node, bound) or _is_settled(node) else after
        else:
            part = inside if _can_be_recorded(node, bound) else before
        place[node] = part
        part.append(node)
    return before, inside, after


def _can_be_recorded(node: Node, bound: Bound) -> bool:
    if node.type in ("_CopyToHost", "_CopyToDevice", "_Send") or node.attrs.get("_host"):
        return False
    if node.type == "_While":
        return all(_can_be_recorded(inner, bound) or "_host" in inner.attrs for inner in _repeated(node))
    if not node.facts.is_capturable or dtypes.string in node.dtypes:
        return False
    return all(isinstance(bound.constants.get(output), VariableResource) for output in _handles(node))


def _is_settled(node: Node) -> bool:
    """Returns whether a node computes, from shapes, numbers that are the same whenever the shapes are."""
    return "_host" in node.attrs or node.type == "_CopyToDevice"


def _repeated(loop: Node) -> list[Node]:
    return [node for part in loop.attrs["region"].parts() for node in part.nodes if node.type != "_Arg"]


def _handles(node: Node) -> list[Output]:
    return [output for i, output in enumerate(node.inputs) if node.input_dtype(i) is dtypes.resource]


class _Part:
    """Some nodes of a segment as a function, with what goes into it and what comes out."""

    def __init__(
        self,
        segment: Segment,
        calls: dict[Node, Call],
        constants: dict[Output, Any],
        clusters: Clusters | None = None,
    ) -> None:
        self.segment = segment
        self.code: Code = generate(segment, calls, constants, clusters)

    def take(self, values: dict[Output, Any]) -> list[Any]:
        return [values[output] for output in self.segment.inputs]

    def run(self, step: Step, values: dict[Output, Any]) -> Sequence[Any]:
        """Runs the nodes on the values that are there, and adds those that come out."""
        results: Sequence[Any] = self.code.function(step, *self.take(values))
        values.update(zip(self.segment.outputs, results))
        return results


class Recorded:
    """A segment's function in three parts, of which the middle one is recorded for the kinds of values that come."""

    __name__ = "recorded"

    def __init__(
        self,
        segment: Segment,
        parts: tuple[list[Node], list[Node], list[Node]],
        bound: Bound,
        device: Device,
        clusters: Clusters | None,
    ) -> None:
        self._device = device
        self._clusters = clusters
        self._version = 0
        self._bound = bound
        self._inputs = segment.inputs
        needed = [_needed(part, bound) for part in parts]
        wanted = set(segment.outputs)
        there = list(segment.inputs)
        made: list[_Part] = []
        for index, nodes in enumerate(parts):
            later = wanted.union(*needed[index + 1 :])
            outputs = [o for o in _outputs(nodes) if o in later and o not in bound.constants]
            if index == 2:
                outputs, needed[2] = segment.outputs, needed[2] | wanted
            inputs = [output for output in there if output in needed[index]]
            there += outputs
            part = Segment(segment.index, nodes, segment.waits, inputs, outputs)
            made.append(_Part(part, bound.calls, bound.constants, self._clusters))
        self._before, self._middle, self._after = made
        self._on_host = [on_host(output) for output in self._middle.segment.inputs]
        self._leaving = [output in wanted for output in self._middle.segment.outputs]
        self._lock = threading.Lock()
        self._seen: dict[Any, int] = {}
        self._copied = [(node, 0) for node in parts[1] if node.type == "_CopyToDevice"]
        middle = self._middle.segment
        watched = Segment(segment.index, middle.nodes, middle.waits, middle.inputs, [*middle.outputs, *self._copied])
        self._watched = _Part(watched, bound.calls, bound.constants, self._clusters) if self._copied else self._middle
        self._copies: dict[Any, dict[Output, Any]] = {}
        self._records: dict[Any, _Record] = {}
        self._given_up = False

    @property
    def codes(self) -> list[Code]:
        return [part.code for part in (self._before, self._middle, self._after)]

    def __call__(self, step: Step, *inputs: Any) -> Sequence[Any]:
        values = dict(zip(self._inputs, inputs))
        self._before.run(step, values)
        if self._given_up or not self._lock.acquire(blocking=False):  # another thread's step has the record's memory
            self._middle.run(step, values)
            return self._after.run(step, values)
        try:
            if not self._replay(step, values):
                self._middle.run(step, values)
            return self._after.run(step, values)
        finally:
            self._lock.release()

    def _replay(self, step: Step, values: dict[Output, Any]) -> bool:
        """Launches the record for values of this kind, which is made now if it is time; False if there is none."""
        if self._clusters is not None and not self._has_settled(self._clusters):
            return False
        taken = self._middle.take(values)
        kind = tuple(map(_kind_of, taken, self._on_host))
        record = self._records.get(kind)
        if record is None:
            if None in kind or len(self._records) == _KINDS:
                return False
            if len(self._seen) == _REMEMBERED:
                self._seen.clear()
                self._copies.clear()
            self._seen[kind] = self._seen.get(kind, 0) + 1
            if self._seen[kind] < _RUNS:
                return False
            if self._seen[kind] == _RUNS:
                self._watched.run(step, values)
                self._copies[kind] = {output: values.pop(output) for output in self._copied}
                return True
            record = self._make(kind, step, taken)
        if record is None or not record.replay(taken):
            return False
        results = [value.clone() if leaves else value for value, leaves in zip(record.outputs(), self._leaving)]
        values.update(zip(self._middle.segment.outputs, results))
        return True

    def _has_settled(self, clusters: Clusters) -> bool:
        """Forgets what was recorded of clusters that run in another way now; False while one tries out both ways."""
        if self._version != clusters.version:
            self._version = clusters.version
            self._records.clear()
            self._seen.clear()
            self._copies.clear()
        return not clusters.trying()

    def _make(self, kind: Any, step: Step, taken: list[Any]) -> _Record | None:
        try:
            inputs = [value if host else value.clone() for value, host in zip(taken, self._on_host)]
            record = _Record(self._noted(step, inputs, self._copies.pop(kind)), inputs, self._variables())
        except _Held:
            self._seen[kind] = 0  # by somebody who will let it go: once more, later
            return None
        except Exception as error:
            _log.info("a segment of %d nodes is not recorded: %s", len(self._middle.segment.nodes), error)
            self._given_up = True
            return None
        self._records[kind] = record
        return record

    def _noted(
        self, step: Step, inputs: list[Any], copies: dict[Output, Any]
    ) -> Callable[[], tuple[Sequence[Any], Callable[[], None]]]:
        """Returns what records the middle part; what it copies to the device is there already."""
        calls = {node: call for node, call in self._bound.calls.items() if (node, 0) not in copies}
        drawing = [
            node for node in _everything(self._middle.segment.nodes) if node.facts.random and node.facts.is_capturable
        ]
        generators = [self._device.state(node.name, lambda: None) for node in drawing]
        part = _Part(self._middle.segment, calls, {**self._bound.constants, **copies}, self._clusters)
        assert self._device.accelerator is not None and self._device.accelerator.capture is not None
        record = self._device.accelerator.capture
        return lambda: record(lambda: part.code.function(step, *inputs), generators)

    def _variables(self) -> dict[VariableResource, bool]:
        """Returns the variables that the middle part uses, and whether it changes them."""
        variables: dict[VariableResource, bool] = {}
        for node in self._middle.segment.nodes:
            for output in _handles(node):
                variable = self._bound.constants[output]
                variables[variable] = variables.get(variable, False) or not node.facts.reads
        return variables


def _everything(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if node.type == "_While":
            yield from _everything(_repeated(node))


def _outputs(nodes: Sequence[Node]) -> list[Output]:
    return [(node, index) for node in nodes for index in range(len(node.dtypes))]


def _needed(nodes: Sequence[Node], bound: Bound) -> set[Output]:
    outputs = {output for node in nodes if node in bound.calls for output in node.inputs}
    outputs |= {predicate for node in nodes for predicate, _ in node.guard}
    return outputs - set(bound.constants)


def _kind_of(value: Any, on_host: bool) -> Any:
    """Returns what a record depends on of a value: its layout on a device, all of it on the host; None if unknown."""
    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, int | float | bool) else None
    if on_host:
        return (value.dtype, value.shape, tuple(value.flatten().tolist())) if value.numel() <= 64 else None
    return value.dtype, value.shape, value.stride()


class _Held(Exception):
    """The value of a variable is held by somebody else just now."""


class _Record:
    """The noted kernels of one kind, with the memory they read and write."""

    def __init__(
        self,
        record: Callable[[], tuple[Sequence[Any], Callable[[], None]]],
        inputs: list[Any],
        variables: dict[VariableResource, bool],
    ) -> None:
        self._inputs = inputs
        self._variables = list(variables.items())
        self._guard = locked(list(variables))
        with self._guard:
            if not self._find_variables():
                raise _Held
        with capturing():
            outputs, self._launch = record()
        # An output that is a variable's buffer is looked up again: to hold it here would make the variable move.
        places = {id(variable.captured): variable for variable in variables}
        self._outputs = [places.get(id(value), value) for value in outputs]

    def _find_variables(self) -> bool:
        return all(variable.find_captured(changes) for variable, changes in self._variables)

    def outputs(self) -> list[Any]:
        """Returns what the last launch gave."""
        return [value.captured if isinstance(value, VariableResource) else value for value in self._outputs]

    def replay(self, taken: list[Any]) -> bool:
        """Launches the kernels on new values; False if a variable's buffer cannot be used."""
        with self._guard:
            if not self._find_variables():
                return False
            for own, value in zip(self._inputs, taken):
                if own is not value and isinstance(value, torch.Tensor):
                    own.copy_(value, non_blocking=True)
            self._launch()
        return True
