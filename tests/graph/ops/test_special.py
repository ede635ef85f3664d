import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops import special
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session


def run(tensor, feeds=None):
    with Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


def array(*dims: int, low: float, high: float, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(low, high, size=dims))


UNARY = {
    "erf": (torch.erf, -2, 2),
    "erfc": (torch.erfc, -2, 2),
    "erfinv": (torch.erfinv, -0.9, 0.9),
    "ndtri": (torch.special.ndtri, 0.1, 0.9),
    "lgamma": (torch.lgamma, 0.5, 5),
    "digamma": (torch.digamma, 0.5, 5),
    "bessel_i0e": (torch.special.i0e, -3, 3),
    "bessel_i1e": (torch.special.i1e, -3, 3),
    "bessel_i0": (torch.special.i0, -3, 3),
    "bessel_i1": (torch.special.i1, -3, 3),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    reference, low, high = UNARY[name]
    build = getattr(special, name)
    check_op(build, reference, array(2, 3, low=low, high=high))
    check_op(build, reference, array(2, 3, low=low, high=high).astype("float32"), grad=False)
    check_op(build, reference, array(0, 3, low=low, high=high))


def test_narrow_floats() -> None:
    for name, (reference, low, high) in UNARY.items():
        x = array(3, low=low, high=high).astype("float16")
        wanted = reference(torch.from_numpy(x.astype("float32"))).numpy()
        np.testing.assert_allclose(run(getattr(special, name)(constant(x))), wanted, rtol=2e-2, atol=1e-2)


def test_bessel_i1e_at_zero() -> None:
    x = constant([0.0])
    assert run(gradients(special.bessel_i1e(x), x)[0]).tolist() == [0.5]


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma(name: str) -> None:
    reference = torch.special.gammainc if name == "igamma" else torch.special.gammaincc
    a, x = array(2, 3, low=0.5, high=5), array(3, low=0.5, high=5, seed=1)
    build = getattr(special, name)
    check_op(build, reference, a, x, grad=False)
    check_op(lambda value: build(constant(a), value), lambda value: reference(torch.from_numpy(a), value), x)


def test_incomplete_gamma_by_its_first_argument() -> None:
    a = np.array([1.0, 2.0, 5.0, 0.5, 30.0, 100.0])
    x = np.array([1.0, 10.0, 0.1, 3.0, 40.0, 90.0])
    t = constant(a)
    (grad,) = gradients(special.igamma(t, constant(x)), t)
    upper, lower = (torch.special.gammainc(torch.from_numpy(a + d), torch.from_numpy(x)) for d in (1e-5, -1e-5))
    np.testing.assert_allclose(run(grad), ((upper - lower) / 2e-5).numpy(), rtol=1e-6, atol=1e-10)
    wanted = [-4.3172961e-01, -9.8832813e-04, -3.0759409e-07, -4.7240354e-02]  # by TensorFlow
    np.testing.assert_allclose(run(special.igamma_grad_a(a[:4].astype("f4"), x[:4].astype("f4"))), wanted, rtol=1e-5)


def test_zeta() -> None:
    x, q = array(2, 3, low=1.5, high=4), array(3, low=0.5, high=4, seed=1)
    check_op(special.zeta, torch.special.zeta, x, q, grad=False)
    t = constant(q)
    (grad,) = gradients(special.zeta(constant(x), t), t)
    wanted = (-x * torch.special.zeta(torch.from_numpy(x + 1), torch.from_numpy(q)).numpy()).sum(0)
    np.testing.assert_allclose(run(grad), wanted)


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_polygamma(order: int) -> None:
    check_op(
        lambda x: special.polygamma(constant(float(order), "float64"), x),
        lambda x: torch.polygamma(order, x),
        array(2, 3, low=0.5, high=4),
    )


def test_polygamma_of_invalid_orders() -> None:
    assert np.isnan(run(special.polygamma([1.5, -1.0], [2.0, 2.0]))).all()


def test_betainc() -> None:
    found = run(special.betainc([1.0, 2.0, 0.5], [3.0, 4.0, 0.5], [0.2, 0.9, 0.5]))
    np.testing.assert_allclose(found, [0.488, 0.99954, 0.5], rtol=1e-6)
    found = run(special.betainc(1.0, [3.0, 4.0, 0.5], 0.9))
    np.testing.assert_allclose(found, [0.999, 0.9999, 0.6837722], rtol=1e-6)
    edges = run(special.betainc([2.0, 2.0, 2.0, -1.0], [3.0] * 4, [0.0, 1.0, 1.5, 0.5]))
    np.testing.assert_array_equal(edges, [0, 1, np.nan, np.nan])


def test_betainc_by_x() -> None:
    a, b, x = np.array([2.0, 0.5]), np.array([3.0, 40.0]), np.array([0.3, 0.01])
    t = constant(x)
    (grad,) = gradients(special.betainc(a, b, t), t)
    sides = [run(special.betainc(a, b, x + d)) for d in (1e-6, -1e-6)]
    np.testing.assert_allclose(run(grad), (sides[0] - sides[1]) / 2e-6, rtol=1e-6)


def test_betainc_does_not_broadcast() -> None:
    with pytest.raises(ValueError):
        special.betainc(constant([1.0, 2.0]), constant([1.0, 2.0, 3.0]), 0.5)
    a = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="Incompatible shapes"):
        run(special.betainc(a, constant([1.0, 2.0]), 0.5), {a: np.ones((3, 1))})


def test_lbeta() -> None:
    check_op(special.lbeta, lambda x: torch.lgamma(x).sum(-1) - torch.lgamma(x.sum(-1)), array(2, 3, low=0.5, high=3))
