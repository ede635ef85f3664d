"""Gradients of diagonals and band matrices."""

from __future__ import annotations

from typing import Any

from thalweg._src.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.diagonal import (
    diag,
    diag_part,
    matrix_band_part,
    matrix_diag_part_op,
    matrix_diag_part_v3_op,
    matrix_set_diag_op,
    matrix_set_diag_v3_op,
)
from thalweg._src.ops.reshape import zeros_like


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


def _alignment(op: Operation) -> str:
    return op.attrs.get("align", "LEFT_LEFT")  # type: ignore[no-any-return]


@gradient("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_band(op: Operation, grad: Tensor) -> list[Any]:
    return [matrix_diag_part_v3_op(grad, op.inputs[1], 0, align=_alignment(op)), None, None, None, None]


@gradient("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_band(op: Operation, grad: Tensor) -> list[Any]:
    source, k, _ = op.inputs
    return [matrix_set_diag_v3_op(zeros_like(source), grad, k, align=_alignment(op)), None, None]


@gradient("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag_band(op: Operation, grad: Tensor) -> list[Any]:
    _, diagonal, k = op.inputs
    align = _alignment(op)
    return [
        lambda: matrix_set_diag_v3_op(grad, zeros_like(diagonal), k, align=align),
        lambda: matrix_diag_part_v3_op(grad, k, 0, align=align),
        None,
    ]
