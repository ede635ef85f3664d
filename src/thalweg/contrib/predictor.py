"""tf.contrib.predictor: Predictors: functions that run a SavedModel."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.contrib.predictor import (
    from_saved_model as from_saved_model,
)

__all__ = [
    "from_saved_model",
]
