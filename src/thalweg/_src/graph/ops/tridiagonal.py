"""Tridiagonal solvers and products, with matrices given by their three diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.concat import concat, stack, unstack
from thalweg._src.graph.ops.diagonal import matrix_diag_part, matrix_diag_part_v3_op
from thalweg._src.graph.ops.math import conj
from thalweg._src.graph.ops.reshape import expand_dims, matrix_transpose, shape, squeeze, zeros
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, same_dimension
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_TYPES = frozenset((dtypes.float32, dtypes.float64)) | dtypes.COMPLEX


def _require_rows(count: int | None, rhs: Shape) -> None:
    if rhs is not None:
        same_dimension(count, rhs[-2], "the length of the diagonals and the rows of rhs", expected="equal numbers")


def _solved(c: Inference) -> Sequence[Shape]:
    fits = c.attrs["partial_pivoting"] or not c.attrs["perturb_singular"]
    require(fits, "perturb_singular without partial_pivoting", expected="partial_pivoting with it")
    diagonals, rhs = at_least_rank(c, 0, 2), at_least_rank(c, 1, 2)
    if diagonals is None:
        return [rhs]
    require(diagonals[-2] in (3, None), f"diagonals has {diagonals[-2]} rows", expected="3 rows")
    _require_rows(diagonals[-1], rhs)
    batch: Any = diagonals[:-2] if rhs is None else merge(diagonals[:-2], rhs[:-2])
    return [None if rhs is None else (*batch, diagonals[-1] if rhs[-2] is None else rhs[-2], rhs[-1])]


def _multiplied(c: Inference) -> Sequence[Shape]:
    rhs = at_least_rank(c, 3, 2)
    for index in range(3):
        diagonal = at_least_rank(c, index, 2)
        if diagonal is None:
            continue
        name = c.definition.inputs[index].name
        require(diagonal[-2] in (1, None), f"{name} has {diagonal[-2]} rows", expected="1 row")
        _require_rows(diagonal[-1], rhs)
        if rhs is not None:
            batch: Any = merge(diagonal[:-2], rhs[:-2])
            rhs = (*batch, diagonal[-1] if rhs[-2] is None else rhs[-2], rhs[-1])
    return [rhs]


tridiagonal_solve_op = op(
    "TridiagonalSolve",
    "diagonals: T, rhs: T -> output: T",
    partial_pivoting=True,
    perturb_singular=False,
    T=_TYPES,
    infer=_solved,
    doc="Solves systems of linear equations with tridiagonal matrices.",
)
tridiagonal_matmul_op = op(
    "TridiagonalMatMul",
    "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T",
    T=_TYPES,
    infer=_multiplied,
    doc="Multiplies tridiagonal matrices by matrices.",
)


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solves linear systems with tridiagonal matrices, in compact, sequence or matrix format."""
    with name_scope(name, "tridiagonal_solve", [diagonals, rhs]):
        rows = compact_diagonals(diagonals, diagonals_format)
        right = convert_to_tensor(rhs, dtype=rows.dtype, name="rhs")
        if rows.dims is not None and right.dims is not None and len(rows.dims) == len(right.dims) + 1:
            if transpose_rhs:
                raise ValueError("transpose_rhs must be False for right-hand sides that are vectors.")
            right = expand_dims(conj(right) if conjugate_rhs else right, -1)
            return squeeze(tridiagonal_solve_op(rows, right, partial_pivoting, perturb_singular), [-1])
        if transpose_rhs:
            right = matrix_transpose(right, conjugate=conjugate_rhs)
        elif conjugate_rhs:
            right = conj(right)
        return tridiagonal_solve_op(rows, right, partial_pivoting, perturb_singular)


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Multiplies tridiagonal matrices, in compact, sequence or matrix format, by others.

    Args:
        rhs: The matrices to multiply by.
    """
    with name_scope(name, "tridiagonal_matmul", [diagonals, rhs]):
        if diagonals_format == "compact":
            rows = unstack(convert_to_tensor(diagonals, name="diagonals"), num=3, axis=-2)
        elif diagonals_format == "sequence":
            rows = [convert_to_tensor(diagonal, name="diagonals") for diagonal in diagonals]
        else:
            rows = unstack(compact_diagonals(diagonals, diagonals_format), num=3, axis=-2)
        above, main, below = (expand_dims(diagonal, -2) for diagonal in rows)
        return tridiagonal_matmul_op(above, main, below, convert_to_tensor(rhs, dtype=main.dtype, name="rhs"))


def compact_diagonals(diagonals: TensorLike, layout: str) -> Tensor:
    """Returns the upper, main and lower diagonals as rows of equal length."""
    if layout == "compact":
        rows = convert_to_tensor(diagonals, name="diagonals")
        dims = rows.dims
        if dims is not None and (len(dims) < 2 or dims[-2] not in (3, None)):
            raise ValueError(f"diagonals has shape {rows.get_shape()}, expected [..., 3, n]")
        return rows
    if layout == "sequence":
        if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
            raise ValueError("diagonals is not a list of three tensors, which diagonals_format='sequence' requires")
        above, main, below = (convert_to_tensor(diagonal, name="diagonals") for diagonal in diagonals)
        return stack([_extended(above, main, end=True), main, _extended(below, main, end=False)], axis=-2)
    if layout == "matrix":
        matrix = convert_to_tensor(diagonals, name="diagonals")
        dims = matrix.dims
        if dims is not None and (len(dims) < 2 or (None not in dims[-2:] and dims[-2] != dims[-1])):
            raise ValueError("Expected `diagonals` to be square matrices.")
        if dims is not None and dims[-1] in (0, 1):  # such matrices have no off-diagonals
            main = matrix_diag_part(matrix)
            empty = main * 0
            return stack([empty, main, empty], axis=-2)
        return matrix_diag_part_v3_op(matrix, (-1, 1), 0, align="LEFT_RIGHT")
    raise ValueError(f"Unrecognized diagonals_format: {layout}")


def _extended(diagonal: Tensor, main: Tensor, end: bool) -> Tensor:
    """Pads an off-diagonal to the length of the main one; the added element is not read."""
    is_ranked = diagonal.dims is not None and main.dims is not None
    if is_ranked and diagonal.dims[-1] == main.dims[-1]:  # type: ignore[index]
        return diagonal
    missing = shape(main)[-1] - shape(diagonal)[-1]
    filler = zeros(concat([shape(diagonal)[:-1], [missing]], 0), diagonal.dtype)
    return concat([diagonal, filler] if end else [filler, diagonal], -1)
