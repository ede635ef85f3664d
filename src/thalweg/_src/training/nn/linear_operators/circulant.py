"""Circulant linear operators: matrices that discrete Fourier transforms of one to three dimensions diagonalize."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import check, spectral
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import abs as abs_of, complex, conj, divide, imag, log, multiply, real, reciprocal
from thalweg._src.graph.ops.pad_tile import broadcast_to
from thalweg._src.graph.ops.reduction import reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, matrix_transpose, reshape, shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.linear_operators.base import DiagonalizedOperator, LinearOperator, hinted

_FORWARD: dict[int, Callable[..., Tensor]] = {1: spectral.fft, 2: spectral.fft2d, 3: spectral.fft3d}
_BACKWARD: dict[int, Callable[..., Tensor]] = {1: spectral.ifft, 2: spectral.ifft2d, 3: spectral.ifft3d}
_TYPES = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


class BaseLinearOperatorCirculant(DiagonalizedOperator):
    """The base class: an operator that multiplies the transform of a signal by a spectrum, and transforms it back."""

    _depth = 1
    spectrum = ReadOnly[Tensor]("The eigenvalues: the transform of the first column.")
    block_depth = ReadOnly[int]("The number of dimensions of the transform.", "_depth")

    @hinted(is_square=True)
    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64, **hints: Any) -> None:
        self._spectrum = convert_to_tensor(spectrum, name="spectrum")
        if self._spectrum.dtype not in _TYPES:
            raise TypeError(f"spectrum: expected floating or complex numbers, received {self._spectrum.dtype.name}")
        if self._spectrum.dims is not None and len(self._spectrum.dims) < self._depth:
            raise ValueError(f"spectrum: expected rank {self._depth} or more, received {self._spectrum.dims}")
        if hints["is_square"] is False:
            raise ValueError("A circulant operator is always square.")
        if not self._spectrum.dtype.is_complex:
            if hints["is_self_adjoint"] is False:
                raise ValueError("is_self_adjoint=False contradicts a real spectrum.")
            hints["is_self_adjoint"] = True
        super().__init__(input_output_dtype, [self._spectrum], **{**hints, "is_square": True})

    # -- spectrum -----------------------------------------------------------------------------------------------------

    @property
    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _complex(self, x: Tensor) -> Tensor:
        """Returns a tensor in the complex type that transforms are computed in."""
        wide = self._spectrum.dtype in (dtypes.float64, dtypes.complex128) or self.dtype.real_dtype is dtypes.float64
        kind = dtypes.complex128 if wide else dtypes.complex64
        if x.dtype.is_complex:
            return cast(x, kind)  # type: ignore[no-any-return]
        real_part = cast(x, kind.real_dtype)
        return complex(real_part, real_part * 0)

    def _result(self, x: Tensor) -> Tensor:
        return cast(x if self.dtype.is_complex or not x.dtype.is_complex else real(x), self.dtype)  # type: ignore[no-any-return]

    @property
    def block_shape(self) -> TensorShape:
        """The static shape of the signals that are transformed."""
        dims = self._spectrum.dims
        return TensorShape([None] * self._depth if dims is None else dims[-self._depth :])

    def block_shape_tensor(self) -> Tensor:
        """Returns the shape of the signals that are transformed."""
        return shape_of(self._spectrum)[-self._depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Returns the first column, in the shape of the spectrum."""
        with self._scope(name):
            return self._result(_BACKWARD[self._depth](self._complex(self._spectrum)))

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Returns an operation that fails if the convolution kernel is not real."""
        with self._scope(name):
            kernel = _BACKWARD[self._depth](self._complex(self._spectrum))
            limit = 5 * np.finfo(kernel.dtype.real_dtype.as_numpy_dtype).eps
            bound = reduce_max(abs_of(kernel)) * limit * cast(self.domain_dimension_tensor(), kernel.dtype.real_dtype)
            message = "The spectrum is not Hermitian: the convolution kernel has an imaginary part."
            return check.assert_less_equal(abs_of(imag(kernel)), bound, message=message)

    # -- operator -----------------------------------------------------------------------------------------------------

    def _shape(self) -> Shape:
        dims = self._spectrum.dims
        if dims is None:
            return None
        inner = dims[-self._depth :]
        size = None if None in inner else prod(inner)  # type: ignore[arg-type]
        return (*dims[: -self._depth], size, size)

    def _shape_tensor(self) -> Tensor:
        size = reshape(reduce_prod(self.block_shape_tensor()), [1])
        return concat([shape_of(self._spectrum)[: -self._depth], size, size], 0)

    def _filtered(self, x: Tensor, spectrum: Tensor, adjoint_arg: bool) -> Tensor:
        """Multiplies the transforms of the columns of matrices by a spectrum."""
        rows = self._complex(conj(x) if adjoint_arg else matrix_transpose(x))
        signals = reshape(rows, concat([shape_of(rows)[:-1], self.block_shape_tensor()], 0))
        result = _BACKWARD[self._depth](
            multiply(_FORWARD[self._depth](signals), expand_dims(spectrum, -self._depth - 1))
        )
        flat = reshape(result, concat([shape_of(result)[: -self._depth], shape_of(rows)[-1:]], 0))
        return self._result(matrix_transpose(flat))

    def _seen(self, adjoint: bool) -> Tensor:
        spectrum = self._complex(self._spectrum)
        return conj(spectrum) if adjoint else spectrum

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(x, self._seen(adjoint), adjoint_arg)

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(rhs, reciprocal(self._seen(adjoint)), adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._result(reduce_prod(self._seen(False), self._axes))

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(abs_of(self._seen(False))), self._axes), self.dtype.real_dtype)  # type: ignore[no-any-return]

    def _diag_part(self) -> Tensor:
        mean = expand_dims(self._result(reduce_mean(self._seen(False), self._axes)), -1)
        return broadcast_to(mean, self.shape_tensor()[:-1])

    def _trace(self) -> Tensor:
        return self._result(reduce_sum(self._seen(False), self._axes))

    def _eigvals(self) -> Tensor:
        values = real(self._spectrum) if self._spectrum.dtype.is_complex else self._spectrum
        return cast(reshape(values, self.shape_tensor()[:-1]), self.dtype.real_dtype)  # type: ignore[no-any-return]

    def _cond(self) -> Tensor:
        sizes = abs_of(self._seen(False))
        ratio = divide(reduce_max(sizes, self._axes), reduce_min(sizes, self._axes))
        return cast(ratio, self.dtype.real_dtype)  # type: ignore[no-any-return]

    def _like(self, spectrum: Tensor) -> LinearOperator:
        return type(self)(
            spectrum,
            self.dtype,
            is_non_singular=self.is_non_singular,
            is_self_adjoint=self.is_self_adjoint,
            is_positive_definite=self.is_positive_definite,
        )

    def _adjoint(self) -> LinearOperator:
        return self._like(conj(self._spectrum))

    def _inverse(self) -> LinearOperator:
        return self._like(reciprocal(self._spectrum))

    def _diagonalized(self) -> Tensor:
        return self._spectrum


@export("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(BaseLinearOperatorCirculant):
    """A circulant matrix: each column is the one before, shifted cyclically.

    Args:
        spectrum: The eigenvalues: the transform of the first column, with batch dimensions before it.
        input_output_dtype: Type of the matrix, and of what it is multiplied with.
    """

    @hinted(is_square=True, name="LinearOperatorCirculant")
    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64, **hints: Any) -> None:
        super().__init__(spectrum, input_output_dtype, **hints)


@export("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(BaseLinearOperatorCirculant):
    """A block circulant matrix with circulant blocks: a cyclic convolution of images.

    Args:
        spectrum: The eigenvalues: the transform of the first column, with batch dimensions before it.
        input_output_dtype: Type of the matrix, and of what it is multiplied with.
    """

    _depth = 2

    @hinted(is_square=True, name="LinearOperatorCirculant2D")
    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64, **hints: Any) -> None:
        super().__init__(spectrum, input_output_dtype, **hints)


@export("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(BaseLinearOperatorCirculant):
    """A matrix of nested circulant blocks: a cyclic convolution of volumes.

    Args:
        spectrum: The eigenvalues: the transform of the first column, with batch dimensions before it.
        input_output_dtype: Type of the matrix, and of what it is multiplied with.
    """

    _depth = 3

    @hinted(is_square=True, name="LinearOperatorCirculant3D")
    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64, **hints: Any) -> None:
        super().__init__(spectrum, input_output_dtype, **hints)
