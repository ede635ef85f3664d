"""Kernels of comparisons, floating-point predicates, logical and bitwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import UNSIGNED
from thalweg._src.runtime.kernels.unsigned import by_bits, by_order, by_value, on_host
from thalweg._src.runtime.resources.devices import Device

Function = Callable[..., Any]

_ORDER: dict[str, Function] = {
    "Less": torch.lt,
    "LessEqual": torch.le,
    "Greater": torch.gt,
    "GreaterEqual": torch.ge,
}
_PLAIN: dict[str, Function] = {
    **_ORDER,
    "Equal": torch.eq,
    "NotEqual": torch.ne,
    "IsNan": torch.isnan,
    "IsInf": torch.isinf,
    "IsFinite": torch.isfinite,
    "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or,
    "LogicalNot": torch.logical_not,
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
    "Invert": torch.bitwise_not,
}


@kernel(*_PLAIN)
def bind_plain(node: Node, device: Device) -> Function:
    function = _PLAIN[node.type]
    return function if node.attrs.get("incompatible_shape_error", True) else _answered(function, node, device)


@kernel(*_ORDER, T=UNSIGNED, priority=1)
def bind_unsigned_order(node: Node, device: Device) -> Call:
    return by_order(_ORDER[node.type], node.attrs["T"], 2, returns_number=False)


@kernel("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert", T=UNSIGNED, priority=1)
def bind_unsigned_bits(node: Node, device: Device) -> Call:
    return by_bits(_PLAIN[node.type], node.attrs["T"], len(node.inputs))


@kernel("Equal", "NotEqual", devices=("CPU",), T=(dtypes.string,), priority=1)
def bind_string_equality(node: Node, device: Device) -> Function:
    compare = np.equal if node.type == "Equal" else np.not_equal

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.asarray(compare(x, y), dtype=np.bool_))

    return function if node.attrs["incompatible_shape_error"] else _answered(function, node, device)


def _answered(function: Function, node: Node, device: Device) -> Function:
    """Returns "unequal" instead of an error for tensors whose shapes do not broadcast."""
    answer = torch.tensor(node.type == "NotEqual", device=device.torch)

    def compare(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        try:
            np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
        except ValueError:
            return answer
        return function(x, y)  # type: ignore[no-any-return]

    return compare


@kernel("ApproximateEqual")
def bind_approximate_equal(node: Node, device: Device) -> Function:
    tolerance = node.attrs["tolerance"]

    def compare(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.shape != y.shape:
            raise errors.ShapeError("x and y have different shapes", expected="x.shape == y.shape")
        if node.attrs["T"] in UNSIGNED:
            x, y = x.to(torch.float64), y.to(torch.float64)
        return torch.le(torch.abs(torch.sub(x, y)), tolerance)

    return compare


_SHIFT: dict[str, Function] = {"LeftShift": torch.bitwise_left_shift, "RightShift": torch.bitwise_right_shift}


@kernel(*_SHIFT, T=dtypes.INTEGERS - set(UNSIGNED))
def bind_shift(node: Node, device: Device) -> Function | Call:
    """Clamps the shift distance to the type's bits, as TensorFlow does; torch would return 0 beyond them."""
    shift = _SHIFT[node.type]
    last = node.attrs["T"].size * 8 - 1
    distance = node.constant(1)
    if distance is not None and ((distance >= 0) & (distance <= last)).all():
        return shift
    return Call(shift, (Input(0), Call(torch.clamp, (Input(1), 0, last))))


@kernel(*_SHIFT, T=(dtypes.uint16, dtypes.uint32))
def bind_unsigned_shift(node: Node, device: Device) -> Call:
    shift = _SHIFT[node.type]
    last = node.attrs["T"].size * 8 - 1
    return by_value(lambda x, y: shift(x, torch.clamp(y, 0, last)), node.attrs["T"], 2)


@kernel(*_SHIFT, devices=("CPU",), T=(dtypes.uint64,))
def bind_long_shift(node: Node, device: Device) -> Function:
    shift = np.left_shift if node.type == "LeftShift" else np.right_shift
    return on_host(lambda x, y: shift(x, np.minimum(y, np.uint64(63))))
