"""tf.contrib.estimator: Heads, early stopping, added metrics and features of estimators."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.canned.baseline import BaselineEstimator as BaselineEstimator
from thalweg._src.estimator.canned.combined import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from thalweg._src.estimator.canned.dnn import DNNEstimator as DNNEstimator
from thalweg._src.estimator.canned.linear import LinearEstimator as LinearEstimator
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
from thalweg._src.estimator.event_values import read_eval_metrics as read_eval_metrics
from thalweg._src.estimator.exporting import build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn
from thalweg._src.estimator.extenders import (
    add_metrics as add_metrics,
    forward_features as forward_features,
)
from thalweg._src.estimator.heads.functions import (
    binary_classification_head as binary_classification_head,
    clip_gradients_by_norm as clip_gradients_by_norm,
    logistic_regression_head as logistic_regression_head,
    multi_class_head as multi_class_head,
    multi_head as multi_head,
    multi_label_head as multi_label_head,
    poisson_regression_head as poisson_regression_head,
    regression_head as regression_head,
)
from thalweg._src.estimator.hooks import (
    InMemoryEvaluatorHook as InMemoryEvaluatorHook,
    make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook,
)

__all__ = [
    "BaselineEstimator", "DNNEstimator", "DNNLinearCombinedEstimator", "InMemoryEvaluatorHook", "LinearEstimator",
    "add_metrics", "binary_classification_head", "build_raw_supervised_input_receiver_fn", "call_logit_fn",
    "clip_gradients_by_norm", "dnn_logit_fn_builder", "forward_features", "linear_logit_fn_builder",
    "logistic_regression_head", "make_early_stopping_hook", "make_stop_at_checkpoint_step_hook", "multi_class_head",
    "multi_head", "multi_label_head", "poisson_regression_head", "read_eval_metrics", "regression_head",
    "stop_if_higher_hook", "stop_if_lower_hook", "stop_if_no_decrease_hook", "stop_if_no_increase_hook",
]
