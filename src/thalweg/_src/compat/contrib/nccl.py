"""tf.contrib.nccl: reductions over tensors on several devices of a process.

One device reduces, and the results are copied to the others. Both are ordinary operations, so that they have gradients
and run on devices of any type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from thalweg._src.base.export import export
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add_n, maximum, minimum, multiply
from thalweg._src.graph.scopes import device
from thalweg._src.graph.tensor import Tensor


def _require(tensors: Sequence[Tensor]) -> list[Tensor]:
    tensors = list(tensors)
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"tensors: expected tensors, received {tensor!r}")
        if not tensor.device:
            raise ValueError(f"Device assignment required for collective ops, but {tensor.name!r} has none")
        if tensor.dtype.base_dtype is not tensors[0].dtype.base_dtype:
            raise TypeError(f"tensors: expected one type, received {tensors[0].dtype.name} and {tensor.dtype.name}")
    return tensors


def _on_all(tensors: Sequence[Tensor], reduce: Callable[[list[Tensor]], Tensor]) -> list[Tensor]:
    tensors = _require(tensors)
    with device(tensors[0].device):
        reduced = reduce(tensors)
    results = []
    for tensor in tensors:
        with device(tensor.device):
            results.append(identity(reduced))
    return results


@export("contrib.nccl.all_sum")
def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the sum of tensors, on the device of each of them."""
    return _on_all(tensors, add_n)


@export("contrib.nccl.all_prod")
def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the product of tensors, on the device of each of them."""
    return _on_all(tensors, functools.partial(functools.reduce, multiply))


@export("contrib.nccl.all_min")
def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the element-wise minimum of tensors, on the device of each of them."""
    return _on_all(tensors, functools.partial(functools.reduce, minimum))


@export("contrib.nccl.all_max")
def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the element-wise maximum of tensors, on the device of each of them."""
    return _on_all(tensors, functools.partial(functools.reduce, maximum))


@export("contrib.nccl.reduce_sum")
def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """Returns the sum of tensors on the current device."""
    return add_n(_require(tensors))


@export("contrib.nccl.broadcast")
def broadcast(tensor: Tensor) -> Tensor:
    """Returns a tensor that is copied to each device that uses it, once."""
    (tensor,) = _require([tensor])
    with device(tensor.device):
        return identity(tensor)
