"""Kernels of Python functions."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.constants import as_array
from thalweg._src.graph.ops.py_func import Function, python_function
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import from_numpy, to_numpy
from thalweg._src.runtime.resources.devices import Device

_CLASSES: tuple[tuple[Any, type[errors.OpError]], ...] = (
    ((ValueError, TypeError), errors.InvalidArgumentError),
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    (Exception, errors.UnknownError),
)


@kernel("PyFunc", "PyFuncStateless", devices=("CPU",))
def bind_py_func(node: Node, device: Device) -> Callable[..., Any]:
    token = node.attrs["token"]
    entry = python_function(token)
    if entry is None:
        raise invalid(
            f"the Python function {token!r} is unknown: it exists only in the process and graph that created it, "
            "and in graphs imported with trusted=True"
        )
    function, types = entry.function, tuple(node.attrs["Tout"])

    def call_on_values(*values: object) -> Any:
        results = called(function, values)
        return results[0] if len(types) == 1 else tuple(results)

    def call(*values: object) -> Any:
        results = called(function, [_private_copy(value) for value in values])
        if len(results) != len(types):
            raise invalid(f"{token} returns {len(results)} values, but expects to see {len(types)} values.")
        converted = [_as_value(value, dtype, i, token) for i, (value, dtype) in enumerate(zip(results, types))]
        return converted[0] if len(types) == 1 else tuple(converted)

    return call_on_values if entry.takes_values else call


def _private_copy(value: object) -> Any:
    """Returns an input as an array that the function may modify."""
    result = to_numpy(value)
    return result.copy() if result is value else result


def called(function: Function, arguments: Sequence[Any]) -> list[Any]:
    """Returns the results of a function as a list; its exceptions become typed errors."""
    try:
        result = function(*arguments)
    except errors.OpError as error:
        raise type(error)(None, None, _story(error)) from error  # type: ignore[call-arg]
    except Exception as error:
        kind = next(kind for classes, kind in _CLASSES if isinstance(error, classes))
        raise kind(None, None, _story(error)) from error  # type: ignore[call-arg]
    if result is None:
        return []
    return list(result) if isinstance(result, list | tuple) else [result]


def _story(error: Exception) -> str:
    """Returns the exception with its traceback through the user's function."""
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
    lines = traceback.format_exception(type(error), error, trace)
    return f"{type(error).__name__}: {error}\n{''.join(lines).rstrip()}"


def _as_value(value: object, dtype: DType, index: int, token: str) -> Any:
    """Returns a result as a step's value; types are not converted, since that would hide a loss of precision."""
    try:
        array = as_array(value, dtypes.string)[0] if dtype is dtypes.string else np.asarray(value)
        received = dtypes.as_dtype(array.dtype)
    except (TypeError, ValueError) as error:
        raise invalid(f"{index}-th value returned by {token} cannot be converted to {dtype.name}: {error}") from None
    if received is not dtype:
        raise invalid(
            errors.describe(
                f"{index}-th value returned by {token} is {dtypes.native_name(received)}, "
                f"but expects {dtypes.native_name(dtype)}",
                hint=f"return np.asarray(value, np.{dtype.name}) from the function",
            )
        )
    return from_numpy(array, dtype)
