"""tf.distributions: probability distributions."""

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
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "Gamma",
    "Laplace",
    "Multinomial",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]
