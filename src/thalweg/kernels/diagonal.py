"""Kernels of diagonals and bands."""

from __future__ import annotations

import math
from typing import Any

import torch

from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import Call, Input, kernel
from thalweg.kernels.shaping import Function, signed
from thalweg.ops.shape_functions import require
from thalweg.shapes import show


@kernel("MatrixDiag")
def bind_matrix_diag(node: Node, device: Any) -> Function:
    return torch.diag_embed


@kernel("MatrixDiagPart")
def bind_matrix_diag_part(node: Node, device: Any) -> Call:
    return Call(torch.diagonal, (Input(0), 0, -2, -1))


@kernel("MatrixSetDiag")
def bind_matrix_set_diag(node: Node, device: Any) -> Function:
    def replace(value: torch.Tensor, diagonal: torch.Tensor) -> torch.Tensor:
        result = value.clone()
        place = result.diagonal(0, -2, -1)
        require(
            place.shape == diagonal.shape, f"diagonal has shape {show(tuple(diagonal.shape))}", show(tuple(place.shape))
        )
        place.copy_(diagonal)
        return result

    return replace


@kernel("Diag")
def bind_diag(node: Node, device: Any) -> Function:
    return lambda diagonal: torch.diag_embed(diagonal.reshape(-1)).reshape(diagonal.shape + diagonal.shape)


@kernel("DiagPart")
def bind_diag_part(node: Node, device: Any) -> Function:
    def part(value: torch.Tensor) -> torch.Tensor:
        half = value.shape[: value.ndim // 2]
        require(half + half == value.shape, f"input has shape {show(tuple(value.shape))}", expected="two equal halves")
        count = math.prod(half)
        return value.reshape(count, count).diagonal().reshape(half)

    return part


@kernel("MatrixBandPart")
def bind_matrix_band_part(node: Node, device: Any) -> Function:
    def band(value: torch.Tensor, num_lower: torch.Tensor, num_upper: torch.Tensor) -> torch.Tensor:
        lower, upper = int(num_lower), int(num_upper)
        require(value.ndim >= 2, f"input has rank {value.ndim}", expected="rank 2 at least")
        rows, columns = value.shape[-2:]
        require(lower <= rows and upper <= columns, f"the band {lower}, {upper} is wider than the matrix")
        result = signed(value)
        if lower >= 0:
            result = torch.triu(result, -lower)
        if upper >= 0:
            result = torch.tril(result, upper)
        return result.view(value.dtype)

    return band
