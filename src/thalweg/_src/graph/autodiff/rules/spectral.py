"""Gradients of Fourier transforms: the inverse transform, up to a factor."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import sequences as sequences_ops, spectral
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, logical_or
from thalweg._src.graph.ops.math import divide, multiply, real
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.tensor import Tensor

_FORWARD = {1: spectral.fft, 2: spectral.fft2d, 3: spectral.fft3d}
_BACKWARD = {1: spectral.ifft, 2: spectral.ifft2d, 3: spectral.ifft3d}
_REAL = {1: spectral.rfft_op, 2: spectral.rfft2d_op, 3: spectral.rfft3d_op}


def _sizes(tensor: Tensor, rank: int) -> Tensor:
    return shape(tensor)[-rank:]


def _register(rank: int, suffix: str) -> None:
    @gradient(f"FFT{suffix}")
    def fft(op: Operation, grad: Tensor) -> Tensor:
        return multiply(_BACKWARD[rank](grad), spectral.number_of_terms(_sizes(grad, rank), grad.dtype))

    @gradient(f"IFFT{suffix}")
    def ifft(op: Operation, grad: Tensor) -> Tensor:
        return divide(_FORWARD[rank](grad), spectral.number_of_terms(_sizes(grad, rank), grad.dtype))

    @gradient(f"RFFT{suffix}")
    def rfft(op: Operation, grad: Tensor) -> list[Any]:
        # Frequencies that the transform drops have zero gradient.
        x, lengths = op.inputs
        whole = _BACKWARD[rank](spectral.extend(grad, lengths, rank))
        by_used = multiply(real(whole), spectral.number_of_terms(lengths, x.dtype))
        return [spectral.extend(by_used, _sizes(x, rank), rank), None]

    @gradient(f"IRFFT{suffix}")
    def irfft(op: Operation, grad: Tensor) -> list[Any]:
        # A frequency counts twice if its conjugate is omitted from the half spectrum.
        x, lengths = op.inputs
        places = sequences_ops.range(lengths[-1] // 2 + 1)
        alone = logical_or(equal(places, 0), equal(2 * places, lengths[-1]))
        weights = divide(cast(where_v2(alone, 1, 2), x.dtype), spectral.number_of_terms(lengths, x.dtype))
        by_used = multiply(_REAL[rank](grad, lengths, Tcomplex=x.dtype), weights)
        return [spectral.extend(by_used, _sizes(x, rank), rank), None]


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    _register(_rank, _suffix)
