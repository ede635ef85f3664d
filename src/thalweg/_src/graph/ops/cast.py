"""Casts: conversion of elements to another type."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.shape_functions import unchanged
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SMALL = 1024  # elements: what static evaluation looks at, shapes and indices


def evaluate_integers(c: Inference, lifted: Any, dtype: DType) -> Any:
    """Evaluates integers element by element while the graph is built; None if a value is unknown or out of range."""
    values = [c.partial(i) for i in range(len(c.dtypes))]
    if any(value is None or value.size > _SMALL for value in values):
        return None
    result = np.asarray(lifted(*values), dtype=object)
    low, high = dtype.min, dtype.max
    return result if all(e is None or low <= e <= high for e in result.ravel().tolist()) else None


_truncate = np.frompyfunc(lambda value: None if value is None else int(value), 1, 1)


def _cast_value(c: Inference) -> Any:
    """Evaluates casts to integers; values out of range are left to the kernels."""
    source, target = c.dtypes[0], c.attrs["DstT"]
    if target.is_integer and (source.is_integer or source.is_floating):
        return evaluate_integers(c, _truncate, target)
    return None


cast_op = op(
    "Cast",
    "x: SrcT -> y: DstT",
    SrcT=attr.types(),
    DstT=attr.types(),
    Truncate=False,
    infer=unchanged,
    evaluate=_cast_value,
    doc="Casts a tensor to another type.",
    traceable=True,
    fails="never",
    forwards="cast",
)


@export("cast", "dtypes.cast")
@dispatches
def cast(x: TensorLike | SparseTensor, dtype: DTypeLike, name: str | None = None) -> Any:
    """Converts elements to another type; floats are truncated towards zero, and nonzero numbers become True."""
    target = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, target, name), x.indices, x.dense_shape)
    if isinstance(x, SparseTensor):
        return x.with_values(cast(x.values, target, name))
    if isinstance(x, Tensor):
        return x if x.dtype.base_dtype is target else cast_op(x, DstT=target, name=name)
    with name_scope(name, "Cast", [x]) as scope:
        value = convert_to_tensor(x, name="x")
        return value if value.dtype.base_dtype is target else cast_op(value, DstT=target, name=scope)


@export("to_float")
def to_float(x: TensorLike, name: str = "ToFloat") -> Any:
    """Converts a tensor to float32."""
    return cast(x, dtypes.float32, name)


@export("to_double")
def to_double(x: TensorLike, name: str = "ToDouble") -> Any:
    """Converts a tensor to float64."""
    return cast(x, dtypes.float64, name)


@export("to_int32")
def to_int32(x: TensorLike, name: str = "ToInt32") -> Any:
    """Converts a tensor to int32."""
    return cast(x, dtypes.int32, name)


@export("to_int64")
def to_int64(x: TensorLike, name: str = "ToInt64") -> Any:
    """Converts a tensor to int64."""
    return cast(x, dtypes.int64, name)


@export("to_bfloat16")
def to_bfloat16(x: TensorLike, name: str = "ToBFloat16") -> Any:
    """Converts a tensor to bfloat16."""
    return cast(x, dtypes.bfloat16, name)


@export("to_complex64")
def to_complex64(x: TensorLike, name: str = "ToComplex64") -> Any:
    """Converts a tensor to complex64."""
    return cast(x, dtypes.complex64, name)


@export("to_complex128")
def to_complex128(x: TensorLike, name: str = "ToComplex128") -> Any:
    """Converts a tensor to complex128."""
    return cast(x, dtypes.complex128, name)
