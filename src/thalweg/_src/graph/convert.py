"""Tensor conversion: from Python values, arrays, variables and registered types to tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.tensor import Tensor

Conversion = Callable[..., Any]

# Sorted by priority, then by registration; the first function whose types match and that does not decline is used.
_conversions: list[tuple[int, tuple[type, ...], Conversion]] = []
_by_type: dict[type, list[Conversion]] = {}


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Conversion, priority: int = 100
) -> None:
    """Registers a function by which `convert_to_tensor` converts a type.

    Args:
        base_type: The type, or tuple of types, to convert.
        conversion_func: Function `(value, dtype, name, as_ref)` that returns a tensor or NotImplemented.
        priority: Functions with a lower number are tried first.
    """
    base_types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(t, type) for t in base_types):
        raise TypeError(f"base_type: expected a class or a tuple of classes, received {base_type!r}")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _conversions.append((priority, base_types, conversion_func))
    _conversions.sort(key=lambda entry: entry[0])
    _by_type.clear()


def _conversions_for(kind: type) -> list[Conversion]:
    # A search through all registered classes costs as much as adding an operation; it is done once for each type.
    conversions = _by_type.get(kind)
    if conversions is None:
        conversions = _by_type[kind] = [f for _, base_types, f in _conversions if issubclass(kind, base_types)]
    return conversions


@export("convert_to_tensor")
def convert_to_tensor(
    value: object,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Tensor:
    """Returns the value as a tensor of the given dtype; a preferred dtype is tried first and may fail.

    Args:
        value: The value to convert.
        dtype: The element type; by default that of the value.
        preferred_dtype: A type to try first; if the value does not convert to it, its own type is used.
        dtype_hint: Another name of `preferred_dtype`.
    """
    requested = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if isinstance(value, Tensor):
        if requested is not None and value.dtype is not requested and not requested.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {requested.name} for Tensor with dtype {value.dtype.name}: "
                f"{value!r}"
            )
        return get_default_graph().capture(value) if value.is_eager and not stacks.is_eager else value
    # A preferred type is no demand: a list of strings stays one if the default of its argument is float32.
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    if requested is None and hint is not None:
        try:
            return _convert(value, dtypes.as_dtype(hint).base_dtype, name)
        except (TypeError, ValueError):
            pass
    return _convert(value, requested, name)


def _convert(value: object, dtype: DType | None, name: str | None) -> Tensor:
    for conversion in _conversions_for(type(value)):
        result = conversion(value, dtype=dtype, name=name, as_ref=False)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            raise RuntimeError(f"the conversion function {conversion} returned {result!r}, which is not a Tensor")
        if dtype is not None and not dtype.is_compatible_with(result.dtype):
            raise RuntimeError(f"the conversion function {conversion} returned {result.dtype.name}, not {dtype.name}")
        return result
    raise TypeError(
        f"Cannot convert {value!r} of type {type(value).__name__} to a Tensor: no conversion is registered."
    )
