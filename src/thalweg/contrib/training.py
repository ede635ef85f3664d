"""tf.contrib.training: Hyperparameters, bucketing, and training and evaluation loops."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.training.bucketing import (
    bucket as bucket,
    bucket_by_sequence_length as bucket_by_sequence_length,
)
from thalweg._src.compat.contrib.training.evaluation import (
    StopAfterNEvalsHook as StopAfterNEvalsHook,
    SummaryAtEndHook as SummaryAtEndHook,
    evaluate_once as evaluate_once,
    evaluate_repeatedly as evaluate_repeatedly,
    get_or_create_eval_step as get_or_create_eval_step,
)
from thalweg._src.compat.contrib.training.hparam import (
    HParams as HParams,
    parse_values as parse_values,
)
from thalweg._src.compat.contrib.training.sampling import (
    rejection_sample as rejection_sample,
    stratified_sample as stratified_sample,
)
from thalweg._src.compat.contrib.training.train_op import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    clip_gradient_norms_fn as clip_gradient_norms_fn,
    create_train_op as create_train_op,
    multiply_gradients as multiply_gradients,
)
from thalweg._src.compat.contrib.training.training import train as train
from thalweg._src.training.checkpoint.state import (
    checkpoints_iterator as checkpoints_iterator,
    wait_for_new_checkpoint as wait_for_new_checkpoint,
)
from thalweg._src.training.device_setter import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
    RandomStrategy as RandomStrategy,
    byte_size_load_fn as byte_size_load_fn,
)

__all__ = [
    "GreedyLoadBalancingStrategy", "HParams", "RandomStrategy", "StopAfterNEvalsHook", "SummaryAtEndHook",
    "add_gradients_summaries", "bucket", "bucket_by_sequence_length", "byte_size_load_fn", "checkpoints_iterator",
    "clip_gradient_norms", "clip_gradient_norms_fn", "create_train_op", "evaluate_once", "evaluate_repeatedly",
    "get_or_create_eval_step", "multiply_gradients", "parse_values", "rejection_sample", "stratified_sample", "train",
    "wait_for_new_checkpoint",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
