"""Kernels of tridiagonal solvers and products."""

from __future__ import annotations

import torch

from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.decompositions import Function
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.resources.devices import Device

_DENSE = 128  # rows; smaller systems are solved faster as dense matrices


@plain_kernel("TridiagonalMatMul")
def _multiply(above: torch.Tensor, main: torch.Tensor, below: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    for diagonal in (above, main, below):
        _require_fit(diagonal, 1, rhs)
    a, d, b = (diagonal.mT for diagonal in (above, main, below))
    result = d * rhs
    result[..., :-1, :] += a[..., :-1, :] * rhs[..., 1:, :]
    result[..., 1:, :] += b[..., 1:, :] * rhs[..., :-1, :]
    return result


@kernel("TridiagonalSolve")
def bind_solve(node: Node, device: Device) -> Function:
    pivoting, perturbed = node.attrs["partial_pivoting"], node.attrs["perturb_singular"]

    def solve(diagonals: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
        _require_fit(diagonals, 3, rhs)
        if not rhs.numel():
            return rhs
        if rhs.shape[-2] > _DENSE or perturbed:
            return _by_rows(diagonals, rhs, pivoting, perturbed)
        above, main, below = diagonals.unbind(-2)
        whole = torch.diag_embed(main)
        whole.diagonal(1, -2, -1).copy_(above[..., :-1])
        whole.diagonal(-1, -2, -1).copy_(below[..., 1:])
        result, info = torch.linalg.solve_ex(whole, rhs)
        return torch.where((info == 0)[..., None, None], result, torch.nan)

    return solve


def _require_fit(diagonals: torch.Tensor, count: int, rhs: torch.Tensor) -> None:
    fits = diagonals.ndim >= 2 and diagonals.shape[:-1] == (*rhs.shape[:-2], count)
    require(
        fits and diagonals.shape[-1] == rhs.shape[-2],
        f"rhs has shape {show(tuple(rhs.shape))}, diagonals {show(tuple(diagonals.shape))}",
        expected=f"diagonals with {count} rows, each as long as rhs has rows",
    )


def _by_rows(diagonals: torch.Tensor, rhs: torch.Tensor, pivoting: bool, perturbed: bool) -> torch.Tensor:
    """Gaussian elimination with partial pivoting between adjacent rows."""
    above, main, below = (diagonal.unbind(-1) for diagonal in diagonals.unbind(-2))
    rows = rhs.unbind(-2)
    count = len(rows)
    zero = torch.zeros_like(main[0])
    least = torch.finfo(rhs.dtype).tiny * 4
    current = [main[0], above[0] if count > 1 else zero, zero, rows[0]]
    solved: list[list[torch.Tensor]] = []
    for i in range(1, count):
        following = [below[i], main[i], above[i] if i < count - 1 else zero, rows[i]]
        if pivoting:
            swap = following[0].abs() > current[0].abs()
            current, following = (
                [torch.where(swap if y.ndim == swap.ndim else swap[..., None], y, x) for x, y in zip(*pair)]
                for pair in ((current, following), (following, current))
            )
        pivot = torch.where(current[0].abs() < least, least, current[0]) if perturbed else current[0]
        solved.append([pivot, *current[1:]])
        factor = following[0] / pivot
        current = [
            following[1] - factor * current[1],
            following[2] - factor * current[2],
            zero,
            following[3] - factor[..., None] * current[3],
        ]
    pivot = torch.where(current[0].abs() < least, least, current[0]) if perturbed else current[0]
    solved.append([pivot, *current[1:]])
    return _substituted(solved)


def _substituted(solved: list[list[torch.Tensor]]) -> torch.Tensor:
    """Back substitution with three nonzeros per row."""
    result: list[torch.Tensor] = []
    for pivot, first, second, right in reversed(solved):
        for factor, solution in zip((first, second), result[-1:-3:-1]):
            right = right - factor[..., None] * solution
        value = right / pivot[..., None]
        result.append(torch.where((pivot == 0)[..., None], torch.nan, value))
    return torch.stack(result[::-1], -2)
