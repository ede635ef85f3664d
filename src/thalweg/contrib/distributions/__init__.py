"""tf.contrib.distributions: Probability distributions: those of tf.distributions and further ones."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.contrib.distributions.compound import (
    Independent as Independent,
    Mixture as Mixture,
    MixtureSameFamily as MixtureSameFamily,
    TransformedDistribution as TransformedDistribution,
)
from thalweg._src.contrib.distributions.multivariate import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from thalweg._src.contrib.distributions.relaxed import (
    Binomial as Binomial,
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
    OneHotCategorical as OneHotCategorical,
    Poisson as Poisson,
    RelaxedBernoulli as RelaxedBernoulli,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from thalweg._src.nn.distributions.base import (
    Distribution as Distribution,
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from thalweg._src.nn.distributions.continuous import (
    Laplace as Laplace,
    Normal as Normal,
    StudentT as StudentT,
    Uniform as Uniform,
)
from thalweg._src.nn.distributions.discrete import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Multinomial as Multinomial,
)
from thalweg._src.nn.distributions.divergence import (
    RegisterKL as RegisterKL,
    kl_divergence as kl_divergence,
)
from thalweg._src.nn.distributions.positive import (
    Exponential as Exponential,
    Gamma as Gamma,
)
from thalweg._src.nn.distributions.simplex import (
    Beta as Beta,
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
)
from thalweg._src.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.distributions import bijectors as bijectors

__getattr__, __dir__ = _lazy_names(
    __name__,
    ("bijectors",),
    {},
)

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
