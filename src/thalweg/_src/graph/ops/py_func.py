"""Python functions as ops: NumPy in, NumPy out."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph import attr, nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.op_def import op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import graph_of
from thalweg._src.graph.types import TensorLike

Function = Callable[..., Any]

for _name in ("PyFunc", "PyFuncStateless"):
    op(
        _name,
        "input: list(Tin) -> output: list(Tout)",
        token=attr.string(),
        Tin=attr.type_list(0),
        Tout=attr.type_list(0),
        stateful=_name == "PyFunc",
        external="calls Python",
        doc="Calls a Python function of this process, found by its token.",
    )


class PythonFunction:
    """A user's function under the token in its nodes; it lives as long as a graph that uses it.

    takes_values: whether it takes and returns the values of steps, instead of NumPy arrays
    """

    def __init__(self, token: str, function: Function, takes_values: bool) -> None:
        self.token = token
        self.function = function
        self.takes_values = takes_values


_serial = itertools.count()
_functions: weakref.WeakValueDictionary[str, PythonFunction] = weakref.WeakValueDictionary()


def python_function(token: str) -> PythonFunction | None:
    """Returns the function of a token, or None if its graph is gone or it belongs to another process."""
    return _functions.get(token)


@export("py_func", "contrib.framework.py_func")
def py_func(
    func: Function, inp: Sequence[TensorLike], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Calls a Python function on NumPy arrays in every step; returns tensors of the types Tout, a list if it is one.

    A function that is not stateful may be called fewer times than it appears: equal calls are merged (CSE).

    Args:
        func: Function from NumPy arrays to arrays.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r} of type {type(func)}")
    if executing_eagerly():
        return _call_at_once(func, inp)
    several = isinstance(Tout, list | tuple)
    types = [dtypes.as_dtype(dtype) for dtype in (Tout if several else [Tout])]
    operation = add_py_func(func, inp, types, stateful, name)
    if not types:
        return operation
    return operation.outputs if several else operation.outputs[0]


def add_py_func(
    func: Function,
    inp: Sequence[TensorLike],
    types: Sequence[DType],
    stateful: bool = True,
    name: str | None = None,
    takes_values: bool = False,
) -> Operation:
    """Adds an operation that calls a Python function to the graph."""
    graph = graph_of(list(inp)) or get_default_graph()
    entry = PythonFunction(f"pyfunc_{next(_serial)}", func, takes_values)
    _functions[entry.token] = entry
    graph.singleton("python_functions", list).append(entry)
    op_type = "PyFunc" if stateful else "PyFuncStateless"
    with graph.as_default():
        inputs = [convert_to_tensor(value, name=f"input_{i}") for i, value in enumerate(inp)]
        attrs = {"token": entry.token, "Tin": [tensor.dtype for tensor in inputs], "Tout": tuple(types)}
        return graph.create_op(op_type, inputs, attrs=attrs, name=name)


def _call_at_once(func: Function, inp: Sequence[TensorLike]) -> Any:
    """Returns the result of a function in eager execution, where its types are those that it returns."""
    result = func(*[np.array(value) for value in inp])
    tensors = [None if value is None else convert_to_tensor(value) for value in nest.flatten(result)]
    return tensors[0] if len(tensors) == 1 else tensors


@export("numpy_function")
def numpy_function(
    func: Function,
    inp: Sequence[TensorLike],
    Tout: DTypeLike | Sequence[DTypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Does the same as `py_func` under TensorFlow 2's name.

    Args:
        func: Function from NumPy arrays to arrays.
    """
    return py_func(func, inp, Tout, stateful, name)
