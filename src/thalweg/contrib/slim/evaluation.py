"""tf.contrib.slim.evaluation: Evaluation loops over checkpoints."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.training.evaluation import (
    slim_evaluate_once as evaluate_once,
    slim_evaluation_loop as evaluation_loop,
)
from thalweg._src.training.checkpoint.state import (
    checkpoints_iterator as checkpoints_iterator,
    wait_for_new_checkpoint as wait_for_new_checkpoint,
)

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]
