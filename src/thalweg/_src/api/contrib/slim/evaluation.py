"""tf.contrib.slim.evaluation: loops that evaluate checkpoints."""

from thalweg._src.checkpoint.state import checkpoints_iterator
from thalweg._src.contrib.training.evaluation import (
    slim_evaluate_once as evaluate_once,
    slim_evaluation_loop as evaluation_loop,
)

__all__ = [
    "checkpoints_iterator",
    "evaluate_once",
    "evaluation_loop",
]
