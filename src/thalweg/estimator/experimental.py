"""tf.estimator.experimental: Early stopping, and evaluation in memory."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.canned.logits import (
    call_logit_fn as call_logit_fn,
    dnn_logit_fn_builder as dnn_logit_fn_builder,
    linear_logit_fn_builder as linear_logit_fn_builder,
)
from thalweg._src.estimator.early_stopping import (
    make_early_stopping_hook as make_early_stopping_hook,
    stop_if_higher_hook as stop_if_higher_hook,
    stop_if_lower_hook as stop_if_lower_hook,
    stop_if_no_decrease_hook as stop_if_no_decrease_hook,
    stop_if_no_increase_hook as stop_if_no_increase_hook,
)
from thalweg._src.estimator.exporting import build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn
from thalweg._src.estimator.hooks import (
    InMemoryEvaluatorHook as InMemoryEvaluatorHook,
    make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook,
)

__all__ = [
    "InMemoryEvaluatorHook", "build_raw_supervised_input_receiver_fn", "call_logit_fn", "dnn_logit_fn_builder",
    "linear_logit_fn_builder", "make_early_stopping_hook", "make_stop_at_checkpoint_step_hook", "stop_if_higher_hook",
    "stop_if_lower_hook", "stop_if_no_decrease_hook", "stop_if_no_increase_hook",
]
