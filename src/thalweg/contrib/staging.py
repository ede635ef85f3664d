"""tf.contrib.staging: Values that one step leaves for the next."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.contrib.staging import (
    StagingArea as StagingArea,
)

__all__ = [
    "StagingArea",
]
