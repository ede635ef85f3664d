"""Bindings: an operation bound to a kernel once, for inputs of certain kinds, and then called with values alone."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.compiler.partition.host_memory import arguments
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ir.step_graph import SHOWN, Node, Output
from thalweg._src.graph.op_def import OPS, OpDef
from thalweg._src.graph.source_line import user_stack, with_line
from thalweg._src.runtime.compile.bind import bind_now
from thalweg._src.runtime.compile.failure import explain
from thalweg._src.runtime.eager.placement import choose, copying
from thalweg._src.runtime.eager.tensor import EagerTensor, Kind, kind_of
from thalweg._src.runtime.kernels.registry import STEP, Call, Constant, Input
from thalweg._src.runtime.kernels.types import to_read
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]
_InferenceMode = torch._C._InferenceMode
_serial = itertools.count()
_MAX_ELEMENTS = 64  # elements of a host argument that kernels are bound for
_SIGNAL_CHECK_SECONDS = 1.0  # between checks for Ctrl-C


class Binding:
    """A kernel that is bound for inputs of certain kinds.

    kinds: those of the outputs; the rank of an output that depends on values is looked up after each call
    is_reusable: whether other calls may use it
    fixed: the inputs whose values the kernel was bound for
    """

    __slots__ = (
        "attrs",
        "definition",
        "fixed",
        "function",
        "has_known_ranks",
        "is_reusable",
        "is_single",
        "kinds",
        "node",
    )

    def __init__(
        self, node: Node, attrs: dict[str, Any], function: Function, kinds: Sequence[Kind], has_known_ranks: bool
    ) -> None:
        self.node = node
        self.definition = node.definition
        self.attrs = attrs
        self.function = function
        self.kinds = kinds
        self.has_known_ranks = has_known_ranks
        self.is_single = len(kinds) == 1 and has_known_ranks
        self.is_reusable = True
        self.fixed: tuple[int, ...] = ()

    def run(self, inputs: Sequence[EagerTensor]) -> list[EagerTensor]:
        """Calls the kernel and returns its outputs."""
        values = [tensor.value for tensor in inputs]
        try:
            results = self.function(*values)
        except Exception as error:
            raise self.explain(error, values) from None
        if self.is_single:
            return [EagerTensor(results, self.kinds[0])]
        if len(self.kinds) == 1:
            results = (results,)
        if self.has_known_ranks:
            return [EagerTensor(value, kind) for value, kind in zip(results or (), self.kinds)]
        return [_result_tensor(value, kind) for value, kind in zip(results or (), self.kinds)]

    def explain(self, error: Exception, values: Sequence[Any]) -> BaseException:
        """Returns the typed error of a failed call, with the user's line."""
        node = self.node
        at = Node("", node.definition, node.inputs, node.attrs, node.dtypes, node.shapes, stack=user_stack())
        if isinstance(error, errors.OpError) and error.op is node:  # a kernel that waited has named itself
            waited: Any = type(error)
            return waited(None, None, with_line(error.message, at.stack))  # type: ignore[no-any-return]
        return _typed(error, at, values)


def _typed(error: Exception, node: Node, values: Sequence[Any]) -> BaseException:
    """Returns the typed error of a node that failed; no graph has an operation that it could refer to."""
    typed = explain(error, node, values, "eager execution")
    if isinstance(typed, errors.OpError):
        typed.op = typed.node_def = None
    return typed


def _result_tensor(value: object, kind: Kind) -> EagerTensor:
    rank = getattr(value, "ndim", None) if kind.rank is not None or _has_rank(kind.dtype) else None
    return EagerTensor(value, kind if kind.rank == rank else kind_of(kind.dtype, rank, kind.device))


def _has_rank(dtype: DType) -> bool:
    return dtype is not dtypes.resource and dtype is not dtypes.variant


def small_value(tensor: EagerTensor) -> np.ndarray[Any, Any] | None:
    """Returns the value of a small tensor in host memory, None of others."""
    value = tensor.value
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.numel() > _MAX_ELEMENTS:
        return None
    return to_read(value)


class _Source:
    """An input with what is known of it when a kernel is bound, with the interface that shape functions use."""

    __slots__ = ("dims", "dtype", "static_value")

    def __init__(self, dtype: DType, dims: Shape, static_value: np.ndarray[Any, Any] | None) -> None:
        self.dtype = dtype
        self.dims = dims
        self.static_value = static_value


def bind(
    definition: OpDef,
    inputs: Sequence[EagerTensor],
    attrs: dict[str, Any],
    output_types: Sequence[DType],
    requested: Device | None,
    devices: Sequence[Device],
    constants: Sequence[np.ndarray[Any, Any] | None],
) -> Binding:
    """Binds an operation to the kernel of a device: the requested one, or one of the devices.

    constants: of each input, its value if the kernel may depend on it
    """
    sources = [_source(tensor, value) for tensor, value in zip(inputs, constants)]
    producers = [_producer(index, source) for index, source in enumerate(sources)]
    name = f"{definition.name}_{next(_serial)}" if definition.stateful else definition.name
    shown = {**attrs, SHOWN: ""}
    node = Node(
        name, definition, [Output(p, 0) for p in producers], shown, list(output_types), [None] * len(output_types)
    )
    node.stack = user_stack()
    try:
        shapes = list(definition.infer(Inference(definition, attrs, sources, len(output_types))))
        node.shapes = shapes
        host, input_kinds = devices[0], [tensor.kind for tensor in inputs]
        device = choose(node, input_kinds, requested, devices)
        kernel = bind_now(node, _with_own_state(node, device))
    except Exception as error:
        raise _typed(error, node, [tensor.value for tensor in inputs]) from None
    node.stack = ()
    on_host = [arg.name in definition.host for arg in arguments(definition.outputs, attrs, len(output_types))]
    kinds = [
        kind_of(dtype, len(shape) if shape is not None and _has_rank(dtype) else None, host if on else device)
        for dtype, shape, on in zip(output_types, shapes, on_host)
    ]
    has_known_ranks = all(shape is not None or not _has_rank(dtype) for dtype, shape in zip(output_types, shapes))
    function = copying(_function(node, kernel), node, input_kinds, device, host)
    binding = Binding(node, attrs, function, kinds, has_known_ranks)
    binding.fixed = tuple(i for i, source in enumerate(sources) if source.static_value is not None)
    return binding


def _source(tensor: EagerTensor, value: np.ndarray[Any, Any] | None) -> _Source:
    rank = tensor.kind.rank
    if value is not None:
        return _Source(tensor.dtype, value.shape, value)
    return _Source(tensor.dtype, None if rank is None else (None,) * rank, None)


def _producer(index: int, source: _Source) -> Node:
    """Returns a node that stands for an input: a constant, or an argument."""
    if source.static_value is not None:
        attrs = {"value": source.static_value, "dtype": source.dtype, "_feeds": ""}
        return Node(f"input_{index}", OPS.lookup("Const"), [], attrs, [source.dtype], [source.dims])
    attrs = {"T": source.dtype, "index": index, "_feeds": ""}
    return Node(f"input_{index}", OPS.lookup("_Arg"), [], attrs, [source.dtype], [source.dims])


def _with_own_state(node: Node, device: Device) -> Device:
    """Returns the device with state of its own for a stateful node, which lives as long as its binding or its handle.

    A resource is shared by name only if it is given one.
    """
    if not node.definition.stateful:
        return device
    shares = node.attrs.get("shared_name") or node.attrs.get("container")
    makes = makes_handle(node.definition) and dtypes.resource in node.dtypes
    resources = device.resources if shares or not makes else Containers()
    return replace(device, resources=resources, _states={})


def makes_handle(definition: OpDef) -> bool:
    """Returns whether an operation creates a resource, so that each call returns another one."""
    return (
        definition.stateful
        and any(arg.dtype is dtypes.resource or arg.dtype is dtypes.variant for arg in definition.outputs)
        and not any(arg.dtype is dtypes.resource for arg in definition.inputs)
    )


# -- functions of values ----------------------------------------------------------------------------------------------


def _function(node: Node, kernel: Call | Constant) -> Function:
    """Returns a bound kernel as a function of the values of its inputs."""
    if isinstance(kernel, Constant):
        value = kernel.value
        return lambda *values: value
    if node.definition.waits:
        return functools.partial(_wait, kernel.function)
    function = as_function(kernel, len(node.inputs))
    return _changing(function) if node.definition.facts.writes else function


def _changing(function: Function) -> Function:
    """Runs a kernel that changes a variable in inference mode, since a step may have created its buffer in it."""

    def run(*values: Any) -> Any:
        guard = _InferenceMode(True)
        try:
            return function(*values)
        finally:
            del guard

    return run


def _wait(function: Function, *values: Any) -> Any:
    """Calls a kernel that may block, and waits for its results."""
    step, results, over = Step(), [], threading.Event()
    step.finished = over

    def finish(*values: Any) -> None:
        results.append(values)
        over.set()

    function(step, finish, *values)
    try:
        while not over.wait(_SIGNAL_CHECK_SECONDS):
            pass
    except BaseException:
        step.fail(errors.CancelledError(None, None, "the operation was interrupted"))
        raise
    if not results:
        step.stop()
    return results[0][0] if len(results[0]) == 1 else results[0]


def as_function(call: Call, count: int) -> Function:
    """Returns a call as a function of `count` values, without a frame of its own where the call has only these."""
    if (
        not call.kwargs
        and len(call.args) == count
        and all(type(a) is Input and a == i for i, a in enumerate(call.args))
    ):
        return call.function
    referenced: list[Any] = []
    text = _text(call, referenced)
    outer, inner = (", ".join(f"{letter}{i}" for i in range(n)) for letter, n in (("k", len(referenced)), ("v", count)))
    return _factory(f"lambda {outer}: lambda {inner}: {text}")(*referenced)  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=4096)
def _factory(text: str) -> Any:
    """Returns a function that makes functions; the text consists of names that are made here."""
    return eval(text, {})  # with builtins: what torch imports on first use is looked up in those of the caller


def _text(value: object, referenced: list[Any]) -> str:
    """Returns an expression for an argument or a call; adds the objects that it refers to."""
    if isinstance(value, Input):
        return f"v{int(value)}"
    if isinstance(value, Call):
        function = _text(value.function, referenced)
        args = [_text(arg, referenced) for arg in value.args]
        args += [f"{key}={_text(arg, referenced)}" for key, arg in value.kwargs.items()]
        return f"{function}({', '.join(args)})"
    if value is STEP:
        referenced.append(Step)
        return f"k{len(referenced) - 1}()"
    if isinstance(value, list):
        return f"[{', '.join(_text(item, referenced) for item in value)}]"
    referenced.append(value)
    return f"k{len(referenced) - 1}"
