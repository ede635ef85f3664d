"""tf.test: gradient checkers."""

from thalweg.autodiff.numeric import (
    compute_gradient,
    compute_gradient_error,
)

__all__ = ["compute_gradient", "compute_gradient_error"]
