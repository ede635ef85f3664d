"""tf.contrib.estimator: Early stopping, added metrics and features of estimators."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.canned.baseline import (
    BaselineEstimator as BaselineEstimator,
)
from thalweg._src.estimator.canned.combined import (
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
)
from thalweg._src.estimator.canned.dnn import (
    DNNEstimator as DNNEstimator,
)
from thalweg._src.estimator.canned.linear import (
    LinearEstimator as LinearEstimator,
)
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
from thalweg._src.estimator.extenders import (
    add_metrics as add_metrics,
    forward_features as forward_features,
)
from thalweg._src.estimator.hooks import (
    InMemoryEvaluatorHook as InMemoryEvaluatorHook,
    make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook,
)

__all__ = [
    "BaselineEstimator",
    "DNNEstimator",
    "DNNLinearCombinedEstimator",
    "InMemoryEvaluatorHook",
    "LinearEstimator",
    "add_metrics",
    "call_logit_fn",
    "dnn_logit_fn_builder",
    "forward_features",
    "linear_logit_fn_builder",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]
