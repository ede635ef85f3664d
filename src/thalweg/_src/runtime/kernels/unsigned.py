"""Arithmetic of 16-, 32- and 64-bit unsigned integers by signed ones, since torch has few unsigned kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.runtime.kernels.registry import Call, Input
from thalweg._src.runtime.kernels.types import TORCH

SAME_BITS = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}
_SIGN_BIT = torch.tensor(-(2**63))


def where(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """Selects elements of any type; torch's own function lacks unsigned types on CUDA and in older versions."""
    same = SAME_BITS.get(t.dtype)
    if same is None:
        return torch.where(condition, t, e)
    return torch.where(condition, t.view(same), e.view(same)).view(t.dtype)


def by_bits(function: Callable[..., Any], dtype: dtypes.DType, count: int) -> Call:
    """Calls a function whose result has the same bits for signed and unsigned integers: sums, products."""
    unsigned = TORCH[dtype]
    inputs = tuple(Call(torch.Tensor.view, (Input(i), SAME_BITS[unsigned])) for i in range(count))
    return Call(torch.Tensor.view, (Call(function, inputs), unsigned))


def by_order(function: Callable[..., Any], dtype: dtypes.DType, count: int, returns_number: bool) -> Call:
    """Calls a function that depends only on the order of values: comparisons, maximum, minimum.

    Flipping the top bit maps 64-bit unsigned order to signed order.
    """
    unsigned = TORCH[dtype]
    if unsigned is not torch.uint64:
        return by_value(function, dtype, count, returns_number)
    inputs = tuple(
        Call(torch.bitwise_xor, (Call(torch.Tensor.view, (Input(i), torch.int64)), _SIGN_BIT)) for i in range(count)
    )
    result = Call(function, inputs)
    return (
        Call(torch.Tensor.view, (Call(torch.bitwise_xor, (result, _SIGN_BIT)), unsigned)) if returns_number else result
    )


def by_value(function: Callable[..., Any], dtype: dtypes.DType, count: int, returns_number: bool = True) -> Call:
    """Calls a function on 16 or 32 bits in a type that represents every value."""
    unsigned = TORCH[dtype]
    inputs = tuple(Call(torch.Tensor.to, (Input(i), _WIDER[unsigned])) for i in range(count))
    result = Call(function, inputs)
    return Call(torch.Tensor.to, (result, unsigned)) if returns_number else result


def on_host(function: Callable[..., Any]) -> Callable[..., torch.Tensor]:
    """Returns a NumPy function as a function of tensors in host memory."""

    def compute(*values: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.asarray(function(*[value.numpy() for value in values])))

    return compute
