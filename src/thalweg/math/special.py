"""tf.math.special: Special functions: Bessel functions and integrals."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.ops.bessel import (
    bessel_j0 as bessel_j0,
    bessel_j1 as bessel_j1,
    bessel_k0 as bessel_k0,
    bessel_k0e as bessel_k0e,
    bessel_k1 as bessel_k1,
    bessel_k1e as bessel_k1e,
    bessel_y0 as bessel_y0,
    bessel_y1 as bessel_y1,
    dawsn as dawsn,
    expint as expint,
    fresnel_cos as fresnel_cos,
    fresnel_sin as fresnel_sin,
    spence as spence,
)
from thalweg._src.graph.ops.special import (
    bessel_i0 as bessel_i0,
    bessel_i0e as bessel_i0e,
    bessel_i1 as bessel_i1,
    bessel_i1e as bessel_i1e,
)

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e",
    "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence",
]
