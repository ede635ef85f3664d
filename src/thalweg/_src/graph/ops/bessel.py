"""Bessel functions, special integrals (Dawson, Fresnel, Spence), and quasi-random numbers."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.math import multiply, negative, unary
from thalweg._src.graph.ops.shape_functions import require, scalar_value
from thalweg._src.graph.ops.special import ndtri
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _function(name: str, doc: str) -> OpDef:
    return unary(name, dtypes.FLOATING, doc)


bessel_i0_op = _function(
    "BesselI0", "Computes the modified Bessel function of the first kind of order 0, element-wise."
)
bessel_i1_op = _function(
    "BesselI1", "Computes the modified Bessel function of the first kind of order 1, element-wise."
)
bessel_j0_op = _function("BesselJ0", "Computes the Bessel function of the first kind of order 0, element-wise.")
bessel_j1_op = _function("BesselJ1", "Computes the Bessel function of the first kind of order 1, element-wise.")
bessel_y0_op = _function("BesselY0", "Computes the Bessel function of the second kind of order 0, element-wise.")
bessel_y1_op = _function("BesselY1", "Computes the Bessel function of the second kind of order 1, element-wise.")
bessel_k0_op = _function(
    "BesselK0", "Computes the modified Bessel function of the second kind of order 0, element-wise."
)
bessel_k1_op = _function(
    "BesselK1", "Computes the modified Bessel function of the second kind of order 1, element-wise."
)
bessel_k0e_op = _function(
    "BesselK0e", "Computes the exponentially scaled Bessel function k0(x) * exp(x), element-wise."
)
bessel_k1e_op = _function(
    "BesselK1e", "Computes the exponentially scaled Bessel function k1(x) * exp(x), element-wise."
)
dawsn_op = _function("Dawsn", "Computes Dawson's integral exp(-x^2) * integral of exp(t^2) from 0 to x, element-wise.")
expint_op = _function(
    "Expint", "Computes the exponential integral of exp(t) / t from minus infinity to x > 0, element-wise."
)
fresnel_cos_op = _function("FresnelCos", "Computes the Fresnel integral of cos(pi t^2 / 2) from 0 to x, element-wise.")
fresnel_sin_op = _function("FresnelSin", "Computes the Fresnel integral of sin(pi t^2 / 2) from 0 to x, element-wise.")
spence_op = _function("Spence", "Computes Spence's integral of log(t) / (1 - t) from 1 to x, element-wise.")


def _named(definition: OpDef, default: str) -> Callable[..., Tensor]:
    """Returns the public function of an op, with the op's own default node name."""

    def function(x: TensorLike, name: str | None = None) -> Tensor:
        with name_scope(name, default, [x]):
            return definition(x)

    function.__name__ = function.__qualname__ = default
    function.__doc__ = definition.__doc__
    return function


bessel_j0 = export("math.special.bessel_j0")(_named(bessel_j0_op, "bessel_j0"))
bessel_j1 = export("math.special.bessel_j1")(_named(bessel_j1_op, "bessel_j1"))
bessel_y0 = export("math.special.bessel_y0")(_named(bessel_y0_op, "bessel_y0"))
bessel_y1 = export("math.special.bessel_y1")(_named(bessel_y1_op, "bessel_y1"))
bessel_k0 = export("math.special.bessel_k0")(_named(bessel_k0_op, "bessel_k0"))
bessel_k1 = export("math.special.bessel_k1")(_named(bessel_k1_op, "bessel_k1"))
bessel_k0e = export("math.special.bessel_k0e")(_named(bessel_k0e_op, "bessel_k0e"))
bessel_k1e = export("math.special.bessel_k1e")(_named(bessel_k1e_op, "bessel_k1e"))
dawsn = export("math.special.dawsn")(_named(dawsn_op, "dawsn"))
expint = export("math.special.expint")(_named(expint_op, "expint"))
fresnel_cos = export("math.special.fresnel_cos")(_named(fresnel_cos_op, "fresnel_cos"))
fresnel_sin = export("math.special.fresnel_sin")(_named(fresnel_sin_op, "fresnel_sin"))
spence = export("math.special.spence")(_named(spence_op, "spence"))


@export("math.erfcinv")
def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of erfc."""
    with name_scope(name, "erfcinv", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return multiply(negative(ndtri(multiply(x, 0.5))), numbers.sqrt(0.5), name=scope)


_DIMENSIONS = 2999  # limit of TensorFlow's direction numbers


def _sobol(c: Inference) -> Sequence[Shape]:
    dim, count, skip = (scalar_value(c, i) for i in range(3))
    require(dim is None or 0 < dim <= _DIMENSIONS, f"dim is {dim}", expected=f"1 to {_DIMENSIONS}")
    require(count is None or count > 0, f"num_results is {count}", expected="at least 1")
    require(skip is None or skip >= 0, f"skip is {skip}", expected="at least 0")
    fits = None in (count, skip) or count + skip < 2**31
    require(fits, f"num_results {count} and skip {skip} are too many", expected="a sum below 2**31")
    return [(count, dim)]


sobol_sample_op = nondifferentiable_op(
    "SobolSample",
    "dim: int32, num_results: int32, skip: int32 -> samples: dtype",
    "Generates points of the Sobol low-discrepancy sequence in the unit cube.",
    dtype=attr.types((dtypes.float32, dtypes.float64), dtypes.float32),
    host="dim, num_results, skip",
    infer=_sobol,
)


@export("math.sobol_sample")
def sobol_sample(
    dim: TensorLike,
    num_results: TensorLike,
    skip: TensorLike = 0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns points of the Sobol sequence in [0, 1) ** dim, skipping the first `skip`.

    Args:
        dim: Dimension of the points.
        num_results: Number of points.
        skip: Number of points to leave out at the start.
    """
    with name_scope(name, "sobol", [dim, num_results, skip]):
        return sobol_sample_op(dim, num_results, skip, dtype=dtype)
