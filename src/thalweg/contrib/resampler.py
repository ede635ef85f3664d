"""tf.contrib.resampler: Images sampled at given points."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.resampler import resampler as resampler

__all__ = ["resampler"]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
