"""Types and arrays: DType to torch.dtype, NumPy arrays to device tensors and back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from thalweg import dtypes
from thalweg.dtypes import DType

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

_CPU = torch.device("cpu")
_use_count = torch._C._storage_Use_Count


class _Writable:
    """Shows a read-only array to NumPy as a writable one over the same memory; nothing of ours writes to feeds."""

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
    if not array.flags.writeable:
        array = np.asarray(_Writable(array)) if array.size else array.copy()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        tensor = torch.from_numpy(array)
    except ValueError:  # negative strides
        tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor if device is _CPU or device.type == "cpu" else tensor.to(device)


def to_numpy(value: Value) -> Any:
    """Returns a value as the user's own: a NumPy scalar, or an array that nothing else holds or changes."""
    if not isinstance(value, torch.Tensor):
        return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not value.is_cpu:
        value = value.cpu()
    elif value.ndim and not is_sole_owner(value, references=4):  # a scalar is copied below
        value = value.clone()
    if value.ndim:
        value = value.contiguous()
    if value.dtype is torch.bfloat16:
        import ml_dtypes

        array = value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    else:
        array = value.resolve_neg().resolve_conj().numpy() if value.is_complex() else value.numpy()
    return array[()] if array.ndim == 0 else array


def is_sole_owner(value: torch.Tensor, references: int) -> bool:
    """Tells whether nobody but the holders counted in `references` can see the tensor's memory.

    Both counts matter: of Python references to this very tensor, and of tensors (views) over its storage. Memory
    that came from NumPy belongs to the user, whoever holds it.
    """
    storage = value.untyped_storage()
    return sys.getrefcount(value) <= references and _use_count(storage._cdata) == 2 and storage.resizable()
