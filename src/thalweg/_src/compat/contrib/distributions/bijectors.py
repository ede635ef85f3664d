"""Bijectors: invertible functions with Jacobian determinants, for transformed distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import math
from thalweg._src.graph.ops.diagonal import matrix_band_part, matrix_diag, matrix_diag_part
from thalweg._src.graph.ops.linalg import matrix_triangular_solve
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import softplus
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, squeeze, zeros_like
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("contrib.distributions.bijectors.Bijector")
class Bijector:
    """The base class of bijectors; a subclass defines `_forward`, `_inverse` and one `_..._log_det_jacobian`.

    `forward_min_event_ndims` is the rank of the events that the function maps: 0 for scalars.

    Args:
        name: A name for the operations that are added to the graph.
    """

    name = ReadOnly[str]("The name of the bijector.")
    dtype = ReadOnly[Any]("The element type.")
    validate_args = ReadOnly[bool]("Whether arguments are checked.")
    is_constant_jacobian = ReadOnly[bool]("Whether the Jacobian is constant.")
    forward_min_event_ndims = ReadOnly[int]("The smallest rank of events of `forward`.", "_least")
    inverse_min_event_ndims = ReadOnly[int]("The smallest rank of events of `inverse`.", "_least")

    def __init__(
        self,
        graph_parents: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: DTypeLike | None = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError("Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`.")
        least = forward_min_event_ndims if inverse_min_event_ndims is None else inverse_min_event_ndims
        self._least = int(least or 0) if forward_min_event_ndims is None else int(forward_min_event_ndims)
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._name = name or type(self).__name__.lower()

    def forward(self, x: TensorLike, name: str = "forward") -> Tensor:
        """Returns the transformed x."""
        with name_scope(f"{self._name}/{name}"):
            return self._forward(convert_to_tensor(x, name="x"))

    def inverse(self, y: TensorLike, name: str = "inverse") -> Tensor:
        """Returns the inverse of y."""
        with name_scope(f"{self._name}/{name}"):
            return self._inverse(convert_to_tensor(y, name="y"))

    def forward_log_det_jacobian(
        self, x: TensorLike, event_ndims: int | None = None, name: str = "forward_log_det_jacobian"
    ) -> Tensor:
        """Returns log |det| of the Jacobian at x, for events of rank `event_ndims`."""
        with name_scope(f"{self._name}/{name}"):
            x = convert_to_tensor(x, name="x")
            try:
                log_det = self._forward_log_det_jacobian(x)
            except NotImplementedError:
                log_det = -self._inverse_log_det_jacobian(self._forward(x))
            return self._summed(log_det, x, self._least if event_ndims is None else int(event_ndims))

    def inverse_log_det_jacobian(
        self, y: TensorLike, event_ndims: int | None = None, name: str = "inverse_log_det_jacobian"
    ) -> Tensor:
        """Returns log |det| of the Jacobian of the inverse at y."""
        with name_scope(f"{self._name}/{name}"):
            y = convert_to_tensor(y, name="y")
            try:
                log_det = self._inverse_log_det_jacobian(y)
            except NotImplementedError:
                log_det = -self._forward_log_det_jacobian(self._inverse(y))
            return self._summed(log_det, y, self._least if event_ndims is None else int(event_ndims))

    def _summed(self, log_det: Tensor, x: Tensor, event_ndims: int) -> Tensor:
        """Sums over the dimensions of the event that the function maps element-wise."""
        more = event_ndims - self._least
        if more < 0:
            raise ValueError(f"event_ndims ({event_ndims}) must be larger than min_event_ndims ({self._least})")
        if not more:
            return log_det
        return reduce_sum(log_det * ones_like(x if not self._least else x[..., 0]), list(range(-more, 0)))

    def _forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError("forward not implemented")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError("inverse not implemented")

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        raise NotImplementedError("forward_log_det_jacobian not implemented")

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        raise NotImplementedError("inverse_log_det_jacobian not implemented")


@export("contrib.distributions.bijectors.Identity")
class Identity(Bijector):
    """The identity bijector.

    Args:
        name: A name for the operations that are added to the graph.
    """

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=0, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return zeros_like(x)


class _ScalarBijector(Bijector):
    """The base class of scalar bijectors.

    Args:
        name: A name for the operations that are added to the graph.
    """

    def __init__(self, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=0, name=name)


@export("contrib.distributions.bijectors.Exp")
class Exp(_ScalarBijector):
    """The bijector exp(x)."""

    def _forward(self, x: Tensor) -> Tensor:
        return math.exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return math.log(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return x


@export("contrib.distributions.bijectors.Sigmoid")
class Sigmoid(_ScalarBijector):
    """The bijector 1 / (1 + exp(-x))."""

    def _forward(self, x: Tensor) -> Tensor:
        return math.sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return math.log(y) - math.log1p(-y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


@export("contrib.distributions.bijectors.Tanh")
class Tanh(_ScalarBijector):
    """The bijector tanh(x)."""

    def _forward(self, x: Tensor) -> Tensor:
        return math.tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return math.atanh(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return 2.0 * (0.6931471805599453 - x - softplus(-2.0 * x))


@export("contrib.distributions.bijectors.Softplus")
class Softplus(_ScalarBijector):
    """The bijector log(1 + exp(x)).

    Args:
        name: A name for the operations that are added to the graph.
    """

    def __init__(self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus") -> None:
        super().__init__(validate_args, name)
        self._softness = 1.0 if hinge_softness is None else hinge_softness

    def _forward(self, x: Tensor) -> Tensor:
        return self._softness * softplus(x / self._softness)

    def _inverse(self, y: Tensor) -> Tensor:
        scaled = y / self._softness
        return self._softness * (scaled + math.log(-math.expm1(-scaled)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -softplus(-x / self._softness)


@export("contrib.distributions.bijectors.Affine")
class Affine(Bijector):
    """The bijector scale * x + shift, with a sum of multiple of the identity, diagonal and triangular scale.

    Args:
        name: A name for the operations that are added to the graph.
    """

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        with name_scope(name):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            number, diagonal = scale_identity_multiplier, scale_diag
            self._number = None if number is None else convert_to_tensor(number)
            self._diagonal = None if diagonal is None else convert_to_tensor(diagonal)
            self._triangle = None if scale_tril is None else matrix_band_part(convert_to_tensor(scale_tril), -1, 0)
            if self._number is not None and self._diagonal is not None:
                self._diagonal, self._number = self._diagonal + expand_dims(self._number, -1), None
            if self._triangle is not None:
                if self._number is not None:
                    ones = ones_like(self._triangle[..., 0])
                    self._diagonal, self._number = ones * expand_dims(self._number, -1), None
                if self._diagonal is not None:
                    self._triangle, self._diagonal = self._triangle + matrix_diag(self._diagonal), None
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=1, name=name)

    def _factor(self) -> Any:
        """Returns the element-wise factor, if the scale is not a matrix."""
        if self._diagonal is not None:
            return self._diagonal
        return 1.0 if self._number is None else expand_dims(self._number, -1)

    def _forward(self, x: Tensor) -> Tensor:
        if self._triangle is None:
            scaled = x * self._factor()
        else:
            scaled = squeeze(matmul(self._triangle, expand_dims(x, -1)), [-1])
        return scaled if self._shift is None else scaled + self._shift  # type: ignore[no-any-return]

    def _inverse(self, y: Tensor) -> Tensor:
        moved = y if self._shift is None else y - self._shift
        if self._triangle is None:
            return moved / self._factor()  # type: ignore[no-any-return]
        inverse = matrix_triangular_solve(self._triangle, matrix_diag(ones_like(self._triangle[..., 0])))
        return squeeze(matmul(inverse, expand_dims(moved, -1)), [-1])

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if self._triangle is not None:
            return reduce_sum(math.log(math.abs(matrix_diag_part(self._triangle))), -1)
        return reduce_sum(math.log(math.abs(ones_like(x) * self._factor())), -1)


@export("contrib.distributions.bijectors.AffineScalar")
class AffineScalar(Bijector):
    """The scalar bijector scale * x + shift.

    Args:
        scale: The factor.
        name: A name for the operations that are added to the graph.
    """

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=0, name=name)
        self._shift = 0.0 if shift is None else convert_to_tensor(shift)
        self._scale = 1.0 if scale is None else convert_to_tensor(scale)

    def _forward(self, x: Tensor) -> Tensor:
        return x * self._scale + self._shift

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self._shift) / self._scale

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return math.log(math.abs(ones_like(x) * self._scale))


@export("contrib.distributions.bijectors.Invert")
class Invert(Bijector):
    """The inverse of another bijector.

    Args:
        bijector: The bijector to invert.
        name: A name for the operations that are added to the graph.
    """

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        require_kind("bijector", bijector, Bijector, "a Bijector")
        super().__init__(
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            name=name or f"invert_{bijector.name}",
        )
        self.bijector = bijector

    def _forward(self, x: Tensor) -> Tensor:
        return self.bijector.inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.bijector.forward(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return self.bijector.inverse_log_det_jacobian(x)


@export("contrib.distributions.bijectors.Chain")
class Chain(Bijector):
    """The composition of bijectors; the last one is applied first.

    Args:
        name: A name for the operations that are added to the graph.
    """

    def __init__(
        self, bijectors: Sequence[Bijector] | None = None, validate_args: bool = False, name: str | None = None
    ) -> None:
        self.bijectors = list(bijectors or ())
        for bijector in self.bijectors:
            require_kind("bijectors", bijector, Bijector, "Bijectors")
        super().__init__(
            is_constant_jacobian=all(b.is_constant_jacobian for b in self.bijectors),
            validate_args=validate_args,
            forward_min_event_ndims=max((b.forward_min_event_ndims for b in self.bijectors), default=0),
            name=name or "_of_".join(["chain", *(b.name for b in self.bijectors)]) if self.bijectors else "identity",
        )

    def _forward(self, x: Tensor) -> Tensor:
        for bijector in reversed(self.bijectors):
            x = bijector.forward(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for bijector in self.bijectors:
            y = bijector.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        total: Any = 0.0 if self.bijectors else zeros_like(x)
        for bijector in reversed(self.bijectors):
            total = total + bijector.forward_log_det_jacobian(x, self._least)
            x = bijector.forward(x)
        return total  # type: ignore[no-any-return]
