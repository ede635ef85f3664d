"""tf.contrib.slim.learning: steps that train."""

from thalweg.library.train_op import (
    add_gradients_summaries,
    clip_gradient_norms,
    multiply_gradients,
    slim_train_op as create_train_op,
)

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
]
