"""tf.contrib.input_pipeline: Elements of a list of strings, one after the other."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.input_pipeline import (
    obtain_next as obtain_next,
    seek_next as seek_next,
)

__all__ = ["obtain_next", "seek_next"]
