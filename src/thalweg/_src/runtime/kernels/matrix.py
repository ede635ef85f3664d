"""Kernels of matrix multiplication."""

from __future__ import annotations

from collections.abc import Callable

import torch

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import INTEGERS, UNSIGNED
from thalweg._src.runtime.resources.devices import Device

# MKL parallelizes products of matrices with many rows and few columns badly.
_MIN_LONG, _MAX_NARROW = 128, 16


@kernel("MatMul", cpu_types=INTEGERS)
def bind_matmul(node: Node, device: Device) -> Call:
    if device.type == "CPU" and _is_narrow_outer(node):
        # a.t() @ b with few columns: the transposed product is several times faster, and its copy is small.
        return Call(
            torch.Tensor.contiguous, (Call(torch.t, (Call(torch.mm, (Call(torch.t, (Input(1),)), Input(0))),)),)
        )
    if device.type == "CPU" and not device.compiling and _is_narrow_inner(node):
        return Call(_multiply_narrow, (Input(0), Input(1)))
    a = Call(torch.t, (Input(0),)) if node.attrs["transpose_a"] else Input(0)
    b = Call(torch.t, (Input(1),)) if node.attrs["transpose_b"] else Input(1)
    return Call(torch.mm, (a, b))


def _is_narrow_inner(node: Node) -> bool:
    """Returns whether `g @ w.t()` has a small inner dimension: the input gradient of a layer with few units."""
    shape = node.input_shape(1)
    plain = node.attrs["transpose_b"] and not node.attrs["transpose_a"] and node.attrs["T"] is dtypes.float32
    if not plain or shape is None or len(shape) != 2 or None in shape:
        return False
    columns, inner = shape
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return bool(columns >= _MIN_LONG and 0 < inner <= _MAX_NARROW and available)  # type: ignore[operator]


def _multiply_narrow(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.ndim != 2 or a.shape[1] != b.shape[1] or not a.numel() or not b.numel():
        return torch.mm(a, b.t())  # empty, or an error to be reported
    return torch.ops.mkldnn._linear_pointwise.default(a, b, None, "none", [], "")  # type: ignore[no-any-return]


def _is_narrow_outer(node: Node) -> bool:
    """Returns whether a weight gradient `x.t() @ g` has few columns: that of a layer with few units."""
    shape = node.shapes[0]
    if shape is None or None in shape or not node.attrs["transpose_a"] or node.attrs["transpose_b"]:
        return False
    rows, columns = shape
    return bool(rows >= _MIN_LONG and columns <= _MAX_NARROW)  # type: ignore[operator]


@kernel("BatchMatMulV2", cpu_types=INTEGERS)
def bind_batch_matmul(node: Node, device: Device) -> Call:
    x = Call(torch.adjoint, (Input(0),)) if node.attrs["adj_x"] else Input(0)
    y = Call(torch.adjoint, (Input(1),)) if node.attrs["adj_y"] else Input(1)
    return Call(torch.matmul, (x, y))


@kernel("MatMul", T=UNSIGNED, priority=1, devices=("CPU",))
def bind_unsigned_matmul(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    """Multiplies in int64, whose wrap-around is that of the unsigned types; torch has no unsigned matmul."""
    transpose_a, transpose_b = node.attrs["transpose_a"], node.attrs["transpose_b"]

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        x, y = a.to(torch.int64), b.to(torch.int64)
        return torch.mm(x.t() if transpose_a else x, y.t() if transpose_b else y).to(a.dtype)

    return product


@kernel("BatchMatMulV2", T=UNSIGNED, priority=1, devices=("CPU",))
def bind_unsigned_batch_matmul(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    adj_x, adj_y = node.attrs["adj_x"], node.attrs["adj_y"]

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a, b = x.to(torch.int64), y.to(torch.int64)
        return torch.matmul(a.mT if adj_x else a, b.mT if adj_y else b).to(x.dtype)

    return product
