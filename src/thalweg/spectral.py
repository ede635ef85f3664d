"""tf.spectral: Fourier and cosine transforms, under their deprecated names."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
)
from thalweg._src.graph.ops.spectral import (
    dct as dct,
    idct as idct,
    irfft as irfft,
    irfft2d as irfft2d,
    irfft3d as irfft3d,
    rfft as rfft,
    rfft2d as rfft2d,
    rfft3d as rfft3d,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d", "rfft", "rfft2d",
    "rfft3d",
]
