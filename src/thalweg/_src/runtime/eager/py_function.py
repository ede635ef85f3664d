"""Python functions on eager tensors: `tf.py_function`.

In a graph, each step calls the function in eager mode. A tape records what the function computes by `tf.*`; it is an
output of the operation, from which the gradient is computed without another call of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.ops.py_func import add_py_func
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.eager.backprop import backpropagate
from thalweg._src.runtime.eager.mode import eager_graph, eager_mode
from thalweg._src.runtime.eager.tape import Call, Tape
from thalweg._src.runtime.eager.tensor import EagerTensor, kind_of
from thalweg._src.runtime.kernels.py_func import called

Function = Callable[..., Any]


@export("py_function", "contrib.eager.py_func")
def py_function(func: Function, inp: Sequence[TensorLike], Tout: Any, name: str | None = None) -> Any:
    """Calls a Python function on eager tensors, in a graph in every step; returns tensors of the types Tout.

    The gradient is that of the `tf` operations inside; NumPy results are constants.

    Args:
        func: Function from eager tensors to tensors or arrays.
        name: Name; by default made of that of the class.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r} of type {type(func)}")
    several = isinstance(Tout, list | tuple)
    types = [dtypes.as_dtype(dtype) for dtype in (Tout if several else [Tout])]
    if executing_eagerly():
        tensors = [convert_to_tensor(value) for value in inp]
        results = called(lambda *tensors: _results(func(*tensors), types), tensors)
        return results if several else results[0]
    with name_scope(name, "EagerPyFunc", list(inp)):
        tensors = [convert_to_tensor(value, name=f"input_{i}") for i, value in enumerate(inp)]
        if not types:
            return add_py_func(_forward(func, tensors, types), tensors, [dtypes.variant], takes_values=True)
        outputs = _differentiable(func, types)(*tensors)
        return list(outputs) if several else outputs[0]


def _differentiable(func: Function, types: list[DType]) -> Function:
    @custom_gradient
    def call(*tensors: Tensor) -> Any:
        operation = add_py_func(_forward(func, tensors, types), tensors, [*types, dtypes.variant], takes_values=True)
        *outputs, record = operation.outputs
        return outputs, lambda *grads: _backward(record, tensors, grads)

    return call


def _results(value: object, types: list[DType]) -> list[EagerTensor]:
    """Returns what a function returns as tensors of the requested types; the type of a tensor is not changed."""
    results = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    results = results[: len(types)]  # TensorFlow drops surplus results
    if len(results) != len(types):
        raise errors.invalid(f"the function of py_function returns {len(results)} values, Tout asks for {len(types)}")
    for i, (result, dtype) in enumerate(zip(results, types)):
        if isinstance(result, Tensor):
            if not result.is_eager:
                raise ValueError(f"result {i} of the function is {result}, a tensor of a graph")
            if result.dtype is not dtype:
                raise TypeError(f"result {i} of the function is {result.dtype.name}, Tout asks for {dtype.name}")
        elif hasattr(result, "_handle"):
            raise RuntimeError(f"result {i} of the function is a variable, {result!r}: return its .read_value()")
    return [convert_to_tensor(result, dtype) for result, dtype in zip(results, types)]  # type: ignore[misc]


class _Record:
    """The operations of a call, with the tensors between which gradients are computed."""

    __slots__ = ("inputs", "operations", "outputs")

    def __init__(self, operations: list[Call], inputs: list[EagerTensor], outputs: list[EagerTensor]) -> None:
        self.operations = operations
        self.inputs = inputs
        self.outputs = outputs


def _forward(func: Function, tensors: Sequence[Tensor], types: list[DType]) -> Function:
    """Returns a function of the values of a step: it calls a function of eager tensors."""
    input_types = [tensor.dtype for tensor in tensors]

    def call(*values: Any) -> list[Any]:
        with eager_mode():
            inputs = [_tensor(value, dtype) for value, dtype in zip(values, input_types)]
            tape = Tape(watches_variables=False)
            for tensor in inputs:
                if tensor.dtype.is_floating or tensor.dtype.is_complex:
                    tape.watch(tensor)
            tape.push()
            try:
                outputs = _results(func(*inputs), types)
            finally:
                tape.pop()
            return [*map(_value, outputs), _Record(tape.operations, inputs, outputs)]

    return call


def _backward(record: Tensor, tensors: Sequence[Tensor], grads: Sequence[Any]) -> list[Any]:
    """Returns the gradients with respect to the inputs of a call, from what it recorded."""
    learned = [i for i, tensor in enumerate(tensors) if tensor.dtype.is_floating or tensor.dtype.is_complex]
    differentiated = [i for i, grad in enumerate(grads) if grad is not None]

    def call(record: _Record, *values: Any) -> list[Any]:
        with eager_mode():
            outputs = [record.outputs[i] for i in differentiated]
            pairs = [(output, _tensor(value, output.dtype)) for output, value in zip(outputs, values)]
            sources = [record.inputs[i] for i in learned]
            source_grads = backpropagate(record.operations, pairs, sources)
            return [
                _value(zeros_like(source) if grad is None else convert_to_tensor(grad))
                for source, grad in zip(sources, source_grads)
            ]

    inputs, types = [record, *(grads[i] for i in differentiated)], [tensors[i].dtype for i in learned]
    result: list[Any] = [None] * len(tensors)
    for i, grad in zip(learned, add_py_func(call, inputs, types, takes_values=True).outputs):
        grad.set_shape(tensors[i].get_shape())
        result[i] = grad
    return result


def _tensor(value: Any, dtype: DType) -> EagerTensor:
    """Returns a copy of a value as an eager tensor, since the step may reuse its memory."""
    return EagerTensor(_copy(value), kind_of(dtype, value.ndim, eager_graph().devices[0]))


def _value(tensor: Tensor) -> Any:
    """Returns a copy of the value of an eager tensor in host memory, since the step may reuse its memory."""
    return _copy(tensor.value)  # type: ignore[attr-defined]


def _copy(value: Any) -> Any:
    return value.to("cpu", copy=True) if isinstance(value, torch.Tensor) else value.copy()
