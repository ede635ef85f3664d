"""tf.contrib.slim.learning: steps that train."""

from thalweg._src.contrib.training.train_op import (
    add_gradients_summaries,
    clip_gradient_norms,
    multiply_gradients,
    slim_train_op as create_train_op,
)
from thalweg._src.contrib.training.training import slim_train as train, train_step

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]
