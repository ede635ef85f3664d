"""Structured linear operators: low-rank update, Householder, permutation, Toeplitz, tridiagonal."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import invalid, require_kind
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, broadcast
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.diagonal import matrix_diag, matrix_set_diag
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.linalg import matrix_determinant, matrix_solve, slogdet
from thalweg._src.graph.ops.math import abs as abs_of, add, conj, divide, multiply, real, sqrt, square, subtract
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, matrix_transpose, ones, shape as shape_of, zeros
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.tridiagonal import compact_diagonals, tridiagonal_matmul, tridiagonal_solve
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.linear_operators.base import LinearOperator, common_batch, hinted, same_batches
from thalweg._src.training.nn.linear_operators.plain import LinearOperatorDiag, LinearOperatorIdentity, elements


def _turned(x: Tensor, adjoint_arg: bool) -> Tensor:
    return matrix_transpose(x, conjugate=True) if adjoint_arg else x


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """The low-rank update L + U @ D @ adjoint(V) of an operator L, solved by the Woodbury identity.

    Args:
        base_operator: The operator L that is updated.
        u: The matrix U.
        diag_update: Diagonal of D; ones by default.
        v: The matrix V; U by default.
        is_diag_update_positive: Whether all entries of `diag_update` are known to be positive.
    """

    base_operator = ReadOnly[LinearOperator]("The operator L.", "_base")
    u = ReadOnly[Tensor]("The matrix U.")
    v = ReadOnly[Tensor]("The matrix V.")
    diag_operator = ReadOnly[LinearOperator]("The operator D.", "_diag")
    is_diag_update_positive = ReadOnly[bool | None]("The hint whether D is positive.")

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        require_kind("base_operator", base_operator, LinearOperator, "a linear operator")
        self._base = base_operator
        self._u = convert_to_tensor(u, dtype=base_operator.dtype, name="u")
        self._v = self._u if v is None else convert_to_tensor(v, dtype=base_operator.dtype, name="v")
        _require_sizes(base_operator, self._u, self._v)
        positive = True if diag_update is None else is_diag_update_positive
        self._is_diag_update_positive = positive
        self._diag: LinearOperator
        if diag_update is None:
            self._diag = LinearOperatorIdentity(shape_of(self._u)[-1], dtype=base_operator.dtype)
        else:
            diagonal = convert_to_tensor(diag_update, dtype=base_operator.dtype, name="diag_update")
            if diagonal.dims is not None:
                self._u.shape[-1:].assert_is_compatible_with(diagonal.dims[-1:])
            self._diag = LinearOperatorDiag(diagonal, is_positive_definite=positive)
        if v is None and base_operator.is_self_adjoint and is_self_adjoint is None:
            is_self_adjoint = True if diag_update is None or not base_operator.dtype.is_complex else None
        if v is None and base_operator.is_positive_definite and positive and is_positive_definite is None:
            is_positive_definite = True
        parents = [*base_operator.graph_parents, self._u, self._v]
        super().__init__(
            base_operator.dtype, parents, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of D, or None for the identity."""
        return self._diag.diag if isinstance(self._diag, LinearOperatorDiag) else None

    def _shape(self) -> Shape:
        base, u, v = self._base._shape(), self._u.dims, self._v.dims
        if base is None or u is None or v is None:
            return None
        batch: Any = broadcast(broadcast(base[:-2], u[:-2]), v[:-2])
        return (*batch, *base[-2:])

    def _shape_tensor(self) -> Tensor:
        base = self._base.shape_tensor()
        return concat([common_batch(base[:-2], shape_of(self._u)[:-2], shape_of(self._v)[:-2]), base[-2:]], 0)

    def _sides(self, adjoint: bool) -> tuple[Tensor, Tensor]:
        return (self._v, self._u) if adjoint else (self._u, self._v)

    def _to_dense(self) -> Tensor:
        return add(matmul(self._u, self._diag.matmul(matrix_transpose(self._v, conjugate=True))), self._base.to_dense())

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = self._sides(adjoint)
        x = _turned(x, adjoint_arg)
        inner = self._diag.matmul(matmul(right, x, adjoint_a=True), adjoint=adjoint)
        return add(self._base.matmul(x, adjoint=adjoint), matmul(left, inner))

    def _capacitance(self, solved: Tensor, right: Tensor, adjoint: bool) -> Tensor:
        inverse = self._diag.inverse().to_dense()
        inverse = matrix_transpose(inverse, conjugate=True) if adjoint else inverse
        return add(inverse, matmul(right, solved, adjoint_a=True))

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = self._sides(adjoint)
        plain = self._base.solve(_turned(rhs, adjoint_arg), adjoint=adjoint)
        solved = self._base.solve(left, adjoint=adjoint)
        small, rest = same_batches(self._capacitance(solved, right, adjoint), matmul(right, plain, adjoint_a=True))
        return subtract(plain, matmul(solved, matrix_solve(small, rest)))

    def _determinant(self) -> Tensor:
        small = self._capacitance(self._base.solve(self._u), self._v, False)
        return multiply(multiply(matrix_determinant(small), self._diag.determinant()), self._base.determinant())

    def _log_abs_determinant(self) -> Tensor:
        small = self._capacitance(self._base.solve(self._u), self._v, False)
        update_terms = add(real(slogdet(small)[1]), self._diag.log_abs_determinant())
        return add(update_terms, self._base.log_abs_determinant())


def _require_sizes(base: LinearOperator, u: Tensor, v: Tensor) -> None:
    """Raises ValueError if U and V are known to be of a size that the base operator does not have."""
    for side, rows in ((u, base.range_dimension), (v, base.domain_dimension)):
        side.shape.with_rank_at_least(2)
        if side.dims is not None:
            rows.assert_is_compatible_with(side.shape[-2])
    if u.dims is not None and v.dims is not None:
        u.shape[-1].assert_is_compatible_with(v.shape[-1])


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """The reflection about the hyperplane orthogonal to a vector."""

    reflection_axis = ReadOnly[Tensor]("The vector orthogonal to the hyperplane.", "_axis")

    @hinted(name="LinearOperatorHouseholder")
    def __init__(self, reflection_axis: TensorLike, **hints: Any) -> None:
        always = hints["is_square"], hints["is_self_adjoint"], hints["is_non_singular"]
        if False in always or hints["is_positive_definite"]:
            raise ValueError("A reflection is always square, self-adjoint, non-singular and not positive definite.")
        self._axis = elements(reflection_axis, "reflection_axis", 1)
        super().__init__(self._axis.dtype, [self._axis], True, True, False, True, hints["name"])

    def _shape(self) -> Shape:
        dims = self._axis.dims
        return None if dims is None else (*dims, dims[-1])

    def _shape_tensor(self) -> Tensor:
        dims = shape_of(self._axis)
        return concat([dims, dims[-1:]], 0)

    def _unit(self) -> Tensor:
        length = sqrt(reduce_sum(square(abs_of(self._axis)), axis=-1, keepdims=True))
        return divide(self._axis, cast(length, self.dtype))

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x, unit = _turned(x, adjoint_arg), expand_dims(self._unit(), -1)
        return subtract(x, multiply(2, matmul(unit, matmul(unit, x, adjoint_a=True))))

    _solve = _matmul

    def _to_dense(self) -> Tensor:
        unit = expand_dims(self._unit(), -1)
        outer = multiply(-2, matmul(unit, unit, adjoint_b=True))
        return matrix_set_diag(outer, self._diag_part())

    def _diag_part(self) -> Tensor:
        unit = self._unit()
        return subtract(cast(1, self.dtype), multiply(2, multiply(unit, conj(unit))))

    def _determinant(self) -> Tensor:
        return -ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype.real_dtype)

    def _cond(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)

    def _inverse(self) -> LinearOperator:
        return self

    def _assert_non_singular(self) -> Any:
        return no_op()

    _assert_self_adjoint = _assert_non_singular

    def _assert_positive_definite(self) -> Any:
        raise invalid("The operator is not positive definite: it is a reflection.")


@export("linalg.LinearOperatorPermutation")
class LinearOperatorPermutation(LinearOperator):
    """A permutation matrix, with a one in each row i in column perm[i].

    Args:
        perm: The permutation.
    """

    perm = ReadOnly[Tensor]("The permutation.")

    @hinted(name="LinearOperatorPermutation")
    def __init__(self, perm: TensorLike, dtype: DTypeLike = dtypes.float32, **hints: Any) -> None:
        if False in (hints["is_non_singular"], hints["is_square"]):
            raise ValueError("A hint is False that holds for every permutation: it is square and non-singular.")
        self._perm = convert_to_tensor(perm, name="perm")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"perm must hold integers, got {self._perm.dtype.name}.")
        super().__init__(dtype, [self._perm], **{**hints, "is_non_singular": True, "is_square": True})

    def _shape(self) -> Shape:
        dims = self._perm.dims
        return None if dims is None else (*dims, dims[-1])

    def _shape_tensor(self) -> Tensor:
        dims = shape_of(self._perm)
        return concat([dims, dims[-1:]], 0)

    def _to_dense(self) -> Tensor:
        return one_hot(self._perm, shape_of(self._perm)[-1], dtype=self.dtype)

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype.real_dtype)

    def _cond(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """A Toeplitz matrix, defined by its first column and row.

    Args:
        col: The first column.
        row: The first row.
    """

    col = ReadOnly[Tensor]("The first column.")
    row = ReadOnly[Tensor]("The first row.")

    @hinted(name="LinearOperatorToeplitz")
    def __init__(self, col: TensorLike, row: TensorLike, **hints: Any) -> None:
        if hints["is_square"] is False:
            raise ValueError("Only square Toeplitz operators are supported.")
        self._col, self._row = elements(col, "col", 1), elements(row, "row", 1)
        super().__init__(self._row.dtype, [self._col, self._row], **{**hints, "is_square": True})

    def _shape(self) -> Shape:
        batch: Any = broadcast(self._col.dims, self._row.dims)
        return None if batch is None else (*batch, batch[-1])

    def _shape_tensor(self) -> Tensor:
        dims = common_batch(shape_of(self._col), shape_of(self._row))
        return concat([dims, dims[-1:]], 0)

    def _to_dense(self) -> Tensor:
        count = shape_of(self._row)[-1]
        batch = common_batch(shape_of(self._col)[:-1], shape_of(self._row)[:-1])
        column, row = (add(x, zeros(concat([batch, [1]], 0), x.dtype)) for x in (self._col, self._row))
        # All diagonals from the lowest to the highest, then those that each row of the matrix contains.
        diagonals = concat([column[..., ::-1], row[..., 1:]], -1)
        positions = range_of(count)
        return gather(diagonals, positions[None, :] - positions[:, None] + count - 1, axis=-1)


@export("linalg.LinearOperatorTridiag")
class LinearOperatorTridiag(LinearOperator):
    """A tridiagonal matrix.

    Args:
        is_square: Accepted for compatibility; it is always square.
    """

    diagonals = ReadOnly[Any]("The diagonals.")
    diagonals_format = ReadOnly[str]("The format of the diagonals.", "_format")

    @hinted(name="LinearOperatorTridiag")
    def __init__(self, diagonals: TensorLike, diagonals_format: str = "compact", **hints: Any) -> None:
        self._format = diagonals_format
        self._diagonals = diagonals
        self._rows = compact_diagonals(diagonals, diagonals_format)
        super().__init__(self._rows.dtype, [self._rows], **{**hints, "is_square": True})

    def _shape(self) -> Shape:
        dims = self._rows.dims
        return None if dims is None else (*dims[:-2], dims[-1], dims[-1])

    def _shape_tensor(self) -> Tensor:
        dims = shape_of(self._rows)
        return concat([dims[:-2], dims[-1:], dims[-1:]], 0)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._rows, k=(-1, 1), align="LEFT_RIGHT")

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if adjoint:
            return super()._matmul(x, adjoint, adjoint_arg)
        return tridiagonal_matmul(*same_batches(self._rows, _turned(x, adjoint_arg)))

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if adjoint:
            return super()._solve(rhs, adjoint, adjoint_arg)
        return tridiagonal_solve(*same_batches(self._rows, _turned(rhs, adjoint_arg)))

    def _diag_part(self) -> Tensor:
        return self._rows[..., 1, :]
