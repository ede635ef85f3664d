"""Python functions on tensors with values: `tf.py_function`.

The function runs in a graph of its own, whose tensors can be evaluated: `x.numpy()` runs what x depends on. So it may
compute with NumPy, with `tf.*`, or both, and what it computes with `tf.*` only has a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src import dtypes, errors
from thalweg._src.autodiff.custom_gradient import custom_gradient
from thalweg._src.autodiff.gradients import gradients
from thalweg._src.dtypes import DType
from thalweg._src.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.ops.constants import as_array, constant
from thalweg._src.ops.py_func import py_func
from thalweg._src.session.session import Session

Array = np.ndarray[Any, Any]


class ValuedTensor(Tensor):
    """A tensor inside a running function, which has a value."""

    __slots__ = ()
    graph: ValuedGraph

    def numpy(self) -> Any:
        """Returns the value as a NumPy array, a scalar as a NumPy number, a string as bytes."""
        result = self._array()
        return result[()] if result.ndim == 0 else result

    def _array(self) -> Array:
        known = self.__dict__.get("_array_value")
        if known is None:
            known = self.__dict__["_array_value"] = np.asarray(self.op.graph.session().run(self))  # type: ignore[attr-defined]
        return known

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # type: ignore[override]
        return np.array(self._array(), dtype)

    def __bool__(self) -> bool:  # type: ignore[override]
        return bool(self._array())

    def __int__(self) -> int:  # type: ignore[override]
        return int(self._array())

    def __float__(self) -> float:  # type: ignore[override]
        return float(self._array())

    def __index__(self) -> int:
        return self._array().item().__index__()  # type: ignore[no-any-return]

    def __len__(self) -> int:  # type: ignore[override]
        return len(self._array())

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self._array().shape}, dtype={self.dtype.name}, numpy={self.numpy()!r}>"


class ValuedGraph(Graph):
    """The graph of one call, whose tensors have values."""

    def __init__(self) -> None:
        super().__init__()
        self._session: Session | None = None

    def add(self, *args: Any, **kwargs: Any) -> Operation:
        """Appends an operation."""
        operation = super().add(*args, **kwargs)
        for tensor in operation.outputs:
            tensor.__class__ = ValuedTensor
        return operation

    def session(self) -> Session:
        """Returns the session that tensors are evaluated in."""
        if self._session is None:
            self._session = Session(graph=self)
        return self._session

    def valued(self, arrays: Any) -> list[Tensor]:
        """Returns arrays as tensors."""
        tensors = [constant(array) for array in arrays]
        for tensor, array in zip(tensors, arrays):
            tensor.__dict__["_array_value"] = np.asarray(array)
        return tensors

    def close(self) -> None:
        """Closes the session that evaluated tensors."""
        if self._session is not None:
            self._session.close()


@export("py_function")
def py_function(func: Callable[..., Any], inp: Sequence[TensorLike], Tout: Any, name: str | None = None) -> Any:
    """Calls a Python function on tensors whose `.numpy()` is their value; returns tensors of the types Tout.

    The gradient is that of the `tf` operations inside, for which the function is called again; NumPy results are
    constants.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r} of type {type(func)}")
    several = isinstance(Tout, list | tuple)
    types = [dtypes.as_dtype(dtype) for dtype in (Tout if several else [Tout])]

    def called(*arrays: Any) -> list[Any]:
        graph = ValuedGraph()
        with graph.as_default():
            try:
                results = _results(func(*graph.valued(arrays)), types)
                return _arrays(graph, results, types)
            finally:
                graph.close()

    with name_scope(name, "EagerPyFunc", list(inp)):
        tensors = [convert_to_tensor(value, name=f"input_{i}") for i, value in enumerate(inp)]
        learned = [i for i, tensor in enumerate(tensors) if tensor.dtype.is_floating or tensor.dtype.is_complex]
        if not learned or not any(dtype.is_floating or dtype.is_complex for dtype in types):
            return py_func(called, tensors, types if several else types[0])

        @custom_gradient
        def differentiable(*tensors: Tensor) -> Any:
            outputs = py_func(called, list(tensors), types)
            return outputs, lambda *grads: _backward(func, types, tensors, learned, grads)

        outputs = differentiable(*tensors)
        return outputs if several else outputs[0]


def _results(value: Any, types: list[DType]) -> list[Any]:
    results = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    results = results[: len(types)]  # TensorFlow drops surplus results
    if len(results) != len(types):
        raise errors.invalid(f"the function of py_function returns {len(results)} values, Tout asks for {len(types)}")
    return results


def _arrays(graph: ValuedGraph, results: list[Any], types: list[DType]) -> list[Any]:
    """Returns results as arrays of the requested types; the type of a tensor is not changed."""
    arrays: list[Any] = []
    for i, (result, dtype) in enumerate(zip(results, types)):
        if isinstance(result, Tensor):
            if result.graph is not graph:
                raise ValueError(f"result {i} of the function is {result}, a tensor of another graph")
            if result.dtype is not dtype:
                raise TypeError(f"result {i} of the function is {result.dtype.name}, Tout asks for {dtype.name}")
            arrays.append(np.asarray(result))
        elif isinstance(result, np.ndarray | np.generic) and dtype is not dtypes.string:
            arrays.append(np.asarray(result).astype(dtype.as_numpy_dtype))
        else:
            arrays.append(as_array(_plain(result), dtype)[0])
    return arrays


def _plain(value: Any) -> Any:
    """Returns lists of tensors as lists of arrays."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return np.asarray(value) if isinstance(value, Tensor) else value


def _backward(
    func: Callable[..., Any], types: list[DType], inputs: tuple[Tensor, ...], learned: list[int], grads: tuple[Any, ...]
) -> list[Any]:
    """Returns the gradients with respect to the inputs: calls the function again and differentiates its graph."""
    given = [i for i, grad in enumerate(grads) if grad is not None]
    count = len(inputs)

    def differentiated(*arrays: Any) -> list[Any]:
        graph = ValuedGraph()
        with graph.as_default():
            try:
                sources = graph.valued(arrays[:count])
                results = _results(func(*sources), types)
                ys = [(results[i], g) for i, g in zip(given, arrays[count:]) if isinstance(results[i], Tensor)]
                targets = [sources[i] for i in learned]
                found = gradients([y for y, _ in ys], targets, [g for _, g in ys]) if ys else [None] * len(targets)
                return [np.zeros_like(arrays[i]) if grad is None else _dense(grad) for i, grad in zip(learned, found)]
            finally:
                graph.close()

    found = py_func(differentiated, [*inputs, *[grads[i] for i in given]], [inputs[i].dtype for i in learned])
    result: list[Any] = [None] * count
    for i, grad in zip(learned, found):
        grad.set_shape(inputs[i].get_shape())
        result[i] = grad
    return result


def _dense(grad: Any) -> Array:
    return np.asarray(convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad)
