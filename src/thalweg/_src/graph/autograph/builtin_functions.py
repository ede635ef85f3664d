"""Builtin functions of Python in converted code, for tensors."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph import nest
from thalweg._src.graph.autograph import effects
from thalweg._src.graph.autograph.iterables import enumerate_, zip_
from thalweg._src.graph.autograph.lists import TensorList
from thalweg._src.graph.autograph.values import error_text, symbolic
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.decoding import string_to_number
from thalweg._src.graph.ops.gather import tensor_scatter_update
from thalweg._src.graph.ops.printing import print_v2
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.tensor import Tensor

# What functions do with other objects, such as datasets: by the function and the type of its argument.
OVERLOADS: dict[tuple[Any, type], Callable[..., Any]] = {}


def print_(
    *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
) -> None:
    """Prints values; tensors are printed when the step runs."""
    if not any(symbolic(leaf) for leaf in nest.flatten(values)):
        print(*values, sep=sep, end=end, file=file, flush=flush)
        return
    with effects.ordered():
        between, after = " " if sep is None else sep, "\n" if end is None else end
        effects.effect(print_v2(*values, output_stream=file or sys.stdout, sep=between, end=after, summarize=-1))


def len_(value: Any) -> Any:
    """Returns the length of a value: the first dimension of a tensor, as a number if it is known."""
    if isinstance(value, TensorList):
        return value.length()
    if isinstance(value, TensorArray):
        return value.size()
    if not symbolic(value):
        return len(value)
    tensor = value_of(value)
    if tensor.dims == ():
        raise ValueError(error_text(f"len requires a non-scalar tensor, but {tensor.name!r} is a scalar."))
    return shape(tensor)[0] if tensor.dims is None or tensor.dims[0] is None else tensor.dims[0]


def range_(*bounds: Any) -> Any:
    """Returns a range; a tensor if one of its bounds is one."""
    return range_of(*bounds) if any(symbolic(bound) for bound in bounds) else range(*bounds)


def int_(*arguments: Any) -> Any:
    """Returns a value as an integer."""
    if not arguments or not symbolic(arguments[0]):
        return int(*arguments)
    return _number(arguments[0], dtypes.int32)


def float_(*arguments: Any) -> Any:
    """Returns a value as a floating-point number."""
    if not arguments or not symbolic(arguments[0]):
        return float(*arguments)
    return _number(arguments[0], dtypes.float32)


def _number(value: object, dtype: dtypes.DType) -> Tensor:
    tensor = value_of(value)
    return string_to_number(tensor, dtype) if tensor.dtype is dtypes.string else cast(tensor, dtype)


BUILTINS: dict[Any, Callable[..., Any]] = {
    print: print_,
    len: len_,
    range: range_,
    int: int_,
    float: float_,
    enumerate: enumerate_,
    zip: zip_,
}


def overload_of(function: object, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Returns what a builtin function does in converted code; None if it does what it always does."""
    # Types come first: `stack` of a list that a loop appends to is not `stack` of tensors.
    for (builtin, kind), overload in OVERLOADS.items():
        if function is builtin and any(isinstance(argument, kind) for argument in arguments):
            return overload
    return BUILTINS.get(function)


def _stacked(values: TensorList, axis: int = 0, name: str = "stack") -> Tensor:
    if axis != 0:
        raise ValueError(error_text("A list that a loop on tensors has appended to can be stacked along axis 0 only."))
    return values.stack()


OVERLOADS[stack, TensorList] = _stacked


# -- elements ---------------------------------------------------------------------------------------------------------


def set_item(value: Any, target: Any, index: Any) -> Any:
    """Returns what the variable `target` is after `target[index] = value`: for a tensor a new one."""
    if isinstance(target, TensorArray):
        return target.write(index, value)
    if symbolic(target):
        # Tensors do not change: the variable is assigned a new one, by which later reads see the update.
        tensor = value_of(target)
        return tensor_scatter_update(tensor, [[index]], [value_of(value)])
    target[index] = value
    return target


def update_item(target: Any, index: Any, name: str, value: Callable[[], Any]) -> Any:
    """Returns what the variable `target` is after an assignment such as `target[index] += value`."""
    return set_item(getattr(operator, name)(target[index], value()), target, index)
