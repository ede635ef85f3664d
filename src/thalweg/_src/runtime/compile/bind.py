"""Kernel binding: selects the kernel of each node and resolves what does not change from step to step."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import InvalidArgumentError, ShapeError
from thalweg._src.compiler.partition.host_memory import arguments
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, waits
from thalweg._src.graph.op_def import unknown_shapes
from thalweg._src.graph.ops.shape_functions import broadcast_inputs, unchanged
from thalweg._src.runtime.compile.failure import explain, is_visible, shape_error
from thalweg._src.runtime.compile.loop_counters import number_call
from thalweg._src.runtime.kernels.registry import STEP, Call, Constant, Input, invoke, select
from thalweg._src.runtime.resources.accelerators import accelerator_type
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.variables import VariableResource

STRUCTURED = ("_While", "_Choose", "_Alive")  # nodes without kernels, which the executors implement
_AS_TORCH = (unchanged, broadcast_inputs, unknown_shapes)  # torch rejects what their shape functions reject


class Bound:
    """The kernel calls of a partition, and the values that are known at compile time."""

    __slots__ = ("calls", "constants", "waiting")

    def __init__(self) -> None:
        self.calls: dict[Node, Call] = {}
        self.waiting: dict[Node, Call] = {}
        self.constants: dict[Output, Any] = {}


def bind(step: StepGraph, device: Device, counters: Collection[Node] = ()) -> Bound:
    """Binds the nodes of a partition to kernels of its device.

    counters: nodes that compute with Python numbers
    """
    bound = Bound()
    _bind_into(bound, step, device, counters)
    return bound


def _bind_into(bound: Bound, step: StepGraph, device: Device, counters: Collection[Node]) -> None:
    for node in step.nodes:
        if node.type == "_Arg":
            continue
        if node.type == "_While" and waits(node):
            continue  # its condition and body are programs of their own
        if node.type in STRUCTURED:
            bound.calls[node] = Call(node.type, ())  # type: ignore[arg-type]  # executors know what it does
            for graph in node.attrs["region"].graphs() if node.type == "_While" else ():
                _bind_into(bound, graph, device, counters)
            continue
        if node in counters:
            bound.calls[node] = number_call(node)
            continue
        # Placement normally decides the device of a variable. On the token engine, which places nothing, and for a
        # variable that an earlier step signature created elsewhere, the call finds it out in each step.
        if step.is_unstructured or _uses_other_memory(node, bound, device):
            kernel = _bind_beside_variable(node, device)
        else:
            kernel = bind_node(node, device)
        if isinstance(kernel, Constant):
            bound.constants.update((Output(node, i), kernel.value) for i in range(len(node.dtypes)))
        elif node.definition.waits:
            bound.waiting[node] = replace(kernel, function=device.on_stream(kernel.function))
        else:
            bound.calls[node] = kernel


def bind_node(node: Node, device: Device) -> Call | Constant:
    """Returns the call of one node: the result of the binder, or a call of that function with all inputs."""
    if "_host" in node.attrs:
        device = device.host_side()
    try:
        kernel = bind_now(node, device)
    except (ShapeError, InvalidArgumentError) as error:
        kernel = _failing(explain(error, node, None, device.name))  # its branch may never be taken
    except Exception as error:
        raise explain(error, node, None, device.name) from error
    return _checked(node, kernel) if isinstance(kernel, Call) and _needs_check(node) else kernel


def bind_now(node: Node, device: Device) -> Call | Constant:
    """Returns the call of a node that will certainly run, so that invalid arguments are errors of the binder."""
    chosen = select(node, device.type)
    kernel = chosen.bind(node, device)
    if isinstance(kernel, Constant):
        return kernel
    call = kernel if isinstance(kernel, Call) else Call(kernel, tuple(map(Input, range(len(node.inputs)))))
    return _with_dense_inputs(call, node, chosen.dense) if chosen.dense else call


def _with_dense_inputs(call: Call, node: Node, names: Collection[str]) -> Call:
    """Returns a call that gets the inputs of some arguments as contiguous tensors; others are copied for it."""
    inputs = arguments(node.definition.inputs, node.attrs, len(node.inputs))
    demanded = [i for i, arg in enumerate(inputs) if arg.name in names and not _is_dense(node.inputs[i])]
    dense = {i: Call(torch.Tensor.contiguous, (Input(i),)) for i in demanded}

    # Some native kernels, such as oneDNN's, ignore the strides of a vector: they would read an expanded or sliced one
    # wrongly, without an error. So the copy becomes a part of the call, wherever the binder has put the input.
    def replaced(value: object) -> Any:
        if isinstance(value, Input):
            return dense.get(value, value)
        if isinstance(value, Call):
            kwargs = {key: replaced(argument) for key, argument in value.kwargs.items()}
            return Call(value.function, tuple(map(replaced, value.args)), kwargs)
        return list(map(replaced, value)) if isinstance(value, list) else value

    return cast(Call, replaced(call))


def _is_dense(output: Output) -> bool:
    """Returns whether a value is contiguous whatever happens: a vector in the buffer of a variable."""
    producer, index = output
    shape = producer.shapes[index]
    return producer.type == "ReadVariableOp" and shape is not None and len(shape) < 2


def _uses_other_memory(node: Node, bound: Bound, device: Device) -> bool:
    """Returns whether a node uses a variable that an earlier step has created on another device; reads copy it."""
    if node.type == "ReadVariableOp" or device.compiling:
        return False
    used = [bound.constants.get(output) for output in node.inputs]
    return any(isinstance(value, VariableResource) and value.device != device.torch for value in used)


def _bind_beside_variable(node: Node, device: Device) -> Call | Constant:
    """Binds a node that may use a variable in other memory: of unstructured control flow, or of an earlier step.

    Such a node runs where its variable is: its other inputs are copied there, and its outputs back.
    """
    kernel = bind_node(node, device)
    blocks = node.definition.waits  # uses a queue or barrier, never a variable
    if isinstance(kernel, Constant) or blocks or not node.inputs or node.input_dtype(0) is not dtypes.resource:
        return kernel
    inputs = arguments(node.definition.inputs, node.attrs, len(node.inputs))
    stays = [arg.name in node.definition.host for arg in inputs]

    @functools.cache
    def bound_on(where: torch.device) -> Call:
        if where == device.host:
            return cast(Call, bind_node(node, device.host_side()))
        there = replace(device, type=accelerator_type(where), torch=where)
        return cast(Call, bind_node(node, there))

    def run(step: Step, *values: object) -> Any:
        where = values[0].device if isinstance(values[0], VariableResource) else device.torch
        if where == device.torch:
            return invoke(kernel, values, step)
        results = invoke(bound_on(where), [v if host else _moved(v, where) for v, host in zip(values, stays)], step)
        if isinstance(results, list | tuple):
            return [_moved(result, device.torch) for result in results]
        return _moved(results, device.torch)

    return Call(run, (STEP, *(Input(i) for i in range(len(node.inputs)))))


def _moved(value: object, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _failing(error: BaseException) -> Call:
    """Returns the call of a node with invalid constant arguments, which fails when it runs."""

    def fail() -> Any:
        raise error.with_traceback(None)

    return Call(fail, ())


def _needs_check(node: Node) -> bool:
    """Returns whether shapes must be checked in each step, because the rank of an input is not known statically."""
    if node.definition.waits or node.definition.infer in _AS_TORCH:
        return False
    outputs = (producer for producer in node.inputs if producer.dtype is not dtypes.resource)
    return any(producer.shapes[index] is None for producer, index in outputs)


def _checked(node: Node, call: Call) -> Call:
    """Wraps a call so that the op's shape function runs first, since torch accepts some shapes that the op rejects."""

    # The shape function runs only when the shapes, or the small host values that it reads, differ from those of the
    # last call that it accepted: in a training loop it runs once. Threads that race for `accepted` at worst repeat it.
    accepted: Any = None
    inputs = arguments(node.definition.inputs, node.attrs, len(node.inputs))
    read = [i for i, arg in enumerate(inputs) if arg.name in node.definition.host]  # the result depends on their values

    def checked(step: Step, *values: Any) -> Any:
        nonlocal accepted
        received = [getattr(value, "shape", None) for value in values]
        received.extend(values[i].tolist() if is_visible(values[i]) else None for i in read)
        if received != accepted:
            error = shape_error(node, values)
            if error is not None:
                raise error
            accepted = received
        return invoke(call, values, step)

    checked.__name__ = f"checked_{node.type}"
    return Call(checked, (STEP, *(Input(i) for i in range(len(node.inputs)))))
