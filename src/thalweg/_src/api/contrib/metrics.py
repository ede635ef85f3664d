"""tf.contrib.metrics: metrics over many batches, with predictions before labels."""

from thalweg._src.contrib.metrics import streaming as _streaming
from thalweg._src.contrib.metrics.correlation import (
    f1_score,
    streaming_concat,
    streaming_covariance,
    streaming_pearson_correlation,
)
from thalweg._src.contrib.metrics.streaming import *  # noqa: F403
from thalweg._src.ops.bincount import confusion_matrix
from thalweg._src.ops.sets import set_difference, set_intersection, set_size, set_union

__all__ = [
    "confusion_matrix",
    "f1_score",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "streaming_concat",
    "streaming_covariance",
    "streaming_pearson_correlation",
]
__all__ += _streaming.__all__
