"""Corners of distributions: shapes that broadcast, statistics that do not exist, values outside, divergences."""

import numpy as np


def _all(tf, distribution, values, methods):
    """Returns functions of values, statistics and shapes."""
    found = []
    for method in methods.split():
        function = getattr(distribution, method)
        found.append(function(values) if method in _OF_VALUES else function())
    shapes = distribution.batch_shape_tensor(), distribution.event_shape_tensor()
    static = str(distribution.batch_shape), str(distribution.event_shape), distribution.dtype.name, distribution.name
    return found, shapes, static, sorted(distribution.parameters)


_OF_VALUES = {
    *("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival_function", "quantile"),
}
_POINTS = [[-30.0], [-2.0], [0.0], [0.25], [1.0], [3.5], [40.0]]
_DENSITY = "prob log_prob cdf log_cdf survival_function log_survival_function entropy mean variance stddev mode"


def normal(tf):
    d = tf.distributions.Normal([0.0, 1.0, -2.0], [1.0, 0.5, 3.0])
    return _all(tf, d, _POINTS, _DENSITY)


def normal_in_double(tf):
    d = tf.distributions.Normal(np.float64(0.5), np.float64([2.0, 4.0]))
    return _all(tf, d, np.array(_POINTS), _DENSITY)


def normal_broadcasts(tf):
    d = tf.distributions.Normal(tf.zeros([2, 1]), tf.ones([3]))
    return d.batch_shape_tensor(), str(d.batch_shape), d.mean(), d.entropy(), d.sample([4, 5]).shape.as_list()


def normal_quantiles(tf):
    d = tf.distributions.Normal([0.0, 1.0], 2.0)
    return d.quantile([[0.001], [0.5], [0.9999]]), d.quantile([0.0, 1.0])


def normal_slopes(tf):
    loc, scale = tf.constant([0.0, 1.0]), tf.constant([1.0, 2.0])
    d = tf.distributions.Normal(loc, scale)
    x = tf.constant([[0.5], [-20.0], [9.0]])
    return [tf.gradients(f(x), [loc, scale, x]) for f in (d.log_prob, d.cdf, d.log_cdf)]


def policy(tf):
    """A step of policy gradient, as agents for continuous actions make it."""
    mu = tf.Variable([[0.1], [0.2]])
    sigma = tf.Variable([[1.0], [0.5]])
    d = tf.distributions.Normal(loc=tf.squeeze(mu, 1), scale=tf.squeeze(sigma, 1))
    loss = -tf.reduce_mean(d.log_prob([0.3, -0.4]) * [1.0, 2.0]) - 0.01 * tf.reduce_mean(d.entropy())
    return loss, tf.gradients(loss, [mu, sigma])


def uniform(tf):
    d = tf.distributions.Uniform([0.0, -1.0, 0.5], [1.0, 3.0, 0.75])
    methods = "prob log_prob cdf survival_function entropy mean variance stddev range"
    return _all(tf, d, _POINTS, methods), tf.distributions.Uniform().prob([0.0, 0.5, 1.0, np.nan])


def laplace(tf):
    d = tf.distributions.Laplace([0.0, 1.0], [1.0, 0.5])
    return _all(tf, d, _POINTS, _DENSITY)


def student(tf):
    d = tf.distributions.StudentT([0.5, 1.5, 2.0, 7.0], 1.0, [1.0, 2.0, 0.5, 3.0])
    return _all(tf, d, [[-3.0], [0.0], [1.0], [20.0]], "prob log_prob entropy mean variance stddev mode")


def student_cdf(tf):
    d = tf.distributions.StudentT(3.0, 1.0, [1.0, 2.0])
    return d.cdf([[-3.0], [0.0], [1.0], [20.0]])


def student_without_statistics(tf):
    return tf.distributions.StudentT(0.5, 1.0, 1.0, allow_nan_stats=False).mean()


def gamma(tf):
    d = tf.distributions.Gamma([0.5, 1.0, 3.0], [1.0, 2.0, 0.5])
    return _all(tf, d, [[0.0], [0.25], [1.0], [9.0]], "prob log_prob cdf entropy mean variance stddev mode")


def gamma_without_mode(tf):
    return tf.distributions.Gamma([0.5, 2.0], 1.0, allow_nan_stats=False).mode()


def exponential(tf):
    d = tf.distributions.Exponential([0.5, 2.0])
    methods = "prob log_prob cdf log_survival_function survival_function entropy mean variance mode"
    return _all(tf, d, [[0.0], [0.25], [1.0], [9.0]], methods)


def beta(tf):
    d = tf.distributions.Beta([0.5, 1.0, 3.0], [2.0, 1.0, 4.0])
    points = [[0.1, 0.2, 0.3], [0.5, 0.6, 0.9]]
    found = _all(tf, d, points, "prob log_prob entropy mean variance stddev mode")
    return found, tf.distributions.Beta(2.0, 3.0).cdf([0.1, 0.5]), d.total_concentration


def dirichlet(tf):
    d = tf.distributions.Dirichlet([1.5, 2.0, 3.0])
    methods = "prob log_prob entropy mean variance stddev covariance mode"
    return _all(tf, d, [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], methods)


def dirichlet_batch(tf):
    d = tf.distributions.Dirichlet([[1.5, 2.0, 3.0], [0.5, 0.5, 1.0]])
    return _all(tf, d, [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], "log_prob entropy mean variance covariance")


def dirichlet_multinomial(tf):
    d = tf.distributions.DirichletMultinomial(4.0, [[1.5, 2.0, 3.0], [0.5, 0.5, 1.0]])
    counts = [[1.0, 1.0, 2.0], [0.0, 4.0, 0.0]]
    return _all(tf, d, counts, "prob log_prob mean variance stddev covariance"), d.sample([5]).shape.as_list()


def multinomial(tf):
    d = tf.distributions.Multinomial([4.0, 2.0], probs=[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    counts = [[1.0, 1.0, 2.0], [0.0, 2.0, 0.0]]
    return _all(tf, d, counts, "prob log_prob mean variance stddev covariance"), d.sample(3).shape.as_list()


def multinomial_by_logits(tf):
    d = tf.distributions.Multinomial(total_count=3.0, logits=[0.1, -2.0, 0.7])
    return _all(tf, d, [[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]], "log_prob mean covariance")


def bernoulli(tf):
    first = tf.distributions.Bernoulli(logits=[-2.0, 0.0, 3.0])
    second = tf.distributions.Bernoulli(probs=[0.1, 0.5, 0.9], dtype=tf.float32)
    methods = "prob log_prob entropy mean variance stddev mode"
    return [_all(tf, d, [[0], [1]], methods) for d in (first, second)], first.probs, second.logits


def bernoulli_floats(tf):
    return tf.distributions.Bernoulli(logits=[[-2.0, 0.0, 3.0]]).log_prob(tf.constant([[1.0], [0.0]]))


def categorical(tf):
    first = tf.distributions.Categorical(logits=[[-2.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    second = tf.distributions.Categorical(probs=[[0.1, 0.4, 0.5], [0.9, 0.1, 0.0]], dtype=tf.int64)
    methods = "prob log_prob entropy mode"
    return [_all(tf, d, [1, 2], methods) for d in (first, second)], first.probs, second.logits, first.event_size


def categorical_broadcasts(tf):
    d = tf.distributions.Categorical(logits=[[-2.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    return d.log_prob(1), d.log_prob([[0], [1], [2]]), d.cdf([[0], [1], [3]]), d.sample([4]).shape.as_list()


def categorical_of_one(tf):
    d = tf.distributions.Categorical(logits=[1.0, 2.0, 3.0])
    return d.log_prob([0, 1, 2]), d.log_prob(2), d.mode(), d.entropy(), d.sample().shape.as_list()


def categorical_of_unknown_shape(tf):
    logits = tf.placeholder_with_default([[-2.0, 0.0, 3.0], [0.0, 0.0, 0.0]], [None, 3])
    d = tf.distributions.Categorical(logits=logits)
    action = d.sample()
    return str(d.batch_shape), tf.shape(action), d.log_prob(tf.constant([1, 0])), d.entropy(), action.shape.as_list()


def actor(tf):
    """A step of policy gradient over classes, and the divergence from an older policy."""
    logits = tf.Variable([[0.1, 0.2, 0.7], [1.0, 0.0, -1.0]])
    old = tf.stop_gradient(logits * 0.5)
    new, older = tf.distributions.Categorical(logits=logits), tf.distributions.Categorical(logits=old)
    ratio = tf.exp(new.log_prob([1, 2]) - older.log_prob([1, 2]))
    kl = tf.distributions.kl_divergence(older, new)
    loss = -tf.reduce_mean(ratio * [1.0, -2.0]) + 0.1 * tf.reduce_mean(kl) - 0.01 * tf.reduce_mean(new.entropy())
    return loss, kl, tf.gradients(loss, logits)


def divergences(tf):
    t = tf.distributions
    pairs = [
        (t.Normal([0.0, 1.0], 1.0), t.Normal(0.5, [2.0, 3.0])),
        (t.Bernoulli(logits=[0.0, 1.0]), t.Bernoulli(probs=[0.3, 0.9])),
        (t.Categorical(logits=[0.0, 1.0, 2.0]), t.Categorical(probs=[0.2, 0.3, 0.5])),
        (t.Beta(2.0, 3.0), t.Beta(1.0, [0.5, 4.0])),
        (t.Dirichlet([1.0, 2.0]), t.Dirichlet([0.5, 0.5])),
        (t.Gamma(2.0, 3.0), t.Gamma(1.0, [0.5, 4.0])),
        (t.Exponential(2.0), t.Exponential([0.5, 4.0])),
    ]
    found = [(t.kl_divergence(a, b), a.kl_divergence(b), a.cross_entropy(b)) for a, b in pairs]
    return found, t.kl_divergence(t.Exponential(2.0), t.Gamma(1.0, 2.0))


def divergence_that_is_not_there(tf):
    return tf.distributions.kl_divergence(tf.distributions.Normal(0.0, 1.0), tf.distributions.Gamma(1.0, 1.0))


def own_divergence(tf):
    class Mine(tf.distributions.Normal):
        pass

    @tf.distributions.RegisterKL(Mine, Mine)
    def divergence(a, b, name=None):
        return a.loc - b.loc

    normal, mine = tf.distributions.Normal(0.0, 1.0), Mine(2.0, 1.0)
    return mine.kl_divergence(mine.copy(loc=0.5)), mine.kl_divergence(normal), normal.kl_divergence(mine)


def own_distribution(tf):
    class Half(tf.distributions.Distribution):
        def __init__(self):
            kind = tf.distributions.NOT_REPARAMETERIZED
            super().__init__(tf.float32, kind, validate_args=False, allow_nan_stats=True, name="Half")

        def _batch_shape(self):
            return tf.TensorShape([])

        def _event_shape(self):
            return tf.TensorShape([])

        def _log_prob(self, x):
            return -x

        def _variance(self):
            return tf.constant(4.0)

    d = Half()
    return d.prob(2.0), d.stddev(), d.name, d.batch_shape_tensor(), str(d)


def not_defined(tf):
    return tf.distributions.Categorical(logits=[1.0, 2.0]).mean()


def both_logits_and_probs(tf):
    return tf.distributions.Bernoulli(logits=0.0, probs=0.5)


def integer_probs(tf):
    return tf.distributions.Bernoulli(probs=1)


def different_types(tf):
    return tf.distributions.Normal(np.float32(0.0), np.float64(1.0))


def integer_parameters(tf):
    return tf.distributions.Normal(0, 1)


def invalid_scale(tf):
    return tf.distributions.Normal(0.0, tf.placeholder_with_default(-1.0, []), validate_args=True).mean()


def invalid_probs(tf):
    probs = tf.placeholder_with_default([0.3, 0.3], [2])
    return tf.distributions.Categorical(probs=probs, validate_args=True).entropy()


def invalid_interval(tf):
    low = tf.placeholder_with_default(1.0, [])
    return tf.distributions.Uniform(low, 0.5, validate_args=True).mean()


def invalid_event(tf):
    event = tf.placeholder_with_default([2], [1])
    return tf.distributions.Bernoulli(logits=[0.0], validate_args=True).log_prob(event)


def invalid_counts(tf):
    counts = tf.placeholder_with_default([1.0, 1.0], [2])
    return tf.distributions.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True).log_prob(counts)


def one_class(tf):
    return tf.distributions.Categorical(logits=[1.0], validate_args=True)


def shapes_of_parameters(tf):
    t = tf.distributions
    static = [
        {k: v.as_list() for k, v in d.param_static_shapes([2, 3]).items()} for d in (t.Normal, t.StudentT, t.Beta)
    ]
    return static, t.Exponential.param_shapes([4]), t.Bernoulli.param_shapes([4])


def scalars(tf):
    d, e = tf.distributions.Normal([0.0], 1.0), tf.distributions.Dirichlet([1.0, 2.0])
    return d.is_scalar_event(), d.is_scalar_batch(), e.is_scalar_event(), e.is_scalar_batch()


def names(tf):
    first, second = tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal(0.0, 1.0)
    return first.name, second.name, second.mean().name.split("/")[:2], repr(first), str(second)


def reparameterized(tf):
    t = tf.distributions
    made = [t.Normal(0.0, 1.0), t.Categorical(logits=[0.0, 1.0]), t.Gamma(1.0, 1.0)]
    return [d.reparameterization_type == t.FULLY_REPARAMETERIZED for d in made], repr(t.NOT_REPARAMETERIZED)


def gradients_through_samples(tf):
    loc, scale = tf.constant([0.0, 1.0]), tf.constant(1.0)
    d = tf.distributions.Normal(loc, scale)
    logits = tf.constant([0.0, 1.0])
    draws = tf.distributions.Categorical(logits=logits, dtype=tf.float32).sample(3)
    return tf.gradients(d.sample(4), loc), tf.gradients(draws, logits)


def sample_shapes(tf):
    d = tf.distributions.Normal(tf.zeros([2, 1]), tf.ones([3]))
    size = tf.placeholder_with_default(4, [])
    made = [d.sample(), d.sample(4), d.sample([4]), d.sample([4, 5]), d.sample(size), d.sample([size, 2])]
    return [(x.shape.as_list(), tf.shape(x)) for x in made]


def sample_of_matrix_shape(tf):
    return tf.distributions.Normal(0.0, 1.0).sample([[1, 2]])
