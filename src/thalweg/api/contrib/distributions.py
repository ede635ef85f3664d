"""tf.contrib.distributions: the distributions of tf.distributions, and further ones."""

from thalweg.library.distributions import (
    bijectors,
)
from thalweg.library.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from thalweg.library.distributions.compound import (
    Independent,
    Mixture,
    MixtureSameFamily,
    TransformedDistribution,
)
from thalweg.library.distributions.continuous import Laplace, Normal, StudentT, Uniform
from thalweg.library.distributions.discrete import Bernoulli, Categorical, Multinomial
from thalweg.library.distributions.divergence import RegisterKL, kl_divergence
from thalweg.library.distributions.multivariate import (
    MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from thalweg.library.distributions.positive import Exponential, Gamma
from thalweg.library.distributions.relaxed import (
    Binomial,
    ExpRelaxedOneHotCategorical,
    OneHotCategorical,
    Poisson,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from thalweg.library.distributions.simplex import Beta, Dirichlet, DirichletMultinomial

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
