"""Kernels of matrix decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Function = Callable[..., Any]
_NARROW = (torch.float16, torch.bfloat16)


def widened(function: Function, dtype: DType) -> Function:
    """Computes in float32 what torch does not support for shorter types."""
    narrow = TORCH[dtype]
    if narrow not in _NARROW:
        return function

    def computed(*values: torch.Tensor) -> Any:
        result = function(*(value.float() if value.dtype is narrow else value for value in values))
        outputs = result if isinstance(result, tuple) else (result,)
        outputs = tuple(output.to(narrow) if output.dtype is torch.float32 else output for output in outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    return computed


def require_success(info: torch.Tensor, text: str, matrices: torch.Tensor | None = None) -> None:
    """Raises if the routine reports an error for some matrix; if matrices are given, for one of finite numbers."""
    if info.any() and (matrices is None or matrices[info != 0].isfinite().all(-1).all(-1).any()):
        raise invalid(text)


def require_square(x: torch.Tensor) -> None:
    """Checks that matrices are square, where torch supports others as well."""
    require(
        x.ndim >= 2 and x.shape[-2] == x.shape[-1],
        f"{show(tuple(x.shape))} is not a shape of square matrices",
        expected="square matrices",
    )


@kernel("Cholesky")
def bind_cholesky(node: Node, device: Device) -> Function:
    def factor(x: torch.Tensor) -> Any:
        result, info = torch.linalg.cholesky_ex(x)
        if info.any():
            require_success(info, "Cholesky decomposition was not successful. The input might not be valid.", x)
            return torch.where((info == 0)[..., None, None], result, torch.full_like(x, torch.nan).tril())
        return result

    return widened(factor, node.attrs["T"])


@kernel("CholeskyGrad")
def bind_cholesky_grad(node: Node, device: Device) -> Function:
    def gradient(factor: torch.Tensor, grad: torch.Tensor) -> Any:
        lower = factor.tril()
        inner = torch.tril(lower.mT @ grad.tril())
        inner.diagonal(0, -2, -1).mul_(0.5)
        left = torch.linalg.solve_triangular(lower.mT, inner, upper=True)
        result = torch.linalg.solve_triangular(lower, left, upper=False, left=False)
        return (result + result.mT) / 2

    return widened(gradient, node.attrs["T"])


@kernel("Qr")
def bind_qr(node: Node, device: Device) -> Function:
    mode = "complete" if node.attrs["full_matrices"] else "reduced"
    return widened(lambda x: tuple(torch.linalg.qr(x, mode)), node.attrs["T"])


@kernel("Svd")
def bind_svd(node: Node, device: Device) -> Function:
    full = node.attrs["full_matrices"]

    def values(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        empty = x.new_empty(0)
        return _or_nan(torch.linalg.svdvals, x).to(x.dtype), empty, empty

    def triples(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        u, s, vh = _or_nan(lambda x: torch.linalg.svd(x, full), x)
        return s.to(x.dtype), u, vh.mH

    return widened(triples if node.attrs["compute_uv"] else values, node.attrs["T"])


def _or_nan(function: Function, x: torch.Tensor) -> Any:
    """Decomposes matrices; where infinite values have no result, returns NaN."""
    try:
        return function(x)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        if x.isfinite().all():
            raise
        bad = ~x.isfinite().all(-1).all(-1)
        result = function(torch.where(bad[..., None, None], torch.zeros_like(x), x))
        for output in result if isinstance(result, tuple) else (result,):
            output[bad] = torch.nan
        return result


@kernel("SelfAdjointEigV2")
def bind_self_adjoint_eig(node: Node, device: Device) -> Function:
    def values(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _require_finite(x, "Self-adjoint eigen decomposition")
        return torch.linalg.eigvalsh(x).to(x.dtype), x.new_empty(0)

    def pairs(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _require_finite(x, "Self-adjoint eigen decomposition")
        e, v = torch.linalg.eigh(x)
        return e.to(x.dtype), v

    return widened(pairs if node.attrs["compute_v"] else values, node.attrs["T"])


@kernel("Eig")
def bind_eig(node: Node, device: Device) -> Function:
    def values(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _require_finite(x, "Eigen decomposition")
        e = torch.linalg.eigvals(x)
        return e, e.new_empty(0)

    def pairs(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _require_finite(x, "Eigen decomposition")
        return tuple(torch.linalg.eig(x))

    return pairs if node.attrs["compute_v"] else values


def _require_finite(x: torch.Tensor, what: str) -> None:
    """Rejects infinite values, with which some libraries never terminate."""
    if not x.isfinite().all():
        raise invalid(f"{what} failed: the input contains infinities or NaN")


@kernel("Lu")
def bind_lu(node: Node, device: Device) -> Function:
    index_type = TORCH[node.attrs["output_idx_type"]]

    def factor(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        require_square(x)
        factors, pivots, info = torch.linalg.lu_factor_ex(x)
        require_success(info, "Input is not invertible.")
        if not x.numel():
            return factors, torch.empty(x.shape[:-1], dtype=index_type, device=x.device)
        rows, _, _ = torch.lu_unpack(factors, pivots, unpack_data=False)
        return factors, rows.abs().argmax(-2).to(index_type)

    return widened(factor, node.attrs["T"])
