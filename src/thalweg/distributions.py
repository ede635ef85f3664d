"""tf.distributions: Probability distributions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

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

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Dirichlet", "DirichletMultinomial", "Distribution", "Exponential",
    "FULLY_REPARAMETERIZED", "Gamma", "Laplace", "Multinomial", "NOT_REPARAMETERIZED", "Normal", "RegisterKL",
    "ReparameterizationType", "StudentT", "Uniform", "kl_divergence",
]
