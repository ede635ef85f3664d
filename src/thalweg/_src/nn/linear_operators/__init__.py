"""Linear operators: matrices known by what they do."""

from thalweg._src.nn.linear_operators import combined, plain  # noqa: F401  which operators of all modules return
