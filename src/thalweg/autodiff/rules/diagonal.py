"""Gradients of diagonals and bands."""

from __future__ import annotations

from typing import Any

from thalweg.autodiff.registry import gradient
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.diagonal import (
    diag,
    diag_part,
    matrix_band_part,
    matrix_diag_part_op,
    matrix_set_diag_op,
)
from thalweg.ops.shaping import zeros_like


@gradient("MatrixDiag")
def matrix_diag(op: Operation, grad: Tensor) -> Tensor:
    return matrix_diag_part_op(grad)


@gradient("MatrixDiagPart")
def matrix_diag_part(op: Operation, grad: Tensor) -> Tensor:
    return matrix_set_diag_op(zeros_like(op.inputs[0]), grad)


@gradient("MatrixSetDiag")
def matrix_set_diag(op: Operation, grad: Tensor) -> list[Any]:
    return [matrix_set_diag_op(grad, zeros_like(op.inputs[1])), matrix_diag_part_op(grad)]


@gradient("Diag")
def diag_gradient(op: Operation, grad: Tensor) -> Tensor:
    return diag_part(grad)


@gradient("DiagPart")
def diag_part_gradient(op: Operation, grad: Tensor) -> Tensor:
    return diag(grad)


@gradient("MatrixBandPart")
def band(op: Operation, grad: Tensor) -> list[Any]:
    _, lower, upper = op.inputs
    return [matrix_band_part(grad, lower, upper), None, None]
