"""tf.contrib.sparsemax: a softmax with zeros."""

from thalweg._src.ops.sparsemax import sparsemax, sparsemax_loss

__all__ = [
    "sparsemax",
    "sparsemax_loss",
]
