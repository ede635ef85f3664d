"""`tensorflow.python.ops.inplace_ops`: rows of a tensor replaced or added to.

Kernels never change their inputs: a result is a new tensor, with the value that TensorFlow's has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.gather import tensor_scatter_add, tensor_scatter_sub, tensor_scatter_update
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import expand_dims, zeros, zeros_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _rows(scatter: Callable[..., Any], x: Tensor, i: object, v: object) -> Tensor:
    """Returns x with the row at a scalar index, or those at a vector of indices, changed."""
    rows, values = convert_to_tensor(i, dtypes.int32), convert_to_tensor(v, x.dtype)
    if rows.shape.ndims == 0:
        rows, values = expand_dims(rows, 0), expand_dims(values, 0)
    return scatter(x, expand_dims(rows, -1), values)  # type: ignore[no-any-return]


def alias_inplace_update(x: TensorLike, i: object, v: object) -> Tensor:
    """Returns x with rows i replaced by v; all rows, if i is None."""
    x = convert_to_tensor(x)
    return convert_to_tensor(v, x.dtype) if i is None else _rows(tensor_scatter_update, x, i, v)


def alias_inplace_add(x: TensorLike, i: object, v: object) -> Tensor:
    """Returns x with v added to rows i; to all rows, if i is None."""
    x = convert_to_tensor(x)
    return x + v if i is None else _rows(tensor_scatter_add, x, i, v)


def alias_inplace_sub(x: TensorLike, i: object, v: object) -> Tensor:
    """Returns x with v subtracted from rows i; from all rows, if i is None."""
    x = convert_to_tensor(x)
    return x - v if i is None else _rows(tensor_scatter_sub, x, i, v)


inplace_update, inplace_add, inplace_sub = alias_inplace_update, alias_inplace_add, alias_inplace_sub


def empty(shape: Any, dtype: DTypeLike, init: bool = False, name: str | None = None) -> Tensor:
    """Returns zeros, also where TensorFlow leaves memory uninitialized."""
    return zeros(shape, dtype, name)


def empty_like(x: TensorLike, init: bool | None = None) -> Tensor:
    """Returns zeros of the type and shape of x."""
    return zeros_like(x)


def deep_copy(x: TensorLike) -> Tensor:
    """Returns a tensor of the same value."""
    return identity(x)
