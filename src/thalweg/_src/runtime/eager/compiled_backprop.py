"""Compiled backpropagation: the gradients of what a tape records again and again run as one compiled step.

A training loop records the same operations on tensors of the same shapes in each step. Their gradient functions are
then called once with symbolic tensors, and the graph that they make is compiled like any step: with fused kernels,
without the cost of one call per operation, and in the background by Inductor if it takes long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.autodiff.registry import is_library_rule
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.walk import reachable
from thalweg._src.runtime.cpu_contention import core_share
from thalweg._src.runtime.eager.mode import eager_graph
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.tape import Call, stop_recording
from thalweg._src.runtime.eager.tensor import EagerTensor, kind_of
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.kernels.types import to_read
from thalweg._src.runtime.pipeline import compile_step
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

# Takes recorded calls, targets with their gradients, and sources; returns the gradients of the sources.
Backpropagate = Callable[[Sequence[Any], Sequence[tuple[Any, Any]], Sequence[Any]], list[Any]]
_COMPILE_AFTER = 3  # equal recordings
_MAX_KEYS = 256  # recordings that are remembered; beyond it, all are forgotten


@dataclass(frozen=True, slots=True)
class _Plan:
    """A compiled backward pass.

    feeds: which of the recorded tensors it takes
    counts: for each source the number of results that are its gradient: none, one, or those of an IndexedSlices
    """

    executable: Executable
    feeds: Sequence[int]
    counts: Sequence[int]
    dtypes: Sequence[DType]
    devices: Sequence[Device]

    def run(self, tensors: Sequence[EagerTensor]) -> list[Any]:
        """Returns the gradients of the sources."""
        if core_share.active:
            core_share.look()
        values = self.executable.run(Step(), [tensors[index].value for index in self.feeds])
        flat = [
            EagerTensor(v, kind_of(dtype, v.ndim, device))
            for dtype, device, v in zip(self.dtypes, self.devices, values)
        ]
        if len(flat) == len(self.counts):
            return flat
        left = iter(flat)
        grads: list[Any] = []
        for count in self.counts:
            components = [next(left) for _ in range(count)]
            grads.append(None if not components else components[0] if count == 1 else IndexedSlices(*components))
        return grads


class _Recording:
    """What a tape has recorded, with its tensors numbered in the order of their first use.

    key: equal for recordings that differ in the values of tensors alone
    """

    __slots__ = ("_numbers", "calls", "key", "sources", "targets", "tensors")

    def __init__(
        self,
        calls: Sequence[Call],
        targets: Sequence[tuple[EagerTensor, EagerTensor]],
        sources: Sequence[EagerTensor],
    ) -> None:
        self._numbers: dict[EagerTensor, int] = {}
        self.tensors: list[EagerTensor] = []
        number = self._number
        self.calls = [
            (call, [number(t) for t in inputs], [number(t) for t in outputs]) for call, inputs, outputs in calls
        ]
        self.targets = [(number(target), number(grad)) for target, grad in targets]
        self.sources = [number(source) for source in sources]
        self.key = (
            tuple([(call, *inputs, None, *outputs) for call, inputs, outputs in self.calls]),
            tuple([(tensor.kind, getattr(tensor.value, "shape", None)) for tensor in self.tensors]),
            tuple(self.targets),
            tuple(self.sources),
        )

    def _number(self, tensor: EagerTensor) -> int:
        number = self._numbers.get(tensor)
        if number is None:
            number = self._numbers[tensor] = len(self.tensors)
            self.tensors.append(tensor)
        return number

    def can_be_compiled(self) -> bool:
        """Returns whether the gradients consist of operations alone, and not of what a user's function does."""
        return all(is_library_rule(call.definition, call.attrs) for call, _, _ in self.calls) and not any(
            tensor.kind.dtype in (dtypes.variant, dtypes.string) for tensor in self.tensors
        )

    def compile(self, backpropagate: Backpropagate) -> _Plan | None:
        """Returns the compiled gradients, None if no source has one."""
        graph, devices = FunctionGraph(), eager_graph().devices
        with stop_recording(), graph.as_default():
            symbols = self._symbolic(graph)
            calls = [
                (call, [symbols[i] for i in inputs], [symbols[i] for i in outputs])
                for call, inputs, outputs in self.calls
            ]
            targets = [(symbols[target], symbols[grad]) for target, grad in self.targets]
            components = list(map(_components_of, backpropagate(calls, targets, [symbols[i] for i in self.sources])))
            outputs = [identity(tensor) if tensor in symbols else tensor for flat in components for tensor in flat]
        if not outputs:
            return None
        used = _used(outputs)
        feeds = [index for index, tensor in enumerate(symbols) if tensor.op.type == "Placeholder" and tensor.op in used]
        config = ConfigProto(allow_soft_placement=True)
        feed_devices = [self.tensors[index].kind.device for index in feeds]
        executable = compile_step(
            [symbols[index] for index in feeds], outputs, [], config, devices, feed_devices=feed_devices
        )
        if any(feed_devices[index].type != "CPU" for index in executable.host_feeds):
            return None  # the step runs on the host
        fetch_devices = [device or devices[0] for device in executable.fetch_devices]
        return _Plan(executable, feeds, [len(flat) for flat in components], [t.dtype for t in outputs], fetch_devices)

    def _symbolic(self, graph: FunctionGraph) -> list[Tensor]:
        """Returns a tensor of the graph for each recorded one: a constant if kernels were bound for its value."""
        fixed = {inputs[place] for call, inputs, _ in self.calls for place in call.fixed}
        return [_symbol(graph, tensor, index in fixed) for index, tensor in enumerate(self.tensors)]


def _symbol(graph: FunctionGraph, tensor: EagerTensor, is_fixed: bool) -> Tensor:
    if not is_fixed:
        return graph.argument(tensor.dtype, tensor.dims if tensor.dtype is not dtypes.resource else None)
    attrs = {"value": to_read(tensor.value), "dtype": tensor.dtype}
    return graph.create_op("Const", [], attrs=attrs).outputs[0]


def _components_of(grad: Tensor | IndexedSlices | None) -> list[Tensor]:
    if grad is None:
        return []
    if isinstance(grad, IndexedSlices):
        return [component for component in (grad.values, grad.indices, grad.dense_shape) if component is not None]
    return [grad]


def _used(outputs: Sequence[Tensor]) -> set[Operation]:
    """Returns the operations that some tensors depend on."""
    roots = (tensor.op for tensor in outputs)
    return reachable(roots, lambda op: [*(tensor.op for tensor in op.inputs), *op.control_inputs])


class CompiledGradients:
    """The compiled gradients of recordings that are repeated."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[Any, int | _Plan | None] = {}  # how often it was recorded; None: it cannot be compiled

    def run(
        self,
        calls: Sequence[Call],
        targets: Sequence[tuple[EagerTensor, EagerTensor]],
        sources: Sequence[EagerTensor],
        backpropagate: Backpropagate,
    ) -> list[Any] | None:
        """Returns the gradients of a recording; None if it was not repeated, or cannot be compiled."""
        if stacks.tapes or stacks.callbacks or not stacks.is_plain:
            return None
        if any(type(call) is EagerOperation for call, _, _ in calls):  # with a gradient function of its own
            return None
        recording = _Recording(calls, targets, sources)
        plan = self._plans.get(recording.key, 0)
        if type(plan) is int:
            plan = self._count(recording, plan + 1, backpropagate)
        return plan.run(recording.tensors) if isinstance(plan, _Plan) else None

    def _count(self, recording: _Recording, count: int, backpropagate: Backpropagate) -> int | _Plan | None:
        """Notes that operations were recorded so many times, and compiles them if that is often."""
        with self._lock:
            plan: int | _Plan | None = count
            if count >= _COMPILE_AFTER:
                plan = recording.compile(backpropagate) if recording.can_be_compiled() else None
            if len(self._plans) >= _MAX_KEYS:
                self._plans.clear()
            self._plans[recording.key] = plan
        return plan


compiled_gradients = CompiledGradients()
