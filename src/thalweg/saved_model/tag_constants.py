"""tf.saved_model.tag_constants: Tags of the graphs in SavedModels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.saved_model.files import (
    EVAL as EVAL,
    GPU as GPU,
    SERVING as SERVING,
    TPU as TPU,
    TRAINING as TRAINING,
)

__all__ = ["EVAL", "GPU", "SERVING", "TPU", "TRAINING"]
