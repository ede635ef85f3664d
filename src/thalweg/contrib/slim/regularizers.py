"""tf.contrib.slim.regularizers: Regularizers of weights."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.layers.regularizers import (
    Regularizer as Regularizer,
    apply_regularization as apply_regularization,
    l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer,
    l2_regularizer as l2_regularizer,
    sum_regularizer as sum_regularizer,
)

__all__ = [
    "Regularizer", "apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "sum_regularizer",
]
