"""Matrix decompositions: Cholesky, QR, singular values, eigenvalues, LU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.math import real
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, same_dimension
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

MATRIX_TYPES = dtypes.FLOATING - {dtypes.bfloat16} | dtypes.COMPLEX
_COMPLEX_OF = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


def square_matrices(c: Inference, index: int = 0) -> Shape:
    """Returns the shape of an input of square matrices."""
    shape = at_least_rank(c, index, 2)
    if shape is None:
        return None
    name = c.definition.inputs[index].name
    size = same_dimension(shape[-2], shape[-1], f"the last two dimensions of {name}", expected="square matrices")
    return (*shape[:-2], size, size)


def unchanged_square(c: Inference) -> Sequence[Shape]:
    """Returns the shape of the first input, which must consist of square matrices."""
    return [square_matrices(c)]


def _shorter(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


def _cholesky_grad(c: Inference) -> Sequence[Shape]:
    return [merge(square_matrices(c, 0), square_matrices(c, 1))]


def _qr(c: Inference) -> Sequence[Shape]:
    shape = at_least_rank(c, 0, 2)
    if shape is None:
        return [None, None]
    *batch, rows, columns = shape
    inner = rows if c.attrs["full_matrices"] else _shorter(rows, columns)
    return [(*batch, rows, inner), (*batch, inner, columns)]


def _svd(c: Inference) -> Sequence[Shape]:
    shape = at_least_rank(c, 0, 2)
    with_vectors, full = c.attrs["compute_uv"], c.attrs["full_matrices"]
    if shape is None:
        return [None, None, None] if with_vectors else [None, (0,), (0,)]
    *batch, rows, columns = shape
    count = _shorter(rows, columns)
    if not with_vectors:
        return [(*batch, count), (0,), (0,)]
    return [(*batch, count), (*batch, rows, rows if full else count), (*batch, columns, columns if full else count)]


def _eigen(c: Inference) -> Sequence[Shape]:
    if "Tout" in c.attrs:
        expected = _COMPLEX_OF.get(c.attrs["T"], c.attrs["T"])
        require(c.attrs["Tout"] is expected, f"Tout is {c.attrs['Tout'].name}", expected=expected.name)
    shape = square_matrices(c)
    return [None if shape is None else shape[:-1], shape if c.attrs["compute_v"] else (0,)]


def _lu(c: Inference) -> Sequence[Shape]:
    shape = square_matrices(c)
    return [shape, None if shape is None else shape[:-1]]


cholesky = export("cholesky", "linalg.cholesky", input="The matrices.")(
    op(
        "Cholesky",
        "input: T -> output: T",
        T=MATRIX_TYPES,
        infer=unchanged_square,
        doc="Computes the Cholesky decomposition: the lower triangular L with L @ adjoint(L) equal to the input.",
        capturable=False,
    )
)
cholesky_grad = nondifferentiable_op(
    "CholeskyGrad",
    "l: T, grad: T -> output: T",
    "Computes the gradient of Cholesky from its output and that output's gradient.",
    T=MATRIX_TYPES - dtypes.COMPLEX,
    infer=_cholesky_grad,
)
qr = export("qr", "linalg.qr", input="The matrices.")(
    op(
        "Qr",
        "input: T -> q: T, r: T",
        full_matrices=False,
        T=MATRIX_TYPES,
        infer=_qr,
        doc="Returns (q, r): an orthonormal and an upper triangular matrix whose product is the input.",
    )
)
svd_op = op(
    "Svd",
    "input: T -> s: T, u: T, v: T",
    compute_uv=True,
    full_matrices=False,
    T=MATRIX_TYPES,
    infer=_svd,
    doc="Computes the singular value decomposition of matrices.",
)
self_adjoint_eig_op = op(
    "SelfAdjointEigV2",
    "input: T -> e: T, v: T",
    compute_v=True,
    T=MATRIX_TYPES,
    infer=_eigen,
    doc="Computes the eigenvalues and eigenvectors of self-adjoint matrices.",
    capturable=False,
)
eig_op = op(
    "Eig",
    "input: T -> e: Tout, v: Tout",
    compute_v=True,
    T=MATRIX_TYPES - {dtypes.float16},
    Tout=dtypes.COMPLEX,
    infer=_eigen,
    doc="Computes the eigenvalues and eigenvectors of square matrices.",
    capturable=False,
)
lu = export("linalg.lu", input="The matrices.", output_idx_type="Integer type of the permutation.")(
    op(
        "Lu",
        "input: T -> lu: T, p: output_idx_type",
        T=MATRIX_TYPES,
        output_idx_type=attr.types(dtypes.INDEX, dtypes.int32),
        infer=_lu,
        doc="Returns (lu, p): L below and U on and above the diagonal, and the row permutation p of the input.",
        capturable=False,
    )
)


@export("svd", "linalg.svd")
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Returns (s, u, v) with the input equal to `u @ diag(s) @ adjoint(v)`; only s without compute_uv.

    Args:
        tensor: The matrices.
        compute_uv: Whether the singular vectors are returned too.
    """
    s, u, v = svd_op.many(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)


@export("self_adjoint_eig", "linalg.eigh")
def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns ascending eigenvalues and eigenvectors of self-adjoint matrices, of which the lower triangle is read.

    Args:
        tensor: The matrices.
    """
    e, v = self_adjoint_eig_op.many(tensor, compute_v=True, name=name)
    return e, v


@export("self_adjoint_eigvals", "linalg.eigvalsh")
def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns the ascending eigenvalues of self-adjoint matrices, of which the lower triangle is read.

    Args:
        tensor: The matrices.
    """
    result: Tensor = self_adjoint_eig_op.many(tensor, compute_v=False, name=name)[0]
    return result


def _eig(tensor: TensorLike, compute_v: bool, name: str | None) -> Any:
    with name_scope(name, "Eig", [tensor]) as scope:
        matrix = convert_to_tensor(tensor, name="input")
        kind = _COMPLEX_OF.get(matrix.dtype.base_dtype, matrix.dtype.base_dtype)
        return eig_op.many(matrix, compute_v=compute_v, Tout=kind, name=scope)


@export("linalg.eig")
def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns eigenvalues, in no particular order, and normalized eigenvectors.

    Args:
        tensor: The matrices.
    """
    e, v = _eig(tensor, True, name)
    return e, v


@export("linalg.eigvals")
def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns eigenvalues, in no particular order.

    Args:
        tensor: The matrices.
    """
    result: Tensor = _eig(tensor, False, name)[0]
    return result


eigh = self_adjoint_eig
eigvalsh = self_adjoint_eigvals
