"""LinearOperator: the base class of structured matrices, or batches of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.hook import Hook
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Dimension, Shape, TensorShape, is_fully_defined
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import check
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant, no_op
from thalweg._src.graph.ops.decompositions import cholesky, self_adjoint_eigvals, svd
from thalweg._src.graph.ops.diagonal import eye, matrix_diag_part
from thalweg._src.graph.ops.linalg import (
    adjoint as adjoint_of,
    cholesky_solve,
    matrix_determinant,
    matrix_solve,
    slogdet,
)
from thalweg._src.graph.ops.math import abs as abs_of, add, exp, imag, log, real, truediv
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.pad_tile import broadcast_dynamic_shape, broadcast_to
from thalweg._src.graph.ops.reduction import reduce_max, reduce_min, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape as shape_of, size, squeeze, zeros_like
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("linalg.LinearOperator")
class LinearOperator:
    """The base class of linear operators.

    A subclass defines `_shape`, `_shape_tensor` and `_to_dense`, and other methods where it has faster ones. Hints such
    as `is_square` are True, False, or None for unknown; they are not checked.
    """

    # Subclasses, set by the modules that define them.
    _adjoint_of: ClassVar[Hook[Callable[..., LinearOperator]]]
    _inversion_of: ClassVar[Hook[Callable[..., LinearOperator]]]
    _composition_of: ClassVar[Hook[Callable[..., LinearOperator]]]
    _lower_triangular_of: ClassVar[Hook[Callable[..., LinearOperator]]]

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("is_non_singular=False contradicts is_positive_definite=True.")
            is_non_singular = True
        if is_non_singular or is_positive_definite or is_self_adjoint:
            if is_square is False:
                raise ValueError("A non-singular or self-adjoint operator is always square.")
            is_square = True
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._graph_parents = list(graph_parents or [])
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = is_square
        self._name = name or type(self).__name__
        self._parameters = parameters

    # -- what a subclass may know ------------------------------------------------------------------------------------

    def _shape(self) -> Shape:
        raise TypeError(f"{type(self).__name__} does not say what shape it has")

    def _shape_tensor(self) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say what shape it has")

    def _to_dense(self) -> Tensor:
        return self._matmul(eye(self.domain_dimension_tensor(), dtype=self.dtype))

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        if self.is_self_adjoint and self.is_positive_definite:
            return cholesky_solve(cholesky(self.to_dense()), right)
        matrix, right = same_batches(self.to_dense(), right)
        return matrix_solve(matrix, right, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        if self.is_self_adjoint and self.is_positive_definite:
            return cast(exp(self._log_abs_determinant()), self.dtype)  # type: ignore[no-any-return]
        return matrix_determinant(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self.is_self_adjoint and self.is_positive_definite:
            diagonal = real(matrix_diag_part(cholesky(self.to_dense())))
            return 2 * reduce_sum(log(diagonal), axis=[-1])
        return real(slogdet(self.to_dense())[1])

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return add(self.to_dense(), x)

    def _eigvals(self) -> Tensor:
        return self_adjoint_eigvals(self.to_dense())

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            values = abs_of(self._eigvals())
        else:
            values = svd(self.to_dense(), compute_uv=False)
        return truediv(reduce_max(values, axis=-1), reduce_min(values, axis=-1))

    def _assert_non_singular(self) -> Any:
        if self.is_self_adjoint and self.is_positive_definite:
            return self._assert_positive_definite()
        sizes = reduce_max(concat([[100], self.shape_tensor()[-2:]], 0))
        eps = np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps
        limit = 1.0 / (cast(sizes, dtypes.float64) * float(eps))
        message = "The operator is singular within the precision of its dtype."
        return check.assert_less(cast(real(self.cond()), dtypes.float64), limit, message=message)

    def _assert_positive_definite(self) -> Any:
        diagonal = real(matrix_diag_part(cholesky(self.to_dense())))
        return check.assert_positive(diagonal, message="The operator is not positive definite.")

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return check.assert_equal(dense, adjoint_of(dense), message="The operator differs from its adjoint.")

    def _adjoint(self) -> LinearOperator:
        return self._adjoint_of(self)

    def _inverse(self) -> LinearOperator:
        return self._inversion_of(self)

    def _cholesky(self) -> LinearOperator:
        return self._lower_triangular_of(cholesky(self.to_dense()), is_non_singular=True)

    # -- facts -------------------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return dict(self._parameters or {})

    dtype = ReadOnly[Any]("The element type.")
    name = ReadOnly[str]("The name of the operator.")
    graph_parents = ReadOnly[list[Any]]("The tensors that define the operator.")
    is_non_singular = ReadOnly[bool | None]("The hint whether the operator is non-singular.")
    is_self_adjoint = ReadOnly[bool | None]("The hint whether the operator is self-adjoint.")
    is_positive_definite = ReadOnly[bool | None]("The hint whether the operator is positive definite.")

    @property
    def is_square(self) -> bool | None:
        """Whether the operator is square, by its hint or its shape."""
        dims = self._shape()
        if self._is_square is None and dims is not None and None not in dims[-2:]:
            return dims[-2] == dims[-1]
        return self._is_square

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self._shape())

    @property
    def batch_shape(self) -> TensorShape:
        """The static batch shape."""
        dims = self._shape()
        return TensorShape(None if dims is None else dims[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The static rank of the dense tensor."""
        dims = self._shape()
        return None if dims is None else len(dims)

    @property
    def domain_dimension(self) -> Dimension:
        """The static number of columns."""
        dims = self._shape()
        return Dimension(None if dims is None else dims[-1])

    @property
    def range_dimension(self) -> Dimension:
        """The static number of rows."""
        dims = self._shape()
        return Dimension(None if dims is None else dims[-2])

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Returns the shape as a tensor."""
        with self._scope(name):
            dims = self._shape()
            return constant(list(dims or ()), dtypes.int32) if is_fully_defined(dims) else self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the batch shape as a tensor."""
        with self._scope(name):
            return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Returns the rank of the dense tensor."""
        with self._scope(name):
            return size(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Returns the number of columns as a tensor."""
        with self._scope(name):
            return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Returns the number of rows as a tensor."""
        with self._scope(name):
            return self.shape_tensor()[-2]

    # -- what it does ------------------------------------------------------------------------------------------------

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Returns the operator as a dense matrix."""
        with self._scope(name):
            return self._to_dense()

    def matmul(
        self, x: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Returns the product with a matrix; with another operator, the composed operator."""
        if isinstance(x, LinearOperator):
            return self._composition_of([self.H if adjoint else self, x.H if adjoint_arg else x])
        with self._scope(name, x):
            right = self._operand(x, "x", self.range_dimension if adjoint else self.domain_dimension, adjoint_arg)
            return self._matmul(right, adjoint, adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: TensorLike | LinearOperator, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Returns the product with vectors."""
        with self._scope(name, x):
            columns = expand_dims(convert_to_tensor(x, dtype=self.dtype, name="x"), -1)
            result: Tensor = self.matmul(columns, adjoint=adjoint)
            return squeeze(result, [-1])

    def solve(
        self, rhs: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solves linear systems for the columns of a matrix; for an operator, returns an operator."""
        if self.is_non_singular is False:
            raise NotImplementedError("solve: the operator is declared singular (is_non_singular=False).")
        if self.is_square is False:
            raise NotImplementedError("solve: the operator is declared not square (is_square=False).")
        if isinstance(rhs, LinearOperator):
            left = self.H if adjoint else self
            return left.inverse().matmul(rhs, adjoint_arg=adjoint_arg)
        with self._scope(name, rhs):
            right = self._operand(rhs, "rhs", self.domain_dimension if adjoint else self.range_dimension, adjoint_arg)
            return self._solve(right, adjoint, adjoint_arg)

    def solvevec(self, rhs: TensorLike | LinearOperator, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Solves linear systems for vectors."""
        with self._scope(name, rhs):
            columns = expand_dims(convert_to_tensor(rhs, dtype=self.dtype, name="rhs"), -1)
            result: Tensor = self.solve(columns, adjoint=adjoint)
            return squeeze(result, [-1])

    def determinant(self, name: str = "det") -> Tensor:
        """Returns the determinant."""
        self._require_square("determinant")
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Returns log |det|."""
        self._require_square("determinant")
        with self._scope(name):
            return self._log_abs_determinant()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Returns the diagonal."""
        with self._scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """Returns the trace."""
        with self._scope(name):
            return self._trace()

    def add_to_tensor(self, x: TensorLike | LinearOperator, name: str = "add_to_tensor") -> Tensor:
        """Returns the sum of the dense operator and a tensor."""
        with self._scope(name, x):
            return self._add_to_tensor(convert_to_tensor(x, dtype=self.dtype, name="x"))

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """Returns the eigenvalues of a self-adjoint operator."""
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint operators have their eigenvalues computed.")
        with self._scope(name):
            return self._eigvals()

    def cond(self, name: str = "cond") -> Tensor:
        """Returns the condition number: the ratio of the largest and the smallest singular value."""
        with self._scope(name):
            return self._cond()

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Returns the adjoint operator."""
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            return self._adjoint()

    H = property(adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the inverse operator."""
        if self.is_square is False:
            raise ValueError(f"Cannot get the inverse of {self.name}, which is not square.")
        if self.is_non_singular is False:
            raise ValueError(f"Cannot get the inverse of {self.name}, which is singular.")
        with self._scope(name):
            return self._inverse()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the Cholesky factor as an operator."""
        if not (self.is_self_adjoint and self.is_positive_definite):
            raise ValueError("cholesky: the operator must be declared positive definite and self-adjoint.")
        with self._scope(name):
            return self._cholesky()

    # -- assertions --------------------------------------------------------------------------------------------------

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Returns an operation that fails if the operator is numerically singular."""
        with self._scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Returns an operation that requires a positive definite matrix."""
        with self._scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Returns an operation that requires a self-adjoint matrix."""
        with self._scope(name):
            return self._assert_self_adjoint()

    # -- own ---------------------------------------------------------------------------------------------------------

    def _scope(self, name: str, *values: Any) -> name_scope:
        return name_scope(f"{self.name}/{name}", None, values)

    def _operand(self, x: TensorLike, name: str, expected_rows: Dimension, adjoint_arg: bool) -> Tensor:
        tensor = convert_to_tensor(x, dtype=self.dtype, name=name)
        if tensor.dims is not None:
            if len(tensor.dims) < 2:
                raise ValueError(f"{self.name}: {name} must be a matrix, got rank {len(tensor.dims)}.")
            rows = tensor.dims[-1 if adjoint_arg else -2]
            if not expected_rows.is_compatible_with(rows):
                raise ValueError(f"{self.name}: {name} has {rows} rows, expected {expected_rows}.")
        return tensor

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{what}: the operator is declared not square (is_square=False).")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


def same_batches(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns matrices broadcast to common batch dimensions."""
    if a.dims is not None and b.dims is not None and a.dims[:-2] == b.dims[:-2] and None not in a.dims[:-2]:
        return a, b
    batch = broadcast_dynamic_shape(shape_of(a)[:-2], shape_of(b)[:-2])
    first, second = (broadcast_to(x, concat([batch, shape_of(x)[-2:]], 0)) for x in (a, b))
    return first, second


def common_batch(*tensors: Tensor) -> Tensor:
    """Returns the common batch dimensions of shapes of matrices, given as tensors."""
    result = tensors[0]
    for other in tensors[1:]:
        result = broadcast_dynamic_shape(result, other)
    return result


def hinted(**defaults: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a constructor: the hints and the name of LinearOperator follow its own parameters."""
    constructor_only = ["dtype", "graph_parents", "parameters"]
    return parameters_of(LinearOperator.__init__, without=constructor_only, before="is_non_singular", **defaults)


def assert_nonzero(values: Tensor) -> Any:
    """Returns an operation that fails if a value of which each makes an operator singular is zero."""
    sizes = abs_of(values)
    return check.assert_less(constant(0, sizes.dtype), sizes, message="The operator is singular.")


class DiagonalizedOperator(LinearOperator):
    """The base class of operators that are a diagonal matrix in some basis, whose values the assertions check."""

    def _diagonalized(self) -> Tensor:
        """Returns the diagonal, in any shape."""
        raise NotImplementedError

    def _assert_non_singular(self) -> Any:
        return assert_nonzero(self._diagonalized())

    def _assert_positive_definite(self) -> Any:
        return check.assert_positive(real(self._diagonalized()), message="The operator is not positive definite.")

    def _assert_self_adjoint(self) -> Any:
        values = self._diagonalized()
        if not values.dtype.is_complex:
            return no_op()
        imaginary = imag(values)
        return check.assert_equal(imaginary, zeros_like(imaginary), message="The operator differs from its adjoint.")
