"""tf.contrib.predictor: Predictors: functions that run a SavedModel or an Estimator."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.predictor import (
    from_estimator as from_estimator,
    from_saved_model as from_saved_model,
)

__all__ = ["from_estimator", "from_saved_model"]
