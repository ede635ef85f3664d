"""tf.contrib.memory_stats: Memory of the device that runs an operation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.memory_stats import (
    BytesInUse as BytesInUse,
    BytesLimit as BytesLimit,
    MaxBytesInUse as MaxBytesInUse,
)

__all__ = ["BytesInUse", "BytesLimit", "MaxBytesInUse"]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
