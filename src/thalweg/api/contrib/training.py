"""tf.contrib.training: settings of models, and steps that train."""

from thalweg.library.hparams import (
    HParams,
    parse_values,
)
from thalweg.library.train_op import (
    add_gradients_summaries,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    create_train_op,
    multiply_gradients,
)
from thalweg.library.training_loop import train

__all__ = [
    "HParams",
    "add_gradients_summaries",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "multiply_gradients",
    "parse_values",
    "train",
]
