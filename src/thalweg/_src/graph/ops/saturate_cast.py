"""Casts that keep values within the range of the type."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import maximum, minimum
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("saturate_cast", "dtypes.saturate_cast")
@dispatches
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Casts the elements to a type; values outside its range become its minimum or maximum.

    Args:
        value: The tensor to convert.
    """
    target = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, "saturate_cast", [value]) as scope:
        x = convert_to_tensor(value, name="value")
        source = x.dtype.base_dtype
        if source.is_complex or target.is_complex or source.is_bool or target.is_bool:
            return cast(x, target, name=scope)  # type: ignore[no-any-return]
        if source.min < target.min:
            x = maximum(x, _inside(target.min, source))
        if source.max > target.max:
            x = minimum(x, _inside(target.max, source))
        return cast(x, target, name=scope)  # type: ignore[no-any-return]


def _inside(limit: int | float, dtype: DType) -> Any:
    """Returns the limit in a type, rounded toward 0 if necessary, so that it stays within the range."""
    value = dtype.as_numpy_dtype(limit)
    if dtype.is_floating and isinstance(limit, int) and builtins.abs(int(value)) > builtins.abs(limit):
        value = np.nextafter(value, dtype.as_numpy_dtype(0))
    return value
