"""tf.contrib.distributions: the distributions of tf.distributions, and further ones."""

from thalweg._src.contrib.distributions import bijectors
from thalweg._src.contrib.distributions.compound import (
    Independent,
    Mixture,
    MixtureSameFamily,
    TransformedDistribution,
)
from thalweg._src.contrib.distributions.multivariate import (
    MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from thalweg._src.contrib.distributions.relaxed import (
    Binomial,
    ExpRelaxedOneHotCategorical,
    OneHotCategorical,
    Poisson,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from thalweg._src.nn.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from thalweg._src.nn.distributions.continuous import Laplace, Normal, StudentT, Uniform
from thalweg._src.nn.distributions.discrete import Bernoulli, Categorical, Multinomial
from thalweg._src.nn.distributions.divergence import RegisterKL, kl_divergence
from thalweg._src.nn.distributions.positive import Exponential, Gamma
from thalweg._src.nn.distributions.simplex import Beta, Dirichlet, DirichletMultinomial

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "ExpRelaxedOneHotCategorical",
    "Exponential",
    "FULLY_REPARAMETERIZED",
    "Gamma",
    "Independent",
    "Laplace",
    "Mixture",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormalDiag",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
    "NOT_REPARAMETERIZED",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "RegisterKL",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReparameterizationType",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "bijectors",
    "kl_divergence",
]
