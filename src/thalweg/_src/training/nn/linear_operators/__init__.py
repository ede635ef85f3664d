"""Linear operators: matrices known by what they do."""

from thalweg._src.training.nn.linear_operators import (  # noqa: F401  which operators of all modules return
    combined,
    plain,
)
