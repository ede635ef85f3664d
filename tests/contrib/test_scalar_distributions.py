"""Further scalar distributions: samples against statistics, densities against cdfs, entropies by sampling."""

from typing import Any

import numpy as np
import pytest

import thalweg as tf

d = tf.contrib.distributions
DRAWS = 40_000
MADE = {
    "chi2": lambda: d.Chi2([3.0, 7.5]),
    "inverse_gamma": lambda: d.InverseGamma([6.0, 9.0], [1.0, 3.0]),
    "half_normal": lambda: d.HalfNormal([0.5, 2.0]),
    "logistic": lambda: d.Logistic([0.0, -1.5], [1.0, 0.5]),
    "gumbel": lambda: d.Gumbel([0.0, -1.5], [1.0, 0.5]),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(*values: Any) -> Any:
    with tf.Session() as session:
        return session.run(values)


@pytest.mark.parametrize("name", MADE)
def test_samples_agree_with_moments_and_entropy(name: str) -> None:
    made = MADE[name]()
    sample = made.sample(DRAWS, seed=1)
    draws, logs, mean, variance, entropy = run(
        sample, made.log_prob(sample), made.mean(), made.variance(), made.entropy()
    )
    assert draws.shape == (DRAWS, 2) == (DRAWS, *mean.shape)
    np.testing.assert_array_less(np.abs(draws.mean(0) - mean), 5 * np.sqrt(variance / DRAWS))
    np.testing.assert_allclose(draws.std(0), np.sqrt(variance), rtol=0.08)
    np.testing.assert_allclose(-logs.mean(0), entropy, atol=0.03)


@pytest.mark.parametrize("name", MADE)
def test_density_is_the_derivative_of_the_cdf(name: str) -> None:
    made = MADE[name]()
    x = tf.constant(np.array([[0.1, 0.2], [0.3, 0.4], [0.8, 1.7]], np.float32))
    step = 1e-2
    density, above, below = run(made.prob(x), made.cdf(x + step), made.cdf(x - step))
    np.testing.assert_allclose((above - below) / (2 * step), density, rtol=0.05, atol=2e-3)


@pytest.mark.parametrize("name", MADE)
def test_mode_has_the_highest_density(name: str) -> None:
    made = MADE[name]()
    mode = made.mode()
    at, above, below = run(made.prob(mode), made.prob(mode + 0.05), made.prob(mode - 0.05))
    assert np.all(at > above) and np.all(~(below >= at))


@pytest.mark.parametrize("name", ["half_normal", "logistic", "gumbel"])
def test_quantile_inverts_the_cdf(name: str) -> None:
    made = MADE[name]()
    p = np.array([[0.1], [0.5], [0.9]], np.float32)
    found = run(made.cdf(made.quantile(p)))[0]
    np.testing.assert_allclose(found, np.broadcast_to(p, (3, 2)), rtol=1e-4)


def test_moments_that_do_not_exist() -> None:
    mean, variance = run(d.InverseGamma([0.5, 1.5], 1.0).mean(), d.InverseGamma([1.5, 3.0], 1.0).variance())
    np.testing.assert_allclose(mean, [np.nan, 2.0])
    np.testing.assert_allclose(variance, [np.nan, 0.25])
    with pytest.raises(tf.errors.InvalidArgumentError, match="concentration > 1"):
        run(d.InverseGamma([0.5, 1.5], 1.0, allow_nan_stats=False).mean())


def test_divergence_of_half_normals() -> None:
    a, b = d.HalfNormal(0.5), d.HalfNormal(2.0)
    sample = a.sample(DRAWS, seed=2)
    exact, difference = run(d.kl_divergence(a, b), a.log_prob(sample) - b.log_prob(sample))
    np.testing.assert_allclose(difference.mean(), exact, rtol=0.05)


def test_parameters_of_chi2() -> None:
    made = d.Chi2(3.0)
    assert set(made.parameters) >= {"df", "validate_args"}
    np.testing.assert_allclose(run(made.df, made.concentration, made.rate), [3.0, 1.5, 0.5])
