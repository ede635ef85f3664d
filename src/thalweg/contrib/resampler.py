"""tf.contrib.resampler: Images sampled at given points."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.contrib.resampler import (
    resampler as resampler,
)

__all__ = [
    "resampler",
]
