"""Ragged tensors: rows of different lengths, as their joined values and the positions where rows start."""

from thalweg._src.training.nn.ragged import (  # noqa: F401  which functions of tensors call with ragged ones
    operations,
    strings,
)
