"""Scalar distributions of tf.contrib.distributions and their functions, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import thalweg as tf

ds = tf.contrib.distributions
X = np.array([0.3, 1.0, 2.5], np.float32)
COUNTS = np.array([0.0, 1.0, 4.0], np.float32)
CASES = {
    "Logistic": ({"loc": 0.5, "scale": 2.0}, stats.logistic(0.5, 2.0)),
    "Gumbel": ({"loc": 0.5, "scale": 2.0}, stats.gumbel_r(0.5, 2.0)),
    "Cauchy": ({"loc": 0.5, "scale": 2.0}, stats.cauchy(0.5, 2.0)),
    "HalfNormal": ({"scale": 2.0}, stats.halfnorm(scale=2.0)),
    "InverseGamma": ({"concentration": 3.0, "rate": 2.0}, stats.invgamma(3.0, scale=2.0)),
    "Chi2": ({"df": 3.0}, stats.chi2(3.0)),
    "Geometric": ({"probs": 0.3}, stats.geom(0.3, -1)),
    "NegativeBinomial": ({"total_count": 3.0, "probs": 0.4}, stats.nbinom(3.0, 0.6)),
    "NormalWithSoftplusScale": ({"loc": 0.5, "scale": 1.0}, stats.norm(0.5, np.log1p(np.e))),
    "LaplaceWithSoftplusScale": ({"loc": 0.5, "scale": 1.0}, stats.laplace(0.5, np.log1p(np.e))),
    "ExponentialWithSoftplusRate": ({"rate": 1.0}, stats.expon(scale=1 / np.log1p(np.e))),
    "GammaWithSoftplusConcentrationRate": (
        {"concentration": 1.0, "rate": 1.0},
        stats.gamma(np.log1p(np.e), scale=1 / np.log1p(np.e)),
    ),
    "BetaWithSoftplusConcentration": (
        {"concentration1": 1.0, "concentration0": 2.0},
        stats.beta(np.log1p(np.e), np.log1p(np.exp(2))),
    ),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize("name", CASES)
def test_distribution(name: str) -> None:
    arguments, reference = CASES[name]
    made = getattr(ds, name)(**arguments)
    discrete = hasattr(reference.dist, "pmf")
    x = COUNTS if discrete else X / 5 if "Beta" in name else X
    wanted = {
        "log_prob": (reference.logpmf if discrete else reference.logpdf)(x),
        "cdf": reference.cdf(x),
    }
    found = run({key: getattr(made, key)(x) for key in wanted})
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=2e-4, atol=1e-5, err_msg=key)
    samples = run(made.sample(40000, seed=7)).astype(np.float64)
    if name == "Cauchy":
        assert np.isnan(run([made.mean(), made.stddev()])).all()
        np.testing.assert_allclose(np.percentile(samples, [25, 50, 75]), reference.ppf([0.25, 0.5, 0.75]), atol=0.1)
        return
    mean, variance = run([made.mean(), made.variance()])
    np.testing.assert_allclose([mean, variance], [reference.mean(), reference.var()], rtol=1e-4)
    np.testing.assert_allclose(samples.mean(), reference.mean(), atol=5 * reference.std() / 200)


@pytest.mark.parametrize("name", ["Logistic", "Gumbel", "Cauchy", "HalfNormal", "InverseGamma", "Geometric"])
def test_entropy_and_shapes(name: str) -> None:
    arguments, reference = CASES[name]
    batch = {key: np.full(2, value, np.float32) for key, value in arguments.items()}
    made = getattr(ds, name)(**batch)
    assert made.batch_shape.as_list() == [2] and made.event_shape.as_list() == []
    assert made.sample([3, 4]).shape.as_list() == [3, 4, 2]
    np.testing.assert_allclose(run(made.entropy()), [reference.entropy()] * 2, rtol=1e-4)
    mode = run(made.mode())
    density = reference.pmf if hasattr(reference.dist, "pmf") else reference.pdf
    assert (density(mode) >= density(mode + 1)).all()


@pytest.mark.parametrize("name", ["Logistic", "Gumbel", "Cauchy"])
def test_quantiles_invert_the_cdf(name: str) -> None:
    made = getattr(ds, name)(**CASES[name][0])
    np.testing.assert_allclose(run(made.quantile(made.cdf(X))), X, rtol=1e-4)


def test_gradients_flow_through_samples() -> None:
    loc, scale = tf.constant(1.0), tf.constant(2.0)
    sample = ds.Gumbel(loc, scale).sample(seed=3)
    value, by_loc, by_scale = run([sample, *tf.gradients(sample, [loc, scale])])
    assert by_loc == 1.0
    np.testing.assert_allclose(by_scale, (value - 1.0) / 2.0, rtol=1e-5)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        ds.Geometric()
    with pytest.raises(ValueError, match="undefined for Cauchy"):
        ds.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()


def test_a_constant() -> None:
    made = ds.Deterministic([1.0, 2.0], atol=0.1)
    probs, below, samples = run([made.prob([1.05, 2.5]), made.cdf([0.5, 3.0]), made.sample(3)])
    assert probs.tolist() == [1, 0] and below.tolist() == [0, 1] and samples.tolist() == [[1, 2]] * 3


@pytest.mark.parametrize("interpolation", ["nearest", "lower", "higher"])
@pytest.mark.parametrize("axis", [None, 1, [0, -1]])
def test_percentiles(interpolation: str, axis: Any) -> None:
    x = np.random.default_rng(1).normal(size=(3, 4, 5)).astype(np.float32)
    for q in (0, 37, 100):
        found = ds.percentile(x, q, axis, interpolation)
        kept = ds.percentile(x, q, axis, interpolation, keep_dims=True)
        axes = tuple(axis) if isinstance(axis, list) else axis
        wanted = np.percentile(x, q, axis=axes, method=interpolation)
        assert found.shape.as_list() == list(wanted.shape)
        np.testing.assert_array_equal(run(found), wanted)
        np.testing.assert_array_equal(run(kept), np.percentile(x, q, axis=axes, method=interpolation, keepdims=True))
    with pytest.raises(ValueError, match="interpolation"):
        ds.percentile(x, 50, interpolation="cubic")


def test_the_inverse_of_softplus() -> None:
    y = np.array([-30.0, -1.0, 0.0, 5.0, 80.0], np.float32)
    x = tf.nn.softplus(y)
    inverse = ds.softplus_inverse(x)
    found, slope = run([inverse, tf.gradients(inverse, x)[0]])
    np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-5)
    assert np.isfinite(slope).all()


def test_matrices_of_vectors() -> None:
    lower, upper = ds.fill_triangular(np.arange(1.0, 7.0)), ds.fill_triangular(np.arange(1.0, 7.0), upper=True)
    assert run(lower).tolist() == [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
    assert run(upper).tolist() == [[1, 2, 3], [0, 5, 6], [0, 0, 4]]
    assert run(ds.fill_triangular(np.zeros([2, 3]))).shape == (2, 2, 2)
    with pytest.raises(ValueError, match="triangular matrix"):
        ds.fill_triangular([1.0, 2.0])
    assert run(ds.tridiag([1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0])).tolist() == [[3, 6, 0], [1, 4, 7], [0, 2, 5]]
    assert run(ds.tridiag(below=[1.0])).tolist() == [[0, 0], [1, 0]]
    with pytest.raises(ValueError, match="at least one"):
        ds.tridiag()
    assert run(ds.matrix_diag_transform(np.ones([2, 2]), tf.negative)).tolist() == [[-1, 1], [1, -1]]
