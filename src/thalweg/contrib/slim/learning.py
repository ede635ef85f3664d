"""tf.contrib.slim.learning: Training loops and training operations."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.training.train_op import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    multiply_gradients as multiply_gradients,
    slim_train_op as create_train_op,
)
from thalweg._src.compat.contrib.training.training import (
    slim_train as train,
    train_step as train_step,
)

__all__ = [
    "add_gradients_summaries", "clip_gradient_norms", "create_train_op", "multiply_gradients", "train", "train_step",
]
