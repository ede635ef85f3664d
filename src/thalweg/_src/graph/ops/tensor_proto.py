"""Conversion of Python values to TensorProto messages."""

from __future__ import annotations

from math import prod
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.ops.constants import as_array
from thalweg._src.graph.tensor_proto import MakeNdarray, array_proto, make_ndarray

__all__ = ["MakeNdarray", "make_ndarray", "make_tensor_proto"]


@export("make_tensor_proto", "contrib.util.make_tensor_proto")
def make_tensor_proto(
    values: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Returns a value as a TensorProto, which `make_ndarray` and TensorFlow read; a proto is returned unchanged.

    Args:
        values: The value: a number, a list, or an array.
        dtype: The element type; by default that of the value.
        shape: The shape; by default that of the value.
        allow_broadcast: Whether a single value may fill the whole shape.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if getattr(getattr(values, "DESCRIPTOR", None), "name", "") == "TensorProto":
        return values
    array, kind = as_array(values, None if dtype is None else dtypes.as_dtype(dtype).base_dtype)
    if shape is not None:
        sizes = tuple(int(size) for size in shape)
        fits = array.shape == sizes if verify_shape else array.shape in ((), (1,)) or array.size == prod(sizes)
        if not fits and (verify_shape or allow_broadcast):
            raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
        array, _ = as_array(values, kind, sizes)
    return array_proto(array, kind)
