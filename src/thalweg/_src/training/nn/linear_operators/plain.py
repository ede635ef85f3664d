"""Basic linear operators: full matrix, lower triangular, diagonal, identity, scaled identity, zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import invalid
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.diagonal import eye, matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from thalweg._src.graph.ops.linalg import matrix_triangular_solve
from thalweg._src.graph.ops.math import abs as abs_of, add, conj, divide, log, multiply, pow, real, sqrt
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.pad_tile import broadcast_to
from thalweg._src.graph.ops.reduction import reduce_prod, reduce_sum
from thalweg._src.graph.ops.reshape import constant_value, expand_dims, matrix_transpose, ones, shape as shape_of, zeros
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.linear_operators.base import DiagonalizedOperator, LinearOperator, assert_nonzero, hinted

_TYPES = dtypes.FLOATING | dtypes.COMPLEX


def elements(value: TensorLike, name: str, rank: int) -> Tensor:
    tensor = convert_to_tensor(value, name=name)
    if tensor.dtype.base_dtype not in _TYPES:
        raise TypeError(f"Argument {name} must have floating or complex elements, got {tensor.dtype.name}.")
    if tensor.dims is not None and len(tensor.dims) < rank:
        raise ValueError(f"Argument {name} must have at least {rank} dimensions, got {len(tensor.dims)}.")
    return tensor


def _transposed(x: Tensor, adjoint_arg: bool) -> Tensor:
    return matrix_transpose(x, conjugate=True) if adjoint_arg else x


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A dense matrix.

    Args:
        matrix: The matrix; it may have batch dimensions.
    """

    matrix = ReadOnly[Tensor]("The matrix.")

    @hinted(name="LinearOperatorFullMatrix")
    def __init__(self, matrix: TensorLike, **hints: Any) -> None:
        self._matrix = elements(matrix, "matrix", 2)
        super().__init__(self._matrix.dtype, [self._matrix], **hints)

    def _shape(self) -> Shape:
        return self._matrix.dims

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._matrix)

    def _to_dense(self) -> Tensor:
        return self._matrix


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """A lower triangular matrix."""

    tril = ReadOnly[Tensor]("The lower triangular matrix.")

    @hinted(name="LinearOperatorLowerTriangular")
    def __init__(self, tril: TensorLike, **hints: Any) -> None:
        if hints["is_square"] is False:
            raise ValueError("is_square=False: a lower triangular operator must be square.")
        self._tril = matrix_band_part(elements(tril, "tril", 2), -1, 0)
        super().__init__(self._tril.dtype, [self._tril], **{**hints, "is_square": True})

    def _shape(self) -> Shape:
        return self._tril.dims

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._tril)

    def _to_dense(self) -> Tensor:
        return self._tril

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matrix_triangular_solve(self._tril, _transposed(rhs, adjoint_arg), lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag_part(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(abs_of(self._diag_part())), axis=[-1])

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _assert_non_singular(self) -> Any:
        return assert_nonzero(self._diag_part())


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(DiagonalizedOperator):
    """A diagonal matrix.

    Args:
        diag: The diagonal.
    """

    diag = ReadOnly[Tensor]("The diagonal.")

    @hinted(name="LinearOperatorDiag")
    def __init__(self, diag: TensorLike, **hints: Any) -> None:
        self._diag = elements(diag, "diag", 1)
        if hints["is_square"] is False:
            raise ValueError("is_square=False: a diagonal operator must be square.")
        if hints["is_self_adjoint"] is False and not self._diag.dtype.is_complex:
            raise ValueError("is_self_adjoint=False: a diagonal of real numbers equals its adjoint.")
        hints["is_square"] = True
        if not self._diag.dtype.is_complex:
            hints["is_self_adjoint"] = True
        super().__init__(self._diag.dtype, [self._diag], **hints)

    def _shape(self) -> Shape:
        dims = self._diag.dims
        return None if dims is None else (*dims, dims[-1])

    def _shape_tensor(self) -> Tensor:
        dims = shape_of(self._diag)
        return concat([dims, dims[-1:]], 0)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _factors(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return multiply(self._factors(adjoint), _transposed(x, adjoint_arg))

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return divide(_transposed(rhs, adjoint_arg), self._factors(adjoint))

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(abs_of(self._diag)), axis=[-1])

    def _diag_part(self) -> Tensor:
        return self._diag

    _eigvals = _diagonalized = _diag_part

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, add(matrix_diag_part(x), self._diag))

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(conj(self._diag), self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorDiag(divide(1, self._diag), True, self.is_self_adjoint, self.is_positive_definite)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(sqrt(self._diag), True, self.is_self_adjoint, self.is_positive_definite)


class _Sized(LinearOperator):
    """The base class of operators that are defined by their sizes."""

    def _keep_sizes(self, rows: TensorLike | None, columns: TensorLike | None, batch_shape: Any) -> None:
        self._rows = _size(rows, "num_rows")
        self._columns = self._rows if columns is None else _size(columns, "num_columns")
        empty = np.zeros(0, np.int32)
        self._batch = convert_to_tensor(empty if batch_shape is None else batch_shape, dtypes.int32, name="batch_shape")

    def _shape(self) -> Shape:
        batch = as_static_shape(self._batch)
        sizes = [constant_value(n) for n in (self._rows, self._columns)]
        return None if batch is None else (*batch, *(None if n is None else int(n) for n in sizes))

    def _shape_tensor(self) -> Tensor:
        return concat([self._batch, [self._rows, self._columns]], 0)

    def _with_batch(self, x: Tensor) -> Tensor:
        """Returns a matrix broadcast to the batch shape of the operator."""
        batch = as_static_shape(self._batch)
        return x if batch == () else add(x, zeros(concat([self._batch, [1, 1]], 0), x.dtype))


def _size(value: TensorLike | None, name: str) -> Tensor:
    tensor = convert_to_tensor(value, dtypes.int32, name=name)
    static_value = constant_value(tensor)
    if tensor.dims not in ((), None) or (static_value is not None and static_value < 0):
        raise ValueError(f"Argument {name} must be one number, not negative; got {value!r}.")
    return tensor


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(_Sized):
    """The identity matrix."""

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: ShapeLike | TensorLike = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        if False in (is_non_singular, is_self_adjoint, is_positive_definite, is_square):
            raise ValueError(
                "A hint is False that holds for every identity: it is square, self-adjoint and positive definite."
            )
        self._keep_sizes(num_rows, None, batch_shape)
        super().__init__(dtype or dtypes.float32, [], True, True, True, True, name)

    def _to_dense(self) -> Tensor:
        return eye(self._rows, batch_shape=self._batch, dtype=self.dtype)

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._with_batch(_transposed(x, adjoint_arg))

    _solve = _matmul

    def _diag_part(self) -> Tensor:
        return ones(self.shape_tensor()[:-1], self.dtype)

    _eigvals = _diag_part

    def _determinant(self) -> Tensor:
        return ones(self._batch, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch, self.dtype.real_dtype)

    def _cond(self) -> Tensor:
        return ones(self._batch, self.dtype)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, add(matrix_diag_part(x), cast(1, self.dtype)))

    def _inverse(self) -> LinearOperator:
        return self

    _cholesky = _inverse

    def _assert_non_singular(self) -> Any:
        return no_op()

    _assert_positive_definite = _assert_self_adjoint = _assert_non_singular


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(DiagonalizedOperator, _Sized):
    """A multiple of the identity matrix.

    Args:
        multiplier: Factor of the identity; it may have batch dimensions.
    """

    multiplier = ReadOnly[Tensor]("The factor of the identity.")

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._multiplier = elements(multiplier, "multiplier", 0)
        if is_square is False:
            raise ValueError("is_square=False: a scaled identity must be square.")
        self._keep_sizes(num_rows, None, shape_of(self._multiplier))
        is_self_adjoint = is_self_adjoint if self._multiplier.dtype.is_complex else True
        super().__init__(
            self._multiplier.dtype,
            [self._multiplier],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    def _factor(self, adjoint: bool = False) -> Tensor:
        return expand_dims(expand_dims(conj(self._multiplier) if adjoint else self._multiplier, -1), -1)

    def _to_dense(self) -> Tensor:
        return multiply(self._factor(), eye(self._rows, dtype=self.dtype))

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return multiply(_transposed(x, adjoint_arg), self._factor(adjoint))

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return divide(_transposed(rhs, adjoint_arg), self._factor(adjoint))

    def _diag_part(self) -> Tensor:
        return broadcast_to(expand_dims(self._multiplier, -1), self.shape_tensor()[:-1])

    _eigvals = _diag_part

    def _determinant(self) -> Tensor:
        return pow(self._multiplier, cast(self._rows, self.dtype))

    def _log_abs_determinant(self) -> Tensor:
        return multiply(log(abs_of(self._multiplier)), cast(self._rows, self.dtype.real_dtype))

    def _trace(self) -> Tensor:
        return multiply(self._multiplier, cast(self._rows, self.dtype))

    def _cond(self) -> Tensor:
        return ones(self._batch, self.dtype)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, add(matrix_diag_part(x), expand_dims(self._multiplier, -1)))

    def _diagonalized(self) -> Tensor:
        return self._multiplier

    def _scaled(self, multiplier: Tensor) -> LinearOperator:
        hints = self.is_non_singular, self.is_self_adjoint, self.is_positive_definite
        return LinearOperatorScaledIdentity(self._rows, multiplier, *hints)

    def _adjoint(self) -> LinearOperator:
        return self._scaled(conj(self._multiplier))

    def _inverse(self) -> LinearOperator:
        return self._scaled(divide(1, self._multiplier))

    def _cholesky(self) -> LinearOperator:
        return self._scaled(sqrt(self._multiplier))


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(_Sized):
    """The zero matrix."""

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: ShapeLike | TensorLike = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular or is_positive_definite:
            raise ValueError("is_non_singular or is_positive_definite: zeros have no inverse.")
        if is_square is False or (num_columns is not None and num_columns is not num_rows):
            is_self_adjoint = is_square = None
        self._keep_sizes(num_rows, num_columns, batch_shape)
        super().__init__(dtype or dtypes.float32, [], False, is_self_adjoint, False, is_square, name)

    def _to_dense(self) -> Tensor:
        return zeros(self.shape_tensor(), self.dtype)

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    _eigvals = _diag_part

    def _determinant(self) -> Tensor:
        return zeros(self._batch, self.dtype)

    def _trace(self) -> Tensor:
        return zeros(self._batch, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return log(real(self._determinant()))

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._with_batch(x)

    def _assert_non_singular(self) -> Any:
        raise invalid("The operator is singular: all of it is zero.")

    def _assert_positive_definite(self) -> Any:
        raise invalid("The operator is not positive definite: all of it is zero.")

    def _assert_self_adjoint(self) -> Any:
        return no_op()


LinearOperator._lower_triangular_of = LinearOperatorLowerTriangular
