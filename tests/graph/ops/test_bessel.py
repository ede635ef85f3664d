import numpy as np
import pytest
import scipy.special as reference
import torch

from tests.checks import check_op
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops import bessel
from thalweg._src.graph.ops.bessel import erfcinv, sobol_sample
from thalweg._src.runtime.session.session import Session
from thalweg.math import special

X = np.array(
    [1e-5, 0.1, 0.3725, 0.5, 0.999, 1.0, 1.7, 2.0, 3.3, 4.4, 4.6, 5.1, 8.0, 10.1, 20.0, 24.9, 25.1, 39.0, 60.0]
)
CASES = {
    "bessel_j0": (reference.j0, lambda x: -reference.j1(x)),
    "bessel_j1": (reference.j1, lambda x: reference.jvp(1, x)),
    "bessel_y0": (reference.y0, lambda x: -reference.y1(x)),
    "bessel_y1": (reference.y1, lambda x: reference.yvp(1, x)),
    "bessel_k0": (reference.k0, lambda x: -reference.k1(x)),
    "bessel_k1": (reference.k1, lambda x: reference.kvp(1, x)),
    "bessel_k0e": (reference.k0e, lambda x: reference.k0e(x) - reference.k1e(x)),
    "bessel_k1e": (reference.k1e, lambda x: reference.k1e(x) * (1 - 1 / x) - reference.k0e(x)),
    "dawsn": (reference.dawsn, lambda x: 1 - 2 * x * reference.dawsn(x)),
    "expint": (reference.expi, lambda x: np.exp(x) / x),
    "fresnel_sin": (lambda x: reference.fresnel(x)[0], lambda x: np.sin(np.pi / 2 * x * x)),
    "fresnel_cos": (lambda x: reference.fresnel(x)[1], lambda x: np.cos(np.pi / 2 * x * x)),
    "spence": (reference.spence, lambda x: np.where(x == 1, -1, np.log(x) / np.where(x == 1, 1, 1 - x))),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, dtype: str) -> None:
    function, slope = CASES[name]
    x = X.astype(dtype)
    x = x[(x > 1e-3) & (x < 10)] if dtype == "float16" else x
    wide = x.astype(np.float64)
    tolerance = {"float64": 1e-10, "float32": 2e-5, "float16": 1e-2}[dtype]
    y = getattr(bessel, name)(x)
    with Session() as session:
        value, grad = session.run([y, gradients(y, y.op.inputs[0])[0]])
    assert value.dtype == dtype and y.shape == x.shape
    np.testing.assert_allclose(value, function(wide), rtol=tolerance, atol=tolerance / 10)
    if dtype != "float16":
        # The phase of a wave far out is known to few digits in single precision.
        near = wide < 10 if "fresnel" in name and dtype == "float32" else wide > 0
        np.testing.assert_allclose(grad[near], slope(wide)[near], rtol=tolerance * 10, atol=tolerance)


def test_modified_functions() -> None:
    x = np.array([-3.0, -0.5, 0.2, 4.0])
    check_op(bessel.bessel_i0_op, torch.special.i0, x)
    check_op(bessel.bessel_i1_op, torch.special.i1, x)


def test_ends_of_domains() -> None:
    with Session() as session:
        low = session.run([getattr(bessel, f"bessel_{kind}")([-1.0, 0.0]) for kind in ("y0", "k0", "k1e")])
        assert [v.tolist() for v in low] == [[-np.inf] * 2, [np.inf] * 2, [np.inf] * 2]
        assert session.run(bessel.fresnel_sin([np.inf, -np.inf])).tolist() == [0.5, -0.5]
        assert np.isnan(session.run(bessel.expint([-1.0, np.nan]))).all()
        assert session.run(bessel.spence([0.0])).item() == pytest.approx(np.pi**2 / 6)
        assert session.run(bessel.dawsn([0.0, 1e5])).tolist() == pytest.approx([0, 5e-6])


def test_inverse_of_erfc() -> None:
    x = np.array([0.1, 1.0, 1.7])
    check_op(erfcinv, lambda x: torch.special.erfinv(1 - x), x)


def test_sobol() -> None:
    with Session() as session:
        points, later = session.run([sobol_sample(2, 4), sobol_sample(2, 2, skip=2, dtype="float64")])
    assert points.tolist() == [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375]]
    np.testing.assert_array_equal(later, points[2:])
    assert sobol_sample(3, 5).shape == (5, 3)
    with pytest.raises(ValueError, match="dim is 0"):
        sobol_sample(0, 1)


def test_public_names() -> None:
    assert set(CASES) <= set(special.__all__)
