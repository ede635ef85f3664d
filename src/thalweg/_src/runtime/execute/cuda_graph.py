"""CUDA graphs: captures a segment's device kernels after warm-up, and replays them with one launch.

An accelerator runs small kernels faster than Python can launch them. So a segment is cut into three stages: nodes that
run on the host first, nodes that run on the device, and the rest. The middle stage runs eagerly a few times; then it is
captured with the memory that it uses, and from then on replayed, as long as everything that the capture depends on is
unchanged: shapes, values on the host, and the buffers of variables. What cannot be captured falls back to eager calls.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.compiler.partition.host_memory import on_host
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.runtime.compile.bind import Bound
from thalweg._src.runtime.compile.clusters import Clusters
from thalweg._src.runtime.compile.codegen import Code, generate
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.compile.tiers import Launch, Stale, Tiers
from thalweg._src.runtime.kernels.registry import Call
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.variables import VariableResource, capturing, locked

_MIN_KERNELS = 4  # kernels that are worth a capture
_log = logging.getLogger("thalweg")


def captured(
    segment: Segment, bound: Bound, device: Device, tiers: Tiers, clusters: Clusters | None = None
) -> CapturedSegment | None:
    """Returns the function of a segment that captures its kernels; None if a capture is impossible or not worthwhile.

    clusters: replaces nodes by fusion clusters
    """
    if device.accelerator is None or device.accelerator.capture is None:
        return None
    stages = _cut(segment, bound, device)
    if sum(node in bound.calls for node in stages[1]) < _MIN_KERNELS:
        return None
    return CapturedSegment(segment, stages, bound, device, tiers, clusters)


def _cut(segment: Segment, bound: Bound, device: Device) -> tuple[list[Node], list[Node], list[Node]]:
    """Splits the nodes of a segment into those before, inside and after the capture."""
    # The three stages run one after the other, so a node may not be in an earlier stage than a predecessor. A node with
    # no predecessor inside or after goes first if it cannot be captured. Once a predecessor is inside, a node that
    # cannot be captured goes last, and with it all that depends on it, even if it could be captured. The exception is
    # a node on the host that depends on shapes alone: they are the same in every replay, so that what it computed
    # during the capture stays true.
    before: list[Node] = []
    inside: list[Node] = []
    after: list[Node] = []
    place: dict[Node, list[Node]] = {}
    for node in segment.nodes:
        earlier = [place[p] for p in node.predecessors() if p in place]
        if any(stage is after for stage in earlier):
            stage = after
        elif any(stage is inside for stage in earlier):
            stage = inside if _is_capturable(node, bound, device) or _depends_on_shapes(node) else after
        else:
            stage = inside if _is_capturable(node, bound, device) else before
        place[node] = stage
        stage.append(node)
    return before, inside, after


def _is_capturable(node: Node, bound: Bound, device: Device) -> bool:
    if node.type in ("_CopyToHost", "_CopyToDevice") or node.attrs.get("_host"):
        return False
    if node.type == "_While":
        return all(_is_capturable(inner, bound, device) or "_host" in inner.attrs for inner in _repeated(node))
    if not node.facts.is_capturable or dtypes.string in node.dtypes:
        return False
    variables = [bound.constants.get(output) for output in _handles(node)]
    return all(isinstance(variable, VariableResource) and variable.device == device.torch for variable in variables)


def _depends_on_shapes(node: Node) -> bool:
    """Returns whether a node computes values on the host that depend on shapes only."""
    return "_host" in node.attrs or node.type == "_CopyToDevice"


def _may_keep(node: Node) -> bool:
    """Returns whether a node may pass on the memory of an input: to a TensorArray, another device, or as its output."""
    return node.definition.stateful or node.facts.is_alias or bool(node.facts.view)


def _repeated(loop: Node) -> list[Node]:
    return [node for graph in loop.attrs["region"].graphs() for node in graph.nodes if node.type != "_Arg"]


def _handles(node: Node) -> list[Output]:
    return [output for i, output in enumerate(node.inputs) if node.input_dtype(i) is dtypes.resource]


class _Stage:
    """Some nodes of a segment as a function, with its inputs and outputs."""

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
        """Runs the nodes on the given values, and adds their outputs."""
        results: Sequence[Any] = self.code.function(step, *self.take(values))
        values.update(zip(self.segment.outputs, results))
        return results


class CapturedSegment:
    """A segment's function in three stages, of which the middle one is captured once per signature of its inputs."""

    __name__ = "captured"

    def __init__(
        self,
        segment: Segment,
        stages: tuple[list[Node], list[Node], list[Node]],
        bound: Bound,
        device: Device,
        tiers: Tiers,
        clusters: Clusters | None,
    ) -> None:
        self._device = device
        self._clusters = clusters
        self._bound = bound
        self._inputs = segment.inputs
        # Values pass between the stages as in a chain: each takes what earlier stages or the caller have (`there`) and
        # it needs, and returns what a later stage or the caller needs. The last one returns all outputs of the segment.
        needed = [_needed(nodes, bound) for nodes in stages]
        outgoing = set(segment.outputs)
        there = dict.fromkeys(segment.inputs)
        functions: list[_Stage] = []
        for index, nodes in enumerate(stages):
            later = outgoing.union(*needed[index + 1 :])
            outputs = [o for o in _outputs(nodes) if o in later and o not in bound.constants and o not in there]
            if index == 2:
                outputs, needed[2] = segment.outputs, needed[2] | outgoing
            inputs = [output for output in there if output in needed[index]]
            there.update(dict.fromkeys(outputs))
            stage_segment = Segment(segment.index, nodes, inputs, outputs)
            functions.append(_Stage(stage_segment, bound.calls, bound.constants, self._clusters))
        self._before, self._middle, self._after = functions
        self._on_host = [on_host(output) for output in self._middle.segment.inputs]
        # The outputs of a capture lie in memory that the next replay overwrites. Those that leave the step, or that a
        # later node may store or pass on without a copy, are cloned after each replay; the others are used up by then.
        leaving = outgoing.union(*(node.inputs for node in stages[2] if _may_keep(node)))
        self._leaving = [output in leaving for output in self._middle.segment.outputs]
        self._in_use = threading.Lock()  # held by the step that uses the memory of the captures
        self._tiers = tiers
        # A copy from the host to the device cannot be captured: it would read the host's memory of that one step. Its
        # value depends on shapes alone, so the run before the capture (`watched`) keeps what was copied, and the
        # capture uses these tensors as constants.
        self._copied = [Output(node, 0) for node in stages[1] if node.type == "_CopyToDevice"]
        middle = self._middle.segment
        watched = Segment(segment.index, middle.nodes, middle.inputs, [*middle.outputs, *self._copied])
        self._watched = _Stage(watched, bound.calls, bound.constants, self._clusters) if self._copied else self._middle
        self._copies: dict[Any, dict[Output, Any]] = {}
        self._captures: dict[Any, _Capture] = {}

    @property
    def codes(self) -> list[Code]:
        return [stage.code for stage in (self._before, self._middle, self._watched, self._after)]

    def __call__(self, step: Step, *inputs: object) -> Sequence[Any]:
        values = dict(zip(self._inputs, inputs))
        self._before.run(step, values)
        # The memory of the captures belongs to one step at a time. A second thread does not wait for it but launches
        # eagerly, into memory of its own.
        if self._tiers.is_eager(self) or not self._in_use.acquire(blocking=False):
            self._middle.run(step, values)
            return self._after.run(step, values)
        try:
            if not self._replay(step, values):
                self._middle.run(step, values)
            return self._after.run(step, values)
        finally:
            self._in_use.release()

    def _replay(self, step: Step, values: dict[Output, Any]) -> bool:
        """Replays the capture for this signature, after capturing it if it is due; returns False if there is none."""
        # A capture is valid for what it depends on: the layouts of the device's inputs, the values of the host's (they
        # decide sizes and branches), and the addresses of variables. The first two are the signature, under which the
        # tiers count and captures are kept; the third is examined at each replay under the locks of the variables.
        taken = self._middle.take(values)
        signature = tuple(map(_signature_of, taken, self._on_host))
        launch, stale = self._tiers.segment_called(self, None if None in signature else signature)
        if stale is not Stale.NOTHING:
            self._copies.clear()
        if stale is Stale.ALL:
            self._captures.clear()
        if launch is Launch.EAGER:
            return False
        if launch is Launch.WATCHED:
            self._watched.run(step, values)
            self._copies[signature] = {output: values[output] for output in self._copied}
            return True
        capture = self._captures[signature] if launch is Launch.REPLAY else self._make(signature, step, taken)
        if capture is None or not capture.replay(taken):
            return False
        results = [
            value.clone() if leaves and isinstance(value, torch.Tensor) else value  # or a number of the host
            for value, leaves in zip(capture.outputs(), self._leaving)
        ]
        values.update(zip(self._middle.segment.outputs, results))
        return True

    def _make(self, signature: object, step: Step, taken: list[Any]) -> _Capture | None:
        try:
            # The kernels read inputs at fixed addresses: copies, into which each replay writes the values of its step.
            inputs = [value if host else value.clone() for value, host in zip(taken, self._on_host)]
            copies = self._copies.pop(signature)
            capture = _Capture(self._capturing(step, inputs, copies), [*inputs, *copies.values()], self._variables())
        except _Held:
            self._tiers.capture_postponed(self, signature)  # a fetched value references a buffer for now
            return None
        except Exception as error:
            _log.info("a segment of %d nodes is not captured: %s", len(self._middle.segment.nodes), error)
            self._tiers.capture_failed(self)
            return None
        self._captures[signature] = capture
        self._tiers.segment_captured(self, signature)
        return capture

    def _capturing(
        self, step: Step, inputs: list[Any], copies: dict[Output, Any]
    ) -> Callable[[], tuple[Sequence[Any], Callable[[], None]]]:
        """Returns a function that captures the middle stage, whose copies to the device have been made already."""
        calls = {node: call for node, call in self._bound.calls.items() if Output(node, 0) not in copies}
        drawing = [
            node for node in _everything(self._middle.segment.nodes) if node.facts.random and node.facts.is_capturable
        ]
        generators = [self._device.state(node.name, lambda: None) for node in drawing]
        stage = _Stage(self._middle.segment, calls, {**self._bound.constants, **copies}, self._clusters)
        assert self._device.accelerator is not None and self._device.accelerator.capture is not None
        capture, lock = self._device.accelerator.capture, self._device.drawing

        def capture_alone() -> tuple[Sequence[Any], Callable[[], None]]:
            """Captures while no other step draws from the generators, and launches likewise."""
            with lock:
                values, launch = capture(lambda: stage.code.function(step, *inputs), generators)

            def launch_alone() -> None:
                with lock:
                    launch()

            return values, launch_alone if generators else launch

        return capture_alone

    def _variables(self) -> dict[VariableResource, bool]:
        """Returns the variables that the middle stage uses, and whether it changes them."""
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
    return [Output(node, index) for node in nodes for index in range(len(node.dtypes))]


def _needed(nodes: Sequence[Node], bound: Bound) -> set[Output]:
    outputs = {output for node in nodes if node in bound.calls for output in node.inputs}
    outputs |= {predicate for node in nodes for predicate, _ in node.guard}
    return outputs - set(bound.constants)


def _signature_of(value: object, on_host: bool) -> Any:
    """Returns what a capture depends on: the layout of a device value, all of a host value; None if that is unknown."""
    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, int | float | bool) else None
    if on_host:
        return (value.dtype, value.shape, tuple(value.flatten().tolist())) if value.numel() <= 64 else None
    return value.dtype, value.shape, value.stride()


class _Held(Exception):
    """Raised if the buffer of a variable is referenced elsewhere at the moment."""


class _Capture:
    """The captured kernels of one signature, with the memory they read and write.

    inputs: the tensors that they read: first those of each step, then those that are the same in every step
    """

    def __init__(
        self,
        capture: Callable[[], tuple[Sequence[Any], Callable[[], None]]],
        inputs: list[Any],
        variables: dict[VariableResource, bool],
    ) -> None:
        self._inputs = inputs
        self._variables = list(variables.items())
        self._guard = locked(list(variables))
        # The buffers are found under the locks; the capture runs without them, since its kernels lock variables
        # themselves. A kernel that would move a variable to another buffer fails the capture only (`capturing`).
        with self._guard:
            if not self._find_variables():
                raise _Held
        with capturing():
            outputs, self._launch = capture()
        # An output that is a variable's buffer is looked up each time: a reference to it would cause a copy on write.
        places = {id(variable.captured): variable for variable in variables}
        self._outputs = [places.get(id(value), value) for value in outputs]

    def _find_variables(self) -> bool:
        return all(variable.find_captured(changes) for variable, changes in self._variables)

    def outputs(self) -> list[Any]:
        """Returns the outputs of the last replay."""
        return [value.captured if isinstance(value, VariableResource) else value for value in self._outputs]

    def replay(self, taken: list[Any]) -> bool:
        """Replays the kernels on new values; returns False if a variable's buffer cannot be used."""
        # The locks are held until the launch: from the moment that the variables are in the captured buffers no other
        # step may move them. Copies and launch are on one stream, so that the order on the device is the same.
        with self._guard:
            if not self._find_variables():
                return False
            for buffer, value in zip(self._inputs, taken):
                if buffer is not value and isinstance(value, torch.Tensor):
                    buffer.copy_(value, non_blocking=True)
            self._launch()
        return True
