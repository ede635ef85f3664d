"""Distributions: samples against their statistics, densities against integrals, divergences by sampling."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thalweg as tf

t = tf.distributions
DRAWS = 40_000


def run(*values: Any) -> Any:
    with tf.Session() as session:
        return session.run(values if len(values) > 1 else values[0])


MADE: dict[str, Callable[[], Any]] = {
    "normal": lambda: t.Normal([0.0, -1.5], [1.0, 0.5]),
    "laplace": lambda: t.Laplace([0.0, -1.5], [1.0, 0.5]),
    "student": lambda: t.StudentT(9.0, [0.0, -1.5], [1.0, 0.5]),
    "uniform": lambda: t.Uniform([0.0, -1.5], [1.0, 0.5]),
    "gamma": lambda: t.Gamma([2.0, 0.5], [1.0, 3.0]),
    "exponential": lambda: t.Exponential([2.0, 0.5]),
    "beta": lambda: t.Beta([2.0, 0.5], [1.0, 3.0]),
    "bernoulli": lambda: t.Bernoulli(probs=[0.2, 0.9], dtype=tf.float32),
    "dirichlet": lambda: t.Dirichlet([[1.0, 2.0, 3.0], [0.5, 0.5, 0.2]]),
    "multinomial": lambda: t.Multinomial([4.0, 7.0], logits=[[1.0, 2.0, 3.0], [0.5, 0.5, 0.2]]),
    "dirichlet_multinomial": lambda: t.DirichletMultinomial(5.0, [[1.0, 2.0, 3.0], [0.5, 0.5, 0.2]]),
}
DENSITIES = ["normal", "laplace", "student", "uniform", "gamma", "exponential"]


@pytest.mark.parametrize("name", MADE)
def test_sample_moments(name: str) -> None:
    made = MADE[name]()
    draws, mean, variance = run(made.sample(DRAWS, seed=1), made.mean(), made.variance())
    assert draws.shape == (DRAWS, *mean.shape)
    deviation = np.sqrt(variance)
    assert np.all(np.abs(draws.mean(0) - mean) < 5 * deviation / np.sqrt(DRAWS))
    np.testing.assert_allclose(draws.std(0), deviation, rtol=0.08)


@pytest.mark.parametrize("name", ["dirichlet", "multinomial", "dirichlet_multinomial"])
def test_sample_covariance(name: str) -> None:
    made = MADE[name]()
    draws, covariance = run(made.sample(DRAWS, seed=1), made.covariance())
    for i in range(2):
        found = np.cov(draws[:, i].T)
        np.testing.assert_allclose(found, covariance[i], atol=0.06 * np.abs(covariance[i]).max())


@pytest.mark.parametrize("name", DENSITIES)
def test_density_is_the_derivative_of_the_cdf(name: str) -> None:
    made = MADE[name]()
    x = tf.constant(np.array([[0.1, 0.2], [0.3, 0.4], [0.8, 0.45]], np.float32))
    slope = tf.gradients(made.cdf(x), x)[0]
    np.testing.assert_allclose(*run(slope, made.prob(x)), rtol=2e-3)
    np.testing.assert_allclose(*run(tf.exp(made.log_cdf(x)), made.cdf(x)), rtol=1e-4)
    np.testing.assert_allclose(*run(made.survival_function(x), 1.0 - made.cdf(x)), atol=1e-5)


@pytest.mark.parametrize("name", [*DENSITIES, "beta", "bernoulli", "dirichlet"])
def test_entropy_is_the_expected_negative_log_density(name: str) -> None:
    made = MADE[name]()
    surprise = -made.log_prob(made.sample(DRAWS, seed=1))
    found, entropy = run(surprise, made.entropy())
    assert np.all(np.abs(found.mean(0) - entropy) < 5 * found.std(0) / np.sqrt(DRAWS) + 1e-3)


PAIRS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "normal": lambda: (t.Normal(0.0, 1.0), t.Normal(0.5, 2.0)),
    "gamma": lambda: (t.Gamma(2.0, 1.0), t.Gamma(3.0, 2.0)),
    "exponential": lambda: (t.Exponential(2.0), t.Gamma(3.0, 2.0)),
    "beta": lambda: (t.Beta(2.0, 3.0), t.Beta(1.5, 1.5)),
    "dirichlet": lambda: (t.Dirichlet([2.0, 1.0, 3.0]), t.Dirichlet([1.0, 1.0, 1.0])),
    "bernoulli": lambda: (t.Bernoulli(probs=0.3), t.Bernoulli(probs=0.6)),
    "categorical": lambda: (t.Categorical(probs=[0.2, 0.3, 0.5]), t.Categorical(logits=[0.0, 1.0, 2.0])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergence_is_the_expected_log_ratio(name: str) -> None:
    a, b = PAIRS[name]()
    draws = a.sample(DRAWS, seed=1)
    ratio, divergence, crossed = run(a.log_prob(draws) - b.log_prob(draws), t.kl_divergence(a, b), a.cross_entropy(b))
    assert abs(ratio.mean() - divergence) < 5 * ratio.std() / np.sqrt(DRAWS) + 1e-4
    np.testing.assert_allclose(crossed, run(a.entropy()) + divergence, rtol=1e-5)


def test_categorical_samples_have_the_given_probabilities() -> None:
    probs = [[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]
    draws = run(t.Categorical(probs=probs).sample(DRAWS, seed=1))
    assert draws.dtype == np.int32
    for i in range(2):
        np.testing.assert_allclose(np.bincount(draws[:, i], minlength=3) / DRAWS, probs[i], atol=0.01)


def test_categorical_of_higher_rank() -> None:
    logits = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    made = t.Categorical(logits=logits)
    draws, scores = run(*((x := made.sample([2, 6], seed=1)), made.log_prob(x)))
    assert draws.shape == scores.shape == (2, 6, 4, 5)
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    i, j = np.arange(4)[:, None], np.arange(5)
    np.testing.assert_allclose(scores[1, 3], expected[i, j, draws[1, 3]], rtol=1e-4)


@pytest.mark.parametrize(
    "make", [lambda c: t.Multinomial(3.0, probs=c), lambda c: t.DirichletMultinomial(3.0, concentration=c)]
)
def test_probabilities_of_counts_sum_to_one(make: Any) -> None:
    counts = np.array([(i, j, 3 - i - j) for i in range(4) for j in range(4 - i)], np.float32)
    np.testing.assert_allclose(run(tf.reduce_sum(make([0.2, 0.3, 0.5]).prob(counts))), 1.0, rtol=1e-5)


def test_normal_far_in_the_tail() -> None:
    made = t.Normal(0.0, 1.0)
    found = run(made.log_cdf([-30.0, -12.0, -9.0, 0.0, 7.0]))
    np.testing.assert_allclose(found, [-454.321244, -75.410673, -43.628149, -0.693147, -1.279813e-12], rtol=1e-5)
    x = tf.constant([-30.0, -5.0, 0.0, 3.0, 9.0])
    assert np.all(np.isfinite(run(tf.gradients(made.log_cdf(x), x)[0])))
    p = np.array([1e-6, 0.2, 0.5, 0.99], np.float32)
    np.testing.assert_allclose(run(made.cdf(made.quantile(p))), p, rtol=1e-4)


@pytest.mark.parametrize("name", ["normal", "laplace", "uniform", "gamma", "beta", "student", "dirichlet"])
def test_samples_are_differentiable(name: str) -> None:
    made = MADE[name]()
    parameters = made._graph_parents[:1]
    assert made.reparameterization_type is t.FULLY_REPARAMETERIZED
    (gradient,) = tf.gradients(made.sample(7, seed=1), parameters)
    assert np.all(np.isfinite(run(gradient)))


def test_a_policy_gradient_learns() -> None:
    """The mean of a normal policy moves to where the reward is, by the gradient of the log probability alone."""
    mean = tf.get_variable("mean", initializer=[-1.0])
    policy = t.Normal(mean, 0.5)
    action = tf.stop_gradient(policy.sample(64, seed=3))
    reward = -tf.square(action - 2.0)
    loss = -tf.reduce_mean(policy.log_prob(action) * (reward - tf.reduce_mean(reward)))
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            session.run(step)
        assert abs(session.run(mean)[0] - 2.0) < 0.3


def test_seeds() -> None:
    for name, make in MADE.items():
        np.testing.assert_array_equal(run(make().sample(5, seed=7)), run(make().sample(5, seed=7)), err_msg=name)


def test_copy_and_parameters() -> None:
    made = t.Normal(loc=1.0, scale=2.0, name="mine")
    assert made.parameters == {
        "loc": 1.0,
        "scale": 2.0,
        "validate_args": False,
        "allow_nan_stats": True,
        "name": "mine",
    }
    other = made.copy(loc=5.0)
    assert run(other.mean(), other.stddev()) == (5.0, 2.0)
    assert t.Exponential(3.0).parameters["rate"] == 3.0


def test_unknown_shapes() -> None:
    loc = tf.placeholder(tf.float32)
    made = t.Normal(loc, tf.ones([3]))
    assert made.batch_shape.ndims is None and made.event_shape.as_list() == []
    draws = made.sample([2, 4])
    with tf.Session() as session:
        assert session.run(draws, {loc: np.zeros((5, 1), np.float32)}).shape == (2, 4, 5, 3)
        assert session.run(made.batch_shape_tensor(), {loc: 0.0}).tolist() == [3]
        assert not session.run(made.is_scalar_batch(), {loc: 0.0})


def test_custom_distributions() -> None:
    class Triangle(t.Distribution):
        def __init__(self) -> None:
            super().__init__(tf.float32, t.NOT_REPARAMETERIZED, validate_args=False, allow_nan_stats=True)

        def _prob(self, value: Any) -> Any:
            return 2.0 * value

    made = Triangle()
    np.testing.assert_allclose(run(made.log_prob(0.5)), 0.0)
    with pytest.raises(NotImplementedError, match="survival_function is not implemented: Triangle"):
        made.survival_function(0.5)
    with pytest.raises(NotImplementedError, match="sample_n is not implemented"):
        made.sample()
    assert made.name == "Triangle/"


def test_divergences_are_registered_once() -> None:
    with pytest.raises(ValueError, match=r"KL\(Normal \|\| Normal\) has already been registered"):
        t.RegisterKL(t.Normal, t.Normal)(lambda a, b, name=None: a)
    with pytest.raises(NotImplementedError, match=r"KL\(Normal \|\| Gamma\)"):
        t.kl_divergence(t.Normal(0.0, 1.0), t.Gamma(1.0, 1.0))
    bad = t.Normal(0.0, 1.0).kl_divergence
    checked = t.Normal(0.0, 1.0, allow_nan_stats=False).kl_divergence(t.Normal(np.float32(np.nan), 1.0))
    assert np.isnan(run(bad(t.Normal(np.float32(np.nan), 1.0))))
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned NaN values"):
        run(checked)
