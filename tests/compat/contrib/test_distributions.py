"""Further distributions: samples against statistics, densities against formulas, divergences by sampling."""

from typing import Any

import numpy as np
import pytest

import thalweg as tf

d = tf.contrib.distributions
b = d.bijectors
DRAWS = 40_000
LOWER = [[[1.0, 0.0], [0.5, 2.0]], [[0.5, 9.0], [-1.0, 0.3]]]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(*values: Any) -> Any:
    with tf.Session() as session:
        return session.run(values if len(values) > 1 else values[0])


MADE = {
    "diag": lambda: d.MultivariateNormalDiag([[0.0, 1.0], [2.0, 3.0]], [1.0, 0.5], scale_identity_multiplier=2.0),
    "tril": lambda: d.MultivariateNormalTriL([1.0, -1.0], LOWER),
    "full": lambda: d.MultivariateNormalFullCovariance(covariance_matrix=[[2.0, 0.5], [0.5, 1.0]]),
    "independent": lambda: d.Independent(d.Normal([[0.0, 1.0], [2.0, 3.0]], [1.0, 0.5])),
    "one_hot": lambda: d.OneHotCategorical(probs=[[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], dtype=tf.float32),
    "poisson": lambda: d.Poisson([0.5, 4.0]),
    "mixture": lambda: d.Mixture(
        d.Categorical(probs=[[0.3, 0.7], [0.9, 0.1]]), [d.Normal([0.0, 1.0], 1.0), d.Normal([4.0, -4.0], [0.5, 2.0])]
    ),
    "same_family": lambda: d.MixtureSameFamily(
        d.Categorical(probs=[0.3, 0.7]), d.Normal([[0.0, 4.0], [1.0, -4.0]], [1.0, 0.5])
    ),
    "same_family_vectors": lambda: d.MixtureSameFamily(
        d.Categorical(probs=[0.3, 0.7]), d.MultivariateNormalDiag([[0.0, 1.0], [5.0, 2.0]], [[1.0, 0.5], [2.0, 1.0]])
    ),
    "affine": lambda: d.TransformedDistribution(d.Normal([0.0, 1.0], [1.0, 2.0]), b.AffineScalar(1.0, 3.0)),
}
MOMENTS = [name for name in MADE if name != "affine"]


@pytest.mark.parametrize("name", MOMENTS)
def test_sample_moments(name: str) -> None:
    made = MADE[name]()
    draws, mean, variance = run(made.sample(DRAWS, seed=1), made.mean(), made.variance())
    assert draws.shape == (DRAWS, *mean.shape)
    assert made.sample(3).shape.as_list() == [3, *mean.shape]
    deviation = np.sqrt(variance)
    assert np.all(np.abs(draws.mean(0) - mean) < 5 * deviation / np.sqrt(DRAWS) + 1e-6)
    np.testing.assert_allclose(draws.std(0), deviation, rtol=0.08)


@pytest.mark.parametrize("name", ["diag", "tril", "full", "one_hot"])
def test_sample_covariance(name: str) -> None:
    made = MADE[name]()
    draws, covariance = run(made.sample(DRAWS, seed=2), made.covariance())
    draws, covariance = draws.reshape(DRAWS, -1, draws.shape[-1]), covariance.reshape(-1, *covariance.shape[-2:])
    for i, expected in enumerate(covariance):
        np.testing.assert_allclose(np.cov(draws[:, i].T), expected, atol=0.12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["diag", "tril", "full"])
def test_multivariate_log_densities(name: str) -> None:
    made = MADE[name]()
    x = np.random.default_rng(0).normal(size=(3, 2, 2) if name != "full" else (3, 2)).astype(np.float32)
    logs, entropy, mean, covariance, drawn = run(
        made.log_prob(x), made.entropy(), made.mean(), made.covariance(), made.log_prob(made.sample(DRAWS, seed=3))
    )
    gap = x - mean
    quadratic = np.einsum("...i,...ij,...j->...", gap, np.linalg.inv(covariance), gap)
    expected = -0.5 * (quadratic + np.log(np.linalg.det(covariance)) + 2 * np.log(2 * np.pi))
    np.testing.assert_allclose(logs, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(-drawn.mean(0), entropy, atol=0.05)


def test_multivariate_kl_divergences() -> None:
    made = [MADE["diag"](), MADE["tril"]()]
    for one in made:
        for other in made:
            x = one.sample(DRAWS, seed=5)
            expected, got = run(tf.reduce_mean(one.log_prob(x) - other.log_prob(x), 0), d.kl_divergence(one, other))
            np.testing.assert_allclose(got, expected, rtol=0.1, atol=0.1)
    p, q = (d.Independent(d.Normal([0.0, 1.0], scale), 1) for scale in (1.0, 2.0))
    plain = d.kl_divergence(p.distribution, q.distribution)
    both = run(d.kl_divergence(p, q), plain)
    np.testing.assert_allclose(both[0], both[1].sum(), rtol=1e-6)


@pytest.mark.parametrize("name", ["mixture", "same_family"])
def test_mixture_density_and_cdf(name: str) -> None:
    made = MADE[name]()
    grid = np.linspace(-15, 15, 6001, dtype=np.float32)[:, None] * np.ones(2, np.float32)
    density, integral = run(made.prob(grid), made.cdf(grid))
    np.testing.assert_allclose(density.sum(0) * 0.005, [1, 1], rtol=1e-3)
    np.testing.assert_allclose(np.cumsum(density, 0) * 0.005, integral, atol=3e-3)


def test_one_hot() -> None:
    made = MADE["one_hot"]()
    draws, entropy, mode = run(made.sample(5, seed=1), made.entropy(), made.mode())
    assert set(draws.ravel()) <= {0.0, 1.0} and (draws.sum(-1) == 1).all()
    assert mode.tolist() == [[0, 0, 1], [0, 1, 0]]
    np.testing.assert_allclose(entropy[0], -sum(p * np.log(p) for p in (0.2, 0.3, 0.5)), rtol=1e-5)
    np.testing.assert_allclose(run(made.prob([[0.0, 1.0, 0.0]] * 2)), [0.3, 0.8], rtol=1e-5)


def test_relaxed_classes() -> None:
    logits = tf.constant([[1.0, 2.0, 0.5]])
    made = d.RelaxedOneHotCategorical(0.5, logits=logits)
    sharp = d.RelaxedOneHotCategorical(0.01, logits=logits)
    logs = d.ExpRelaxedOneHotCategorical(0.5, logits=logits)
    draws, near, (grad,) = run(
        made.sample(1000, seed=1), sharp.sample(DRAWS, seed=1), tf.gradients(made.sample(3)[..., 0], logits)
    )
    np.testing.assert_allclose(draws.sum(-1), np.ones((1000, 1)), rtol=1e-5)
    assert np.abs(grad).sum() > 0
    np.testing.assert_allclose(near.mean((0, 1)), run(tf.nn.softmax(logits))[0], atol=0.02)
    x = tf.constant([[0.2, 0.5, 0.3]])
    a, c = run(made.log_prob(x), logs.log_prob(tf.log(x)) - tf.reduce_sum(tf.log(x), -1))
    np.testing.assert_allclose(a, c, rtol=1e-5)
    two = d.RelaxedOneHotCategorical(0.7, logits=[0.3, -0.4])
    one = d.RelaxedBernoulli(0.7, logits=0.7)
    np.testing.assert_allclose(*run(two.log_prob([0.2, 0.8]), one.log_prob(0.2)), rtol=1e-4)
    grid = np.linspace(0.0005, 0.9995, 1000, dtype=np.float32)
    density, integral = run(one.prob(grid), one.cdf(grid))
    np.testing.assert_allclose(np.cumsum(density) * 0.001, integral, atol=2e-2)


def test_counts() -> None:
    made = d.Binomial(5.0, probs=[0.2, 0.9])
    chances = run(made.prob(np.arange(6, dtype=np.float32)[:, None]))
    np.testing.assert_allclose(chances.sum(0), [1, 1], rtol=1e-4)
    np.testing.assert_allclose(np.arange(6) @ chances, run(made.mean()), rtol=1e-4)
    poisson = MADE["poisson"]()
    np.testing.assert_allclose(run(poisson.prob([2.0, 2.0])), [np.exp(-0.5) * 0.125, np.exp(-4) * 8], rtol=1e-4)
    with pytest.raises(ValueError, match="exactly one"):
        d.Poisson()


@pytest.mark.parametrize(
    "make",
    [
        lambda: b.Exp(),
        lambda: b.Sigmoid(),
        lambda: b.Tanh(),
        lambda: b.Softplus(hinge_softness=2.0),
        lambda: b.AffineScalar(1.0, -2.0),
        lambda: b.Chain([b.Exp(), b.AffineScalar(0.5, 2.0)]),
        lambda: b.Invert(b.Exp()),
        lambda: b.Identity(),
    ],
)
def test_bijectors_of_numbers(make: Any) -> None:
    x = tf.constant([0.3, 0.7, 1.1])
    y = make().forward(x)
    back = make().inverse(y)
    slope = tf.gradients(y, x)[0]
    got = run(back, tf.log(tf.abs(slope)), make().forward_log_det_jacobian(x, 0), make().inverse_log_det_jacobian(y, 0))
    np.testing.assert_allclose(got[0], [0.3, 0.7, 1.1], rtol=1e-4)
    np.testing.assert_allclose(got[1], got[2], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(-got[2], got[3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "scale",
    [{}, {"scale_diag": [2.0, 3.0]}, {"scale_identity_multiplier": 4.0}, {"scale_tril": [[2.0, 0.0], [1.0, 3.0]]}],
)
def test_affine_makes_the_vector_distributions(scale: Any) -> None:
    base = d.MultivariateNormalDiag([0.0, 0.0], [1.0, 1.0])
    made = d.TransformedDistribution(base, b.Affine([1.0, -1.0], **scale))
    matrix = scale.get(
        "scale_tril", np.diag(scale.get("scale_diag", [scale.get("scale_identity_multiplier", 1.0)] * 2))
    )
    same = d.MultivariateNormalTriL([1.0, -1.0], np.asarray(matrix, np.float32))
    x = tf.constant([[0.5, 0.2], [1.0, 2.0], [-1.0, 3.0]])
    pairs = [(made.log_prob(x), same.log_prob(x)), (made.mean(), same.mean()), (made.entropy(), same.entropy())]
    for got, expected in run(pairs):
        np.testing.assert_allclose(got, expected, rtol=1e-4)
    assert run(made.sample(4)).shape == (4, 2)


def test_a_log_normal() -> None:
    made = d.TransformedDistribution(d.Normal(0.5, 0.7), b.Exp())
    grid = np.linspace(0.001, 60, 60000, dtype=np.float32)
    np.testing.assert_allclose(run(tf.reduce_sum(made.prob(grid))) * 0.001, 1.0, rtol=1e-2)
    assert run(made.cdf(np.exp(0.5).astype(np.float32))) == pytest.approx(0.5, abs=1e-5)
    with pytest.raises(NotImplementedError, match="mean"):
        made.mean()


def test_invalid_arguments_are_reported() -> None:
    with pytest.raises(ValueError, match="at least one"):
        d.MultivariateNormalDiag()
    with pytest.raises(ValueError, match="reinterpreted_batch_ndims"):
        d.Independent(d.Normal([0.0], 1.0), 2)
    with pytest.raises(ValueError, match="non-empty"):
        d.Mixture(d.Categorical(probs=[1.0]), [])
    with pytest.raises(ValueError, match=r"2 vs\. 1"):
        d.Mixture(d.Categorical(probs=[0.5, 0.5]), [d.Normal(0.0, 1.0)])
    checked = d.MultivariateNormalDiag([0.0, 0.0], tf.placeholder_with_default([1.0, 0.0], [2]), validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(checked.sample())
