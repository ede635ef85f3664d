"""Diagonals and band matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import minimum
from thalweg._src.graph.ops.reshape import ones, zeros
from thalweg._src.graph.ops.shape_functions import at_least_rank, require
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

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


def band_limits(k: Any) -> tuple[int, int]:
    """Returns the lowest and the highest diagonal that k, one integer or two, selects."""
    values = [int(element) for element in k.reshape(-1)]
    require(k.ndim <= 1 and len(values) in (1, 2), f"k has shape {show(k.shape)}", expected="an integer, or a pair")
    require(values[0] <= values[-1], f"k is {values}", expected="a lower diagonal, then an upper one")
    return values[0], values[-1]


def matrix_sizes(rows: int, columns: int, lower: int, upper: int, longest: int) -> tuple[int, int]:
    """Returns the size of a matrix with these diagonals; -1 means the smallest size that holds them."""
    least_rows, least_columns = longest - min(upper, 0), longest + max(lower, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    require(rows >= least_rows, f"num_rows is {rows}", expected=f"at least {least_rows} for the diagonals")
    require(columns >= least_columns, f"num_cols is {columns}", expected=f"at least {least_columns} for the diagonals")
    require(
        rows == least_rows or columns == least_columns,
        f"the size {rows} by {columns} does not fit the diagonals",
        expected=f"{least_rows} rows or {least_columns} columns",
    )
    return rows, columns


def longest_diagonal(rows: int, columns: int, lower: int, upper: int) -> int:
    """Returns the length of the longest diagonal of a band, which must lie in the matrix."""
    for k in (lower, upper):
        require(
            k == 0 or -rows < k < columns,
            f"k is {k}",
            expected=f"a diagonal between {1 - rows} and {columns - 1} of a {rows} by {columns} matrix",
        )
    return min(rows + min(upper, 0), columns - max(lower, 0))


def _limits(c: Inference, index: int) -> tuple[int, int] | None:
    shape = c.shapes[index]
    require(shape is None or len(shape) <= 1, f"k has shape {show(shape)}", expected="an integer, or a pair")
    require(not shape or shape[0] in (1, 2, None), f"k has shape {show(shape)}", expected="an integer, or a pair")
    k = c.value(index)
    return None if k is None else band_limits(k)


def _require_scalar(c: Inference, *indices: int) -> None:
    for index in indices:
        name = c.definition.inputs[index].name
        require(c.shapes[index] in ((), None), f"{name} has shape {show(c.shapes[index])}", expected=f"a scalar {name}")


def _matrix_diag_v2(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 2, 3, 4)
    diagonal, limits = at_least_rank(c, 0, 1), _limits(c, 1)
    if diagonal is None or limits is None:
        return [None]
    lower, upper = limits
    longest, batch = diagonal[-1], diagonal[:-1]
    if lower != upper:
        require(len(diagonal) > 1, f"diagonal has shape {show(diagonal)}", expected="a row for each diagonal")
        count, batch = diagonal[-2], diagonal[:-2]
        require(count in (None, upper - lower + 1), f"{count} diagonals", expected=f"{upper - lower + 1} for k")
    rows, columns = c.value(2), c.value(3)
    if longest is None or rows is None or columns is None:
        return [(*batch, None, None)]
    return [(*batch, *matrix_sizes(int(rows), int(columns), lower, upper, longest))]


def _band_shape(source: Shape, limits: tuple[int, int] | None) -> Shape:
    """Returns the shape of the diagonals of matrices."""
    if source is None or limits is None:
        return None
    *batch, rows, columns = source
    lower, upper = limits
    longest = None if rows is None or columns is None else longest_diagonal(rows, columns, lower, upper)
    return (*batch, longest) if lower == upper else (*batch, upper - lower + 1, longest)


def _matrix_diag_part_v2(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 2)
    return [_band_shape(at_least_rank(c, 0, 2), _limits(c, 1))]


def _matrix_set_diag_v2(c: Inference) -> Sequence[Shape]:
    source, diagonal = at_least_rank(c, 0, 2), at_least_rank(c, 1, 1)
    if source is not None and diagonal is not None:
        fits = len(source) - 1 <= len(diagonal) <= len(source)
        require(fits, f"diagonal has shape {show(diagonal)}", expected=f"rank {len(source) - 1} or {len(source)}")
    merge(_band_shape(source, _limits(c, 2)), diagonal)
    return [source]


matrix_diag_op = op(
    "MatrixDiag",
    "diagonal: T -> output: T",
    T=attr.types(),
    infer=_matrix_diag,
    doc="Returns matrices with given main diagonals and zeros elsewhere.",
)
matrix_diag_part_op = op(
    "MatrixDiagPart",
    "input: T -> diagonal: T",
    T=attr.types(),
    infer=_matrix_diag_part,
    doc="Returns the main diagonals of matrices.",
)
matrix_set_diag_op = op(
    "MatrixSetDiag",
    "input: T, diagonal: T -> output: T",
    T=attr.types(),
    infer=_matrix_set_diag,
    doc="Replaces the main diagonals of matrices.",
)
diag = export("diag", "linalg.tensor_diag")(
    op(
        "Diag",
        "diagonal: T -> output: T",
        T=_NUMBERS,
        infer=_diag,
        doc="Creates a tensor of twice the rank with the input on its diagonal.",
    )
)
diag_part = export("diag_part", "linalg.tensor_diag_part")(
    op("DiagPart", "input: T -> diagonal: T", T=_NUMBERS, infer=_diag_part, doc="Returns the diagonal of a tensor.")
)
matrix_band_part = export(
    "matrix_band_part",
    "linalg.band_part",
    input="The matrices.",
    num_lower="Number of diagonals kept below the main one; a negative number keeps all.",
    num_upper="Number of diagonals kept above the main one; a negative number keeps all.",
)(
    op(
        "MatrixBandPart",
        "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
        T=attr.types(),
        Tindex=attr.types(dtypes.INDEX, dtypes.int64),
        host="num_lower, num_upper",
        infer=_band,
        doc="Copies matrices, with everything outside a central band set to zero.",
    )
)


# The diagonals of a band are rows of equal length, shorter ones aligned left or right: in the `align` attribute first
# for those above the main diagonal, then for those below. The older ops align all of them left.
_ALIGN = attr.string("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT", default="RIGHT_LEFT")
_DIAG = "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T"
_DIAG_PART = "input: T, k: int32, padding_value: T -> diagonal: T"
_SET_DIAG = "input: T, diagonal: T, k: int32 -> output: T"
_DIAG_FACTS: dict[str, Any] = {"T": attr.types(), "host": "k, num_rows, num_cols", "infer": _matrix_diag_v2}
_PART_FACTS: dict[str, Any] = {"T": attr.types(), "host": "k", "infer": _matrix_diag_part_v2}
_SET_FACTS: dict[str, Any] = {"T": attr.types(), "host": "k", "infer": _matrix_set_diag_v2}
matrix_diag_v2_op = op(
    "MatrixDiagV2",
    _DIAG,
    **_DIAG_FACTS,
    doc="Returns matrices with given bands of diagonals and a padding value elsewhere.",
)
matrix_diag_v3_op = op(
    "MatrixDiagV3",
    _DIAG,
    align=_ALIGN,
    **_DIAG_FACTS,
    doc="Returns matrices with given bands of diagonals, with a choice of alignment.",
)
matrix_diag_part_v2_op = op(
    "MatrixDiagPartV2",
    _DIAG_PART,
    **_PART_FACTS,
    doc="Returns bands of diagonals of matrices.",
)
matrix_diag_part_v3_op = op(
    "MatrixDiagPartV3",
    _DIAG_PART,
    align=_ALIGN,
    **_PART_FACTS,
    doc="Returns bands of diagonals of matrices, with a choice of alignment.",
)
matrix_set_diag_v2_op = op(
    "MatrixSetDiagV2",
    _SET_DIAG,
    **_SET_FACTS,
    doc="Replaces bands of diagonals of matrices.",
)
matrix_set_diag_v3_op = op(
    "MatrixSetDiagV3",
    _SET_DIAG,
    align=_ALIGN,
    **_SET_FACTS,
    doc="Replaces bands of diagonals of matrices, with a choice of alignment.",
)


def _is_plain(value: object, plain: int) -> bool:
    """Returns whether an argument has its default value."""
    return isinstance(value, int | float) and value == plain


@export("matrix_diag", "linalg.diag")
def matrix_diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Creates matrices with the given diagonals and a padding value elsewhere; k is one diagonal or a band.

    Args:
        k: The diagonal, 0 for the main one and positive above it, or the first and last of a band.
        num_rows: Number of rows; by default as many as the diagonals need.
        num_cols: Number of columns; by default as many as the diagonals need.
    """
    if all(map(_is_plain, (k, num_rows, num_cols, padding_value), (0, -1, -1, 0))):
        return matrix_diag_op(diagonal, name=name)
    diagonal = convert_to_tensor(diagonal, name="diagonal")
    padding = _padding(padding_value, diagonal.dtype)
    return matrix_diag_v3_op(diagonal, k, num_rows, num_cols, padding, align=align, name=name)


@export("matrix_diag_part", "linalg.diag_part")
def matrix_diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Returns diagonals of matrices; k is one diagonal or a band, whose shorter diagonals are padded.

    Args:
        input: The matrices.
        k: The diagonal, 0 for the main one and positive above it, or the first and last of a band.
    """
    if _is_plain(k, 0):
        return matrix_diag_part_op(input, name=name)
    input = convert_to_tensor(input, name="input")
    return matrix_diag_part_v3_op(input, k, _padding(padding_value, input.dtype), align=align, name=name)


@export("matrix_set_diag", "linalg.set_diag")
def matrix_set_diag(
    input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k: TensorLike = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Returns matrices with diagonals replaced; k is one diagonal or a band.

    Args:
        input: The matrices.
        k: The diagonal, 0 for the main one and positive above it, or the first and last of a band.
    """
    if _is_plain(k, 0):
        return matrix_set_diag_op(input, diagonal, name=name)
    return matrix_set_diag_v3_op(input, diagonal, k, align=align, name=name)


def _padding(value: Any, dtype: dtypes.DType) -> Any:
    """Returns the padding value, the default also for False."""
    return bool(value) if dtype.is_bool and not isinstance(value, Tensor) else value


@export("eye", "linalg.eye")
def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: ShapeLike | TensorLike = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns identity matrices."""
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]) as scope:
        columns = num_rows if num_columns is None else num_columns
        batch: Any = convert_to_tensor([] if batch_shape is None else batch_shape, dtypes.int32, name="shape")
        rows, columns = (convert_to_tensor(n, dtypes.int32) for n in (num_rows, columns))
        if rows is columns or num_columns is None:
            return matrix_diag_op(ones(concat([batch, [rows]], 0), dtype), name=scope)
        diagonal = ones(concat([batch, [minimum(rows, columns)]], 0), dtype)
        return matrix_set_diag_op(zeros(concat([batch, [rows, columns]], 0), dtype), diagonal, name=scope)
