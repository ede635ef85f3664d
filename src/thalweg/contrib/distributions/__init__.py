"""tf.contrib.distributions: Probability distributions: those of tf.distributions and further ones."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.distributions.compound import (
    Independent as Independent,
    Mixture as Mixture,
    MixtureSameFamily as MixtureSameFamily,
    TransformedDistribution as TransformedDistribution,
)
from thalweg._src.compat.contrib.distributions.multivariate import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from thalweg._src.compat.contrib.distributions.relaxed import (
    Binomial as Binomial,
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
    OneHotCategorical as OneHotCategorical,
    Poisson as Poisson,
    RelaxedBernoulli as RelaxedBernoulli,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from thalweg._src.compat.contrib.distributions.scalar import (
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
    Cauchy as Cauchy,
    Chi2 as Chi2,
    Deterministic as Deterministic,
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
    Geometric as Geometric,
    Gumbel as Gumbel,
    HalfNormal as HalfNormal,
    InverseGamma as InverseGamma,
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
    Logistic as Logistic,
    NegativeBinomial as NegativeBinomial,
    NormalWithSoftplusScale as NormalWithSoftplusScale,
)
from thalweg._src.compat.contrib.distributions.statistics import (
    fill_triangular as fill_triangular,
    matrix_diag_transform as matrix_diag_transform,
    percentile as percentile,
    softplus_inverse as softplus_inverse,
    tridiag as tridiag,
)
from thalweg._src.training.nn.distributions.base import (
    Distribution as Distribution,
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from thalweg._src.training.nn.distributions.continuous import (
    Laplace as Laplace,
    Normal as Normal,
    StudentT as StudentT,
    Uniform as Uniform,
)
from thalweg._src.training.nn.distributions.discrete import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Multinomial as Multinomial,
)
from thalweg._src.training.nn.distributions.divergence import (
    RegisterKL as RegisterKL,
    kl_divergence as kl_divergence,
)
from thalweg._src.training.nn.distributions.positive import (
    Exponential as Exponential,
    Gamma as Gamma,
)
from thalweg._src.training.nn.distributions.simplex import (
    Beta as Beta,
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.distributions import bijectors as bijectors

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["bijectors"],
    {},
)

__all__ = [
    "Bernoulli", "Beta", "BetaWithSoftplusConcentration", "Binomial", "Categorical", "Cauchy", "Chi2", "Deterministic",
    "Dirichlet", "DirichletMultinomial", "Distribution", "ExpRelaxedOneHotCategorical", "Exponential",
    "ExponentialWithSoftplusRate", "FULLY_REPARAMETERIZED", "Gamma", "GammaWithSoftplusConcentrationRate", "Geometric",
    "Gumbel", "HalfNormal", "Independent", "InverseGamma", "Laplace", "LaplaceWithSoftplusScale", "Logistic", "Mixture",
    "MixtureSameFamily", "Multinomial", "MultivariateNormalDiag", "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance", "MultivariateNormalTriL", "NOT_REPARAMETERIZED", "NegativeBinomial", "Normal",
    "NormalWithSoftplusScale", "OneHotCategorical", "Poisson", "RegisterKL", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "ReparameterizationType", "StudentT", "TransformedDistribution", "Uniform", "bijectors",
    "fill_triangular", "kl_divergence", "matrix_diag_transform", "percentile", "softplus_inverse", "tridiag",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
