"""Multivariate normal distributions with diagonal, triangular or covariance parameters."""

from __future__ import annotations

from math import log as log_of, pi
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import broadcast
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, check, math, reshape as reshape_ops
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.decompositions import cholesky
from thalweg._src.graph.ops.diagonal import matrix_band_part, matrix_diag, matrix_diag_part
from thalweg._src.graph.ops.linalg import matrix_triangular_solve
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import softplus
from thalweg._src.graph.ops.pad_tile import broadcast_dynamic_shape
from thalweg._src.graph.ops.random import random_normal
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, matrix_transpose, ones_like, shape, squeeze, zeros_like
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import FULLY_REPARAMETERIZED, Distribution
from thalweg._src.training.nn.distributions.divergence import RegisterKL


class MultivariateNormal(Distribution):
    """The normal distribution of loc + scale * z, for a vector z of independent standard normals.

    The scale is a vector, the diagonal of a matrix, or a lower triangular matrix.
    """

    def __init__(
        self,
        loc: Any,
        diagonal: Any,
        triangle: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        parameters: Any,
    ) -> None:
        scale = triangle if diagonal is None else diagonal
        self._diagonal, self._triangle = diagonal, triangle
        self._loc = zeros_like(scale[..., 0] if diagonal is None else scale) if loc is None else loc
        if self._loc.dtype != scale.dtype:
            raise TypeError(f"loc is {self._loc.dtype.name}, the scale {scale.dtype.name}")
        self._defined_by(parameters, [self._loc, scale], FULLY_REPARAMETERIZED, name)

    loc = ReadOnly[Tensor]("The mean.")

    @property
    def scale_matrix(self) -> Tensor:
        """The scale as a matrix."""
        return matrix_diag(self._diagonal) if self._triangle is None else self._triangle

    def _vector(self) -> Tensor:
        """Returns a tensor whose shape is that of a scale's diagonal."""
        return self._diagonal if self._triangle is None else self._triangle[..., 0]  # type: ignore[no-any-return]

    def _whole(self) -> Any:
        return broadcast(self._loc.dims, self._vector().dims)

    def _batch_shape(self) -> Any:
        whole = self._whole()
        return None if whole is None else whole[:-1]

    def _event_shape(self) -> Any:
        whole = self._whole()
        return None if whole is None else whole[-1:]

    def _whole_tensor(self) -> Tensor:
        return broadcast_dynamic_shape(shape(self._loc), shape(self._vector()))

    def _batch_shape_tensor(self) -> Tensor:
        return self._whole_tensor()[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return self._whole_tensor()[-1:]

    # -- the scale ----------------------------------------------------------------------------------------------------

    def _scaled(self, z: Tensor) -> Tensor:
        if self._triangle is None:
            return z * self._diagonal  # type: ignore[no-any-return]
        return squeeze(matmul(self._triangle, expand_dims(z, -1)), [-1])

    def _unscaled(self, x: Tensor) -> Tensor:
        """Returns the inverse of the scale times x; a matrix is inverted once for all samples."""
        if self._triangle is None:
            return x / self._diagonal  # type: ignore[no-any-return]
        return squeeze(matmul(self._inverse(), expand_dims(x, -1)), [-1])

    def _inverse(self) -> Tensor:
        ones = ones_like(self._triangle[..., 0])
        return matrix_triangular_solve(self._triangle, matrix_diag(ones))

    def _log_determinant(self) -> Tensor:
        diagonal = self._diagonal if self._triangle is None else matrix_diag_part(self._triangle)
        return reduce_sum(math.log(math.abs(diagonal)), -1)

    # -- what a distribution defines ----------------------------------------------------------------------------------

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        block = concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        return self._scaled(random_normal(block, dtype=self.dtype, seed=seed)) + self._loc

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self._unscaled(value - self._loc)
        size = cast_ops.cast(self.event_shape_tensor()[0], self.dtype)
        return -0.5 * (reduce_sum(math.square(z), -1) + size * log_of(2 * pi)) - self._log_determinant()  # type: ignore[no-any-return]

    def _entropy(self) -> Tensor:
        size = cast_ops.cast(self.event_shape_tensor()[0], self.dtype)
        one = 0.5 * size * (1 + log_of(2 * pi)) + self._log_determinant()
        return one * reshape_ops.ones(self.batch_shape_tensor(), self.dtype)  # type: ignore[no-any-return]

    def _broadcast(self, value: Tensor) -> Tensor:
        result = value * reshape_ops.ones(self._whole_tensor(), self.dtype)
        result.set_shape(self._whole())
        return result

    def _mean(self) -> Tensor:
        return self._broadcast(self._loc)

    def _mode(self) -> Tensor:
        return self._broadcast(self._loc)

    def _variance(self) -> Tensor:
        if self._triangle is None:
            return self._broadcast(math.square(self._diagonal))
        return self._broadcast(reduce_sum(math.square(self._triangle), -1))

    def _stddev(self) -> Tensor:
        return self._broadcast(math.abs(self._diagonal)) if self._triangle is None else math.sqrt(self._variance())

    def _covariance(self) -> Tensor:
        scale = self.scale_matrix
        ones = reshape_ops.ones(concat([self.batch_shape_tensor(), [1, 1]], 0), self.dtype)
        return matmul(scale, scale, adjoint_b=True) * ones


def _lower(matrix: object) -> Tensor:
    return matrix_band_part(matrix, -1, 0)


@export("contrib.distributions.MultivariateNormalDiag")
class MultivariateNormalDiag(MultivariateNormal):
    """The multivariate normal distribution with diagonal scale; `scale_diag` and `scale_identity_multiplier` add up."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as scope:
            if loc is None and scale_diag is None:
                raise ValueError("loc and scale_diag: at least one must be given, to tell the size of events")
            loc = None if loc is None else convert_to_tensor(loc, name="loc")
            diagonal = ones_like(loc) if scale_diag is None else convert_to_tensor(scale_diag, name="scale_diag")
            if scale_identity_multiplier is not None:
                number = expand_dims(convert_to_tensor(scale_identity_multiplier, diagonal.dtype), -1)
                diagonal = diagonal * number if scale_diag is None else diagonal + number
            if validate_args:
                different = check.assert_none_equal(diagonal, cast_ops.cast(0, diagonal.dtype))
                diagonal = with_dependencies([different], diagonal)
        super().__init__(loc, diagonal, None, validate_args, allow_nan_stats, scope, parameters)


@export("contrib.distributions.MultivariateNormalDiagWithSoftplusScale")
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """MultivariateNormalDiag whose diagonal is softplus(scale_diag)."""

    def __init__(
        self,
        loc: TensorLike,
        scale_diag: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        super().__init__(loc, softplus(scale_diag), None, validate_args, allow_nan_stats, name)
        self._parameters = parameters


@export("contrib.distributions.MultivariateNormalTriL")
class MultivariateNormalTriL(MultivariateNormal):
    """The multivariate normal distribution with lower triangular scale; elements above the diagonal are ignored."""

    def __init__(
        self,
        loc: Any = None,
        scale_tril: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with name_scope(name, values=[loc, scale_tril]) as scope:
            loc = None if loc is None else convert_to_tensor(loc, name="loc")
            diagonal = triangle = None
            if scale_tril is None:
                diagonal = ones_like(loc)
            else:
                triangle = _lower(convert_to_tensor(scale_tril, name="scale_tril"))
                if validate_args:
                    zero = cast_ops.cast(0, triangle.dtype)
                    triangle = with_dependencies([check.assert_none_equal(matrix_diag_part(triangle), zero)], triangle)
        super().__init__(loc, diagonal, triangle, validate_args, allow_nan_stats, scope, parameters)


@export("contrib.distributions.MultivariateNormalFullCovariance")
class MultivariateNormalFullCovariance(MultivariateNormal):
    """The multivariate normal distribution with a covariance matrix."""

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        parameters = dict(locals())
        if loc is None and covariance_matrix is None:
            raise ValueError("loc and covariance_matrix: at least one must be given, to tell the size of events")
        with name_scope(name, values=[loc, covariance_matrix]) as scope:
            loc = None if loc is None else convert_to_tensor(loc, name="loc")
            diagonal = triangle = None
            if covariance_matrix is None:
                diagonal = ones_like(loc)
            else:
                matrix = convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    turned = matrix_transpose(matrix)
                    message = "covariance_matrix: it is not symmetric"
                    matrix = with_dependencies([check.assert_equal(matrix, turned, message=message)], matrix)
                triangle = cholesky(matrix)
        super().__init__(loc, diagonal, triangle, validate_args, allow_nan_stats, scope, parameters)


@RegisterKL(MultivariateNormal, MultivariateNormal)
def _multivariate_from_multivariate(a: MultivariateNormal, b: MultivariateNormal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_mvn", [a.loc, b.loc]):
        moved = reduce_sum(math.square(b._unscaled(b.loc - a.loc)), -1)
        if a._triangle is None and b._triangle is None:
            stretched = reduce_sum(math.square(a._diagonal / b._diagonal), -1)
        else:
            inverse = matrix_diag(1 / b._diagonal) if b._triangle is None else b._inverse()
            stretched = reduce_sum(math.square(matmul(inverse, a.scale_matrix)), [-2, -1])
        size = cast_ops.cast(b.event_shape_tensor()[0], b.dtype)
        return 0.5 * (stretched + moved - size) + b._log_determinant() - a._log_determinant()  # type: ignore[no-any-return]
