"""tf.contrib.training: settings of models, and steps that train."""

from thalweg._src.checkpoint.state import checkpoints_iterator
from thalweg._src.contrib.training.bucketing import bucket, bucket_by_sequence_length
from thalweg._src.contrib.training.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
)
from thalweg._src.contrib.training.hparam import HParams, parse_values
from thalweg._src.contrib.training.train_op import (
    add_gradients_summaries,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    create_train_op,
    multiply_gradients,
)
from thalweg._src.contrib.training.training import train

__all__ = [
    "HParams",
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "add_gradients_summaries",
    "bucket",
    "bucket_by_sequence_length",
    "checkpoints_iterator",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "multiply_gradients",
    "parse_values",
    "train",
]
