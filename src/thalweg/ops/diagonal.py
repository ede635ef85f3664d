"""Diagonals and bands of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg import dtypes
from thalweg.graph import attr
from thalweg.graph.convert import convert_to_tensor
from thalweg.graph.infer import Inference
from thalweg.graph.op_def import op
from thalweg.graph.scopes import name_scope
from thalweg.graph.tensor import Tensor
from thalweg.ops.joining import concat
from thalweg.ops.shape_functions import at_least_rank, require
from thalweg.ops.shaping import ones, zeros
from thalweg.shapes import Shape, merge, show

_NUMBERS = (dtypes.FLOATING | dtypes.COMPLEX) | dtypes.INDEX


def _shorter(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


def _matrix_diag(c: Inference) -> Sequence[Shape]:
    diagonal = at_least_rank(c, 0, 1)
    return [None if diagonal is None else (*diagonal, diagonal[-1])]


def _matrix_diag_part(c: Inference) -> Sequence[Shape]:
    source = at_least_rank(c, 0, 2)
    return [None if source is None else (*source[:-2], _shorter(source[-2], source[-1]))]


def _matrix_set_diag(c: Inference) -> Sequence[Shape]:
    source, diagonal = at_least_rank(c, 0, 2), at_least_rank(c, 1, 1)
    if source is None or diagonal is None:
        return [source]
    merge((*source[:-2], _shorter(source[-2], source[-1])), diagonal)
    return [source]


def _diag(c: Inference) -> Sequence[Shape]:
    diagonal = at_least_rank(c, 0, 1)
    return [None if diagonal is None else diagonal + diagonal]


def _diag_part(c: Inference) -> Sequence[Shape]:
    source = c.shapes[0]
    if source is None:
        return [None]
    half = len(source) // 2
    require(len(source) > 0 and len(source) % 2 == 0, f"input has rank {len(source)}", expected="an even rank")
    result = merge(source[:half], source[half:])
    return [result]


def _band(c: Inference) -> Sequence[Shape]:
    source = at_least_rank(c, 0, 2)
    for index, axis in ((1, -2), (2, -1)):
        require(c.shapes[index] in ((), None), f"the width of a band must be a scalar, got {show(c.shapes[index])}")
        width, size = c.value(index), None if source is None else source[axis]
        require(
            width is None or size is None or int(width) <= size,
            f"{c.definition.inputs[index].name} is {width}",
            expected=f"at most {size}, negative for all",
        )
    return [source]


matrix_diag_op = op("MatrixDiag", "diagonal: T -> output: T", T=attr.types(), infer=_matrix_diag)
matrix_diag_part_op = op("MatrixDiagPart", "input: T -> diagonal: T", T=attr.types(), infer=_matrix_diag_part)
matrix_set_diag_op = op("MatrixSetDiag", "input: T, diagonal: T -> output: T", T=attr.types(), infer=_matrix_set_diag)
diag = op(
    "Diag", "diagonal: T -> output: T", T=_NUMBERS, infer=_diag, doc="A tensor with a diagonal, of twice its rank."
)
diag_part = op("DiagPart", "input: T -> diagonal: T", T=_NUMBERS, infer=_diag_part, doc="The diagonal of a tensor.")
matrix_band_part = op(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    T=attr.types(),
    Tindex=attr.types(dtypes.INDEX, dtypes.int64),
    host="num_lower, num_upper",
    infer=_band,
    doc="Matrices with everything outside a band around the diagonal set to zero.",
)


def matrix_diag(diagonal: Any, name: str = "diag") -> Tensor:
    """Returns matrices with the given diagonals and zeros elsewhere."""
    return matrix_diag_op(diagonal, name=name)


def matrix_diag_part(input: Any, name: str = "diag_part") -> Tensor:
    """Returns the diagonals of matrices."""
    return matrix_diag_part_op(input, name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag") -> Tensor:
    """Returns matrices with their diagonals replaced."""
    return matrix_set_diag_op(input, diagonal, name=name)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns identity matrices."""
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]) as scope:
        columns = num_rows if num_columns is None else num_columns
        batch: Any = convert_to_tensor([] if batch_shape is None else batch_shape, dtypes.int32, name="shape")
        rows, columns = (convert_to_tensor(n, dtypes.int32) for n in (num_rows, columns))
        if rows is columns or num_columns is None:
            return matrix_diag_op(ones(concat([batch, [rows]], 0), dtype), name=scope)
        from thalweg.ops.math import minimum

        diagonal = ones(concat([batch, [minimum(rows, columns)]], 0), dtype)
        return matrix_set_diag_op(zeros(concat([batch, [rows, columns]], 0), dtype), diagonal, name=scope)
