"""Gradients of diagonals and band matrices."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.derivatives import gradient_of_one
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.diagonal import (
    diag,
    diag_part,
    matrix_band_part,
    matrix_diag_part_op,
    matrix_diag_part_v3_op,
    matrix_set_diag_op,
    matrix_set_diag_v3_op,
)
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.tensor import Tensor

gradient_of_one("MatrixDiag", lambda grad, x, y: matrix_diag_part_op(grad))
gradient_of_one("MatrixDiagPart", lambda grad, x, y: matrix_set_diag_op(zeros_like(x), grad))
gradient_of_one("Diag", lambda grad, x, y: diag_part(grad))
gradient_of_one("DiagPart", lambda grad, x, y: diag(grad))


@gradient("MatrixSetDiag")
def matrix_set_diag(op: Operation, grad: Tensor) -> list[Any]:
    return [matrix_set_diag_op(grad, zeros_like(op.inputs[1])), matrix_diag_part_op(grad)]


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
