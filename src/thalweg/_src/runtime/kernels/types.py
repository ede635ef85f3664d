"""Conversion between DType and torch.dtype, and between NumPy arrays and device tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType

Array = np.ndarray[Any, Any]
TensorValue = torch.Tensor | Array  # of numbers, or an array of strings
Value = Any  # a torch.Tensor; for strings a NumPy array of objects; for resources the resource itself

TORCH: dict[DType, torch.dtype] = {
    dtypes.float16: torch.float16,
    dtypes.float32: torch.float32,
    dtypes.float64: torch.float64,
    dtypes.bfloat16: torch.bfloat16,
    dtypes.int8: torch.int8,
    dtypes.int16: torch.int16,
    dtypes.int32: torch.int32,
    dtypes.int64: torch.int64,
    dtypes.uint8: torch.uint8,
    dtypes.uint16: torch.uint16,
    dtypes.uint32: torch.uint32,
    dtypes.uint64: torch.uint64,
    dtypes.bool: torch.bool,
    dtypes.complex64: torch.complex64,
    dtypes.complex128: torch.complex128,
    dtypes.qint8: torch.int8,
    dtypes.quint8: torch.uint8,
    dtypes.qint16: torch.int16,
    dtypes.quint16: torch.uint16,
    dtypes.qint32: torch.int32,
}

INTEGERS = tuple(dtype for dtype, kind in TORCH.items() if not kind.is_floating_point and not kind.is_complex)
UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)  # torch has little arithmetic of these; NumPy has it
TORCH_UNSIGNED = tuple(TORCH[dtype] for dtype in UNSIGNED)

_CPU = torch.device("cpu")
_COPIED_BYTES = 4096  # bytes: copying these is cheaper than checking references
_use_count = torch._C._storage_Use_Count
_holders = getattr(torch.Tensor, "_use_count", lambda value: 0)  # references outside Python, plus one for Python itself


class _Writable:
    """Exposes a read-only array to NumPy as a writable one over the same memory; kernels never write to feeds."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def from_numpy(array: np.ndarray[Any, Any], dtype: DType, device: torch.device = _CPU) -> Value:
    """Returns an array as a step's value, sharing its memory on the host where NumPy's layout allows."""
    if dtype is dtypes.string or dtype is dtypes.resource:
        return array
    if dtype is dtypes.bfloat16:
        return from_numpy(array.view(np.int16), dtypes.int16).view(torch.bfloat16).to(device)
    if dtype.is_quantized and array.dtype.names:
        array = array.view(array.dtype[0])
    if not array.flags.behaved:  # read-only, or at addresses between those of its elements
        array = np.asarray(_Writable(array)) if array.size and array.flags.aligned else array.copy()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        tensor = torch.from_numpy(array)
    except ValueError:  # negative strides
        tensor = torch.from_numpy(array.copy())
    if device is _CPU or device.type == "cpu":
        return tensor
    if tensor.numel() > 1 and not any(tensor.stride()):  # one value, repeated
        return tensor[(0,) * tensor.dim()].to(device).expand(tensor.shape)
    return tensor.to(device)


def fetched(values: Sequence[Value]) -> list[Any]:
    """Returns the values of a step for the caller: NumPy scalars, and arrays that nothing else refers to."""
    arrays: list[Any] = []
    for value in values:
        if getattr(value, "nbytes", 0) > _COPIED_BYTES:
            del value  # or it is counted as a holder
            return [to_numpy(values[place], is_unshared) for place, is_unshared in enumerate(_are_unshared(values))]
        arrays.append(to_numpy(value))
    return arrays


def _are_unshared(values: Sequence[Value]) -> list[bool]:
    """Returns for each value whether only the sequence refers to it.

    An object with a known answer is counted last as a baseline, since interpreters differ in the references they hold
    themselves, and may drop some as they optimize.
    """
    baseline = (object(),)
    counts = [sys.getrefcount(value) for value in [*values, *baseline]]
    sole = counts.pop()
    return [count <= sole for count in counts]


def to_numpy(value: Value, is_unshared: bool = False) -> Any:
    """Returns a value as a NumPy scalar or an array of its own.

    is_unshared: the caller holds the only reference; the array may then share memory that no other tensor views
    """
    if not isinstance(value, torch.Tensor):
        return _strings(value, is_unshared) if isinstance(value, np.ndarray) else value
    if value.is_cpu and value.ndim and value.is_contiguous() and not (is_unshared and _has_own_memory(value)):
        value = value.clone()  # a scalar is copied below, as is what lies in another order
    array = _array(value)
    return array[()] if array.ndim == 0 else array


def to_read(value: Value) -> np.ndarray[Any, Any]:
    """Returns a value as an array for immediate, read-only use: over the same memory where possible."""
    return _array(value) if isinstance(value, torch.Tensor) else np.asarray(value)


def _array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    value = value.cpu()
    if value.ndim:
        value = value.contiguous()
    if value.dtype is torch.bfloat16:
        import ml_dtypes

        return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return value.resolve_neg().resolve_conj().numpy() if value.is_complex() else value.numpy()


def _strings(value: np.ndarray[Any, Any], is_unshared: bool) -> Any:
    if value.ndim == 0:
        return value.item()
    return value if is_unshared and value.base is None else value.copy()


def _has_own_memory(value: torch.Tensor) -> bool:
    """Returns whether no other tensor shares the memory, and this one uses most of it.

    Memory that came from NumPy belongs to the user, whatever refers to it.
    """
    storage = value.untyped_storage()
    return (
        _holders(value) == 1
        and _use_count(storage._cdata) == 2
        and storage.resizable()
        and storage.nbytes() <= 2 * value.nbytes
    )
