"""Kernels of shape queries, reshape, transpose and broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError, UnimplementedError, invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.tensor_list import map_tensors
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Function = Callable[..., Any]

STRINGS: dict[str, Any] = {"devices": ("CPU",), "priority": 1, "T": [dtypes.string]}


_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def signed(value: torch.Tensor) -> torch.Tensor:
    """Returns unsigned integers as signed ones with the same bits, for torch functions that support no others."""
    other = _SIGNED.get(value.dtype)
    return value if other is None else value.view(other)


def flip(value: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """Reverses a tensor of any type along some dimensions."""
    return signed(value).flip(tuple(axes)).view(value.dtype)


def flip_function(node: Node) -> Function:
    """Returns the function that reverses a node's values: torch's own where it supports the type."""
    return flip if TORCH[node.dtypes[0]] in _SIGNED else torch.flip


def by_position(move: Any) -> Function:
    """Returns a function that moves strings as `move` moves integers: it is applied to their positions."""

    def moved(value: Any, *rest: Any) -> Any:
        positions = torch.arange(value.size).reshape(value.shape)
        return value.ravel()[move(positions, *rest).numpy()]

    return moved


@kernel("Shape")
def bind_shape(node: Node, device: Device) -> Function:
    dtype = TORCH[node.dtypes[0]]
    return lambda value: torch.tensor(value.shape, dtype=dtype)


@kernel("ShapeN")
def bind_shape_n(node: Node, device: Device) -> Function:
    dtype = TORCH[node.dtypes[0]]
    if len(node.inputs) == 1:
        return lambda value: torch.tensor(value.shape, dtype=dtype)
    return lambda *values: [torch.tensor(value.shape, dtype=dtype) for value in values]


@kernel("Size")
def bind_size(node: Node, device: Device) -> Function:
    dtype = TORCH[node.dtypes[0]]
    return lambda value: torch.tensor(math.prod(value.shape), dtype=dtype)


plain_kernel("Rank")(lambda value: torch.tensor(value.ndim, dtype=torch.int32))


@kernel("Shape", "ShapeN", "Size", "Rank", T=[dtypes.resource], priority=1)
def bind_handle(node: Node, device: Device) -> NoReturn:
    raise UnimplementedError(None, None, "a handle has no shape: read the variable")


plain_kernel("ZerosLike")(torch.zeros_like)
plain_kernel("ZerosLike", **STRINGS)(lambda value: np.full(value.shape, b"", dtype=object))
plain_kernel("ZerosLike", T=[dtypes.variant])(lambda value: map_tensors(torch.zeros_like, value))
plain_kernel("OnesLike")(torch.ones_like)


@kernel("BroadcastGradientArgs")
def bind_broadcast_gradient_args(node: Node, device: Device) -> Function:
    dtype = TORCH[node.dtypes[0]]

    def axes(s0: torch.Tensor, s1: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = broadcast_axes(s0.tolist(), s1.tolist())
        return torch.tensor(first, dtype=dtype), torch.tensor(second, dtype=dtype)

    return axes


def broadcast_axes(a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
    """Returns the axes of the common shape along which each of two shapes is broadcast."""
    rank = max(len(a), len(b))
    first, second = [1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b
    axes_of_a: list[int] = []
    axes_of_b: list[int] = []
    for axis, (x, y) in enumerate(zip(first, second)):
        if 1 not in (x, y) and x != y:
            raise ShapeError(f"shapes {show(tuple(a))} and {show(tuple(b))} do not broadcast")
        # A size of 1 on both sides may be reduced too: the reshape that follows restores it.
        if x == 1:
            axes_of_a.append(axis)
        if y == 1:
            axes_of_b.append(axis)
    return axes_of_a, axes_of_b


def literal_shape(shape: Sequence[int | None] | None) -> tuple[int, ...] | None:
    """Returns a static shape in torch's form, with -1 for one unknown size; None if more are unknown."""
    if shape is None or sum(d is None for d in shape) > 1:
        return None
    if None in shape and 0 in shape:
        return None
    return tuple(-1 if d is None else d for d in shape)


@kernel("Reshape")
def bind_reshape(node: Node, device: Device) -> Function | Call:
    constant = node.constant(1)
    target = None if constant is None else tuple(constant.tolist())
    if node.inputs[1][0].type in ("Shape", "ShapeN"):  # its value is static; any other must be checked
        target = literal_shape(node.shapes[0])
    if target is not None and min(target, default=0) >= -1:
        return Call(torch.reshape, (Input(0), target))
    return lambda value, shape: value.reshape(shape.tolist())


plain_kernel("Reshape", **STRINGS)(lambda value, shape: value.reshape(shape.tolist()))


@kernel("ExpandDims")
def bind_expand_dims(node: Node, device: Device) -> Function | Call:
    dim = node.constant(1)
    if dim is not None:
        return Call(torch.unsqueeze, (Input(0), int(dim.ravel()[0])))
    return lambda value, dim: value.unsqueeze(dim.item())


plain_kernel("ExpandDims", **STRINGS)(lambda value, dim: np.expand_dims(value, dim.item()))


@kernel("Squeeze")
def bind_squeeze(node: Node, device: Device) -> Function | Call:
    axes, shape = node.attrs["squeeze_dims"], node.input_shape(0)
    if not axes:
        return Call(torch.squeeze, (Input(0),))
    if shape is not None and all(shape[axis] == 1 for axis in axes):
        return Call(torch.squeeze, (Input(0), axes))

    def squeeze(value: torch.Tensor) -> torch.Tensor:
        for axis in axes:
            if value.shape[axis] != 1:
                raise ShapeError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {value.shape[axis]}")
        return value.squeeze(axes)

    return squeeze


@kernel("Squeeze", **STRINGS)
def bind_squeeze_strings(node: Node, device: Device) -> Function:
    axes = node.attrs["squeeze_dims"] or None
    return lambda value: value.squeeze(axes)


@kernel("Transpose")
def bind_transpose(node: Node, device: Device) -> Function | Call:
    perm = node.constant(1)
    if perm is not None and perm.tolist() == [1, 0]:
        return Call(torch.t, (Input(0),))
    if perm is not None:
        return Call(torch.permute, (Input(0), tuple(perm.tolist())))
    return lambda value, perm: value.permute(perm.tolist())


plain_kernel("ConjugateTranspose")(lambda value, perm: value.permute(perm.tolist()).conj())
plain_kernel("Transpose", "ConjugateTranspose", **STRINGS)(lambda value, perm: value.transpose(perm.tolist()))


@plain_kernel("InvertPermutation")
def _invert_permutation(x: torch.Tensor) -> torch.Tensor:
    order = x.tolist()
    result = [-1] * len(order)
    for i, p in enumerate(order):
        if not 0 <= p < len(order):
            raise invalid(f"{p} is not between 0 and {len(order)}")
        if result[p] != -1:
            raise invalid(f"{p} is duplicated in the input")
        result[p] = i
    return torch.tensor(result, dtype=x.dtype)
