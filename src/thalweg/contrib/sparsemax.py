"""tf.contrib.sparsemax: Sparsemax, a sparse alternative to softmax, and its loss."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.sparsemax import (
    sparsemax as sparsemax,
    sparsemax_loss as sparsemax_loss,
)

__all__ = ["sparsemax", "sparsemax_loss"]
