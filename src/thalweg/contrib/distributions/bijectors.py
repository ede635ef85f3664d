"""tf.contrib.distributions.bijectors: Bijectors: invertible transformations of distributions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.distributions.bijectors import (
    Affine as Affine,
    AffineScalar as AffineScalar,
    Bijector as Bijector,
    Chain as Chain,
    Exp as Exp,
    Identity as Identity,
    Invert as Invert,
    Sigmoid as Sigmoid,
    Softplus as Softplus,
    Tanh as Tanh,
)

__all__ = ["Affine", "AffineScalar", "Bijector", "Chain", "Exp", "Identity", "Invert", "Sigmoid", "Softplus", "Tanh"]
