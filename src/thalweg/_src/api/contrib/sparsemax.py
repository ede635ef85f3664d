"""tf.contrib.sparsemax: a softmax with zeros."""

from thalweg._src.contrib.sparsemax import sparsemax, sparsemax_loss

__all__ = [
    "sparsemax",
    "sparsemax_loss",
]
