"""Kernels of diagonals and band matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.diagonal import band_limits, longest_diagonal, matrix_sizes
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import Function, signed
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device

plain_kernel("MatrixDiag")(torch.diag_embed)
plain_kernel("MatrixDiagPart")(Call(torch.diagonal, (Input(0), 0, -2, -1)))


@plain_kernel("MatrixSetDiag")
def _matrix_set_diag(value: torch.Tensor, diagonal: torch.Tensor) -> torch.Tensor:
    result = value.clone()
    target = result.diagonal(0, -2, -1)
    require(
        target.shape == diagonal.shape,
        f"diagonal has shape {show(tuple(diagonal.shape))}",
        show(tuple(target.shape)),
    )
    target.copy_(diagonal)
    return result


plain_kernel("Diag")(lambda diagonal: torch.diag_embed(diagonal.reshape(-1)).reshape(diagonal.shape + diagonal.shape))


@plain_kernel("DiagPart")
def _diag_part(value: torch.Tensor) -> torch.Tensor:
    half = value.shape[: value.ndim // 2]
    require(half + half == value.shape, f"input has shape {show(tuple(value.shape))}", expected="two equal halves")
    count = math.prod(half)
    return value.reshape(count, count).diagonal().reshape(half)


@plain_kernel("MatrixBandPart")
def _matrix_band_part(value: torch.Tensor, num_lower: torch.Tensor, num_upper: torch.Tensor) -> torch.Tensor:
    lower, upper = int(num_lower), int(num_upper)
    require(value.ndim >= 2, f"input has rank {value.ndim}", expected="rank at least 2")
    rows, columns = value.shape[-2:]
    require(lower <= rows and upper <= columns, f"the band {lower}, {upper} is wider than the matrix")
    result = signed(value)
    if lower >= 0:
        result = torch.triu(result, -lower)
    if upper >= 0:
        result = torch.tril(result, upper)
    return result.view(value.dtype)


# -- bands of diagonals -----------------------------------------------------------------------------------------------


class _Band:
    """The diagonals from `lower` to `upper` as rows of equal length, highest first, shorter ones aligned to a side."""

    def __init__(self, lower: int, upper: int, longest: int, align: str) -> None:
        self.lower, self.upper, self.longest = lower, upper, longest
        self._above_left, self._below_left = (side == "LEFT" for side in align.split("_"))

    def shape(self, batch: Any) -> tuple[int, ...]:
        return (*batch, self.longest) if self.lower == self.upper else (*batch, self.count, self.longest)

    @property
    def count(self) -> int:
        return self.upper - self.lower + 1

    def pairs(self, matrix: torch.Tensor, rows: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yields each diagonal of a matrix with the part of its row that represents it."""
        rows = rows.unsqueeze(-2) if self.lower == self.upper else rows
        for index, k in enumerate(range(self.upper, self.lower - 1, -1)):
            diagonal = matrix.diagonal(k, -2, -1)
            length = diagonal.shape[-1]
            left = (k >= 0 and self._above_left) or (k <= 0 and self._below_left)
            yield diagonal, rows[..., index, :].narrow(-1, 0 if left else self.longest - length, length)


def _band_of(matrix: torch.Tensor, k: torch.Tensor, align: str) -> _Band:
    require(matrix.ndim >= 2, f"input has rank {matrix.ndim}", expected="rank at least 2")
    lower, upper = band_limits(k)
    return _Band(lower, upper, longest_diagonal(matrix.shape[-2], matrix.shape[-1], lower, upper), align)


@kernel("MatrixDiagV2", "MatrixDiagV3")
def bind_matrix_diag_band(node: Node, device: Device) -> Function:
    align = node.attrs.get("align", "LEFT_LEFT")

    def build(
        rows: torch.Tensor, k: torch.Tensor, num_rows: torch.Tensor, num_cols: TensorValue, padding: torch.Tensor
    ) -> torch.Tensor:
        lower, upper = band_limits(k)
        require(rows.ndim > (lower != upper), f"diagonal has rank {rows.ndim}", expected="one row per diagonal")
        require(not padding.ndim, f"padding_value has rank {padding.ndim}", expected="a scalar")
        band = _Band(lower, upper, rows.shape[-1], align)
        require(lower == upper or rows.shape[-2] == band.count, "the rows of diagonal do not match k")
        size = matrix_sizes(int(num_rows), int(num_cols), lower, upper, band.longest)
        batch = rows.shape[:-1] if lower == upper else rows.shape[:-2]
        result = padding.expand((*batch, *size)).clone(memory_format=torch.contiguous_format)
        for target, values in band.pairs(result, rows):
            target.copy_(values)
        return result

    return build


@kernel("MatrixDiagPartV2", "MatrixDiagPartV3")
def bind_matrix_diag_part_band(node: Node, device: Device) -> Function:
    align = node.attrs.get("align", "LEFT_LEFT")

    def diagonal_of(matrix: torch.Tensor, k: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        band = _band_of(matrix, k, align)
        require(not padding.ndim, f"padding_value has rank {padding.ndim}", expected="a scalar")
        result = padding.expand(band.shape(matrix.shape[:-2])).clone(memory_format=torch.contiguous_format)
        for values, target in band.pairs(matrix, result):
            target.copy_(values)
        return result

    return diagonal_of


@kernel("MatrixSetDiagV2", "MatrixSetDiagV3")
def bind_matrix_set_diag_band(node: Node, device: Device) -> Function:
    align = node.attrs.get("align", "LEFT_LEFT")

    def replace(matrix: torch.Tensor, rows: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        band = _band_of(matrix, k, align)
        shape = band.shape(matrix.shape[:-2])
        require(rows.shape == shape, f"diagonal has shape {show(tuple(rows.shape))}", expected=show(shape))
        result = matrix.clone()
        for target, values in band.pairs(result, rows):
            target.copy_(values)
        return result

    return replace
