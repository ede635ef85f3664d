"""Compiled calls: a function of a graph as a compiled step on eager tensors, which tapes can differentiate."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.autodiff.functions import forward_backward
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.function import GraphFunction
from thalweg._src.graph.ops.functional import stateful_partitioned_call_op
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.cpu_contention import core_share
from thalweg._src.runtime.eager.mode import eager_graph
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.tape import could_record, derivative_order, record
from thalweg._src.runtime.eager.tensor import EagerTensor, Kind, kind_of
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.kernels.transfer import copy_to
from thalweg._src.runtime.pipeline import compile_step
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step


class CompiledCall:
    """A function of a graph, compiled for eager tensors.

    Its inputs include the handles of variables. They are not passed to the step, which finds variables by name when it
    is compiled; tapes watch them.
    """

    def __init__(self, function: GraphFunction) -> None:
        self.function = function
        self._lock = threading.RLock()
        self._fed = [i for i, tensor in enumerate(function.inputs) if tensor.op.type != "VarHandleOp"]
        self._feeds_all = len(self._fed) == len(function.inputs)
        self._executable: Executable | None = None
        self._feed_devices: list[Device] = []  # where the step takes its feeds; empty with one device
        self._kinds: list[Kind] = []

    def _compiled(self, inputs: Sequence[EagerTensor]) -> Executable:
        """Returns the step, compiled for the memories in which the inputs of the first call are."""
        with self._lock:
            if self._executable is None:
                self._executable = self._compile(inputs)
            return self._executable

    def _compile(self, inputs: Sequence[EagerTensor]) -> Executable:
        function, devices = self.function, eager_graph().devices
        feeds = [function.inputs[i] for i in self._fed]
        config = ConfigProto(allow_soft_placement=True)
        targets = [operation for operation in function.targets if not any(t.op is operation for t in feeds)]
        feed_devices = [inputs[i].kind.device for i in self._fed]
        executable = compile_step(
            feeds, function.outputs, targets, config, devices, members=function.body.members, feed_devices=feed_devices
        )
        if len(devices) > 1:
            on_host = set(executable.host_feeds)
            self._feed_devices = [devices[0] if i in on_host else device for i, device in enumerate(feed_devices)]
        fetch_devices = [device or devices[0] for device in executable.fetch_devices]
        self._kinds = [_kind(tensor, device) for tensor, device in zip(function.outputs, fetch_devices)]
        return executable

    def __call__(self, inputs: Sequence[EagerTensor]) -> list[EagerTensor]:
        """Runs the step, and records it on the tapes that watch an input or a variable."""
        if stacks.tapes and could_record(inputs):
            return self._run_recorded(inputs)
        return self._run(inputs)

    def _run(self, inputs: Sequence[EagerTensor]) -> list[EagerTensor]:
        executable = self._executable or self._compiled(inputs)
        feeds = [tensor.value for tensor in inputs] if self._feeds_all else [inputs[i].value for i in self._fed]
        if self._feed_devices:
            feeds = list(map(_moved, feeds, self._feed_devices))
        if core_share.active:
            core_share.look()
        values = executable.run(Step(), feeds)
        return [_tensor(value, kind) for value, kind in zip(values, self._kinds)]

    # -- gradients ----------------------------------------------------------------------------------------------------
    #
    # For derivatives of order n, the step that runs is the n-th form of this one: each form returns what the last one
    # returns, and the values that the gradients of the last one need. All of them are outputs of the recorded
    # operation, since derivatives of gradients lead back to saved values.

    def _run_recorded(self, inputs: Sequence[EagerTensor]) -> list[EagerTensor]:
        form = self._form(derivative_order())
        results = form._run(inputs)
        operation = EagerOperation(stateful_partitioned_call_op, {}, tuple(inputs), tuple(results))
        operation.rule = self._gradients
        record(operation)
        return results[: len(self.function.outputs)]

    @functools.cached_property
    def _forms(self) -> list[CompiledCall]:
        return [self]

    def _form(self, order: int) -> CompiledCall:
        """Returns the form of this call that saves values for derivatives up to an order."""
        with self._lock:
            while len(self._forms) <= order:
                self._forms.append(CompiledCall(forward_backward(self._forms[-1].function).forward))
        return self._forms[order]

    @functools.cached_property
    def backward(self) -> CompiledCall:
        """The call that computes the gradients of this one."""
        with self._lock:
            return CompiledCall(forward_backward(self.function).backward)

    def _gradients(self, operation: EagerOperation, *grads: Any) -> list[Any]:
        """Returns the gradients of the inputs, None where there is none."""
        last = max(index for index, grad in enumerate(grads) if grad is not None)
        form = next(form for form in self._forms if last < len(form.function.outputs))
        both, results = forward_backward(form.function), operation.outputs
        if len(results) < len(both.forward.outputs):  # a derivative of a higher order than the tapes had when it ran
            results = self._form(len(self._forms))._run(operation.inputs)
        received = [convert_to_tensor(zeros_like(results[i]) if grads[i] is None else grads[i]) for i in both.received]
        return both.gradients(form.backward(both.arguments(operation.inputs, results, received)))


def _moved(value: object, device: Device) -> Any:
    return copy_to(device)(value) if isinstance(value, torch.Tensor) and value.device != device.torch else value


def _kind(tensor: Tensor, device: Device) -> Kind:
    has_rank = tensor.dtype not in (dtypes.resource, dtypes.variant)
    return kind_of(tensor.dtype, None if tensor.dims is None or not has_rank else len(tensor.dims), device)


def _tensor(value: Any, kind: Kind) -> EagerTensor:
    if kind.rank is None and kind.dtype not in (dtypes.resource, dtypes.variant):
        kind = kind_of(kind.dtype, value.ndim, kind.device)
    return EagerTensor(value, kind)
