"""tf.contrib.metrics: Streaming metrics with predictions before labels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.metrics.correlation import (
    f1_score as f1_score,
    streaming_concat as streaming_concat,
    streaming_covariance as streaming_covariance,
    streaming_pearson_correlation as streaming_pearson_correlation,
)
from thalweg._src.compat.contrib.metrics.streaming import (
    accuracy as accuracy,
    aggregate_metric_map as aggregate_metric_map,
    aggregate_metrics as aggregate_metrics,
    streaming_accuracy as streaming_accuracy,
    streaming_auc as streaming_auc,
    streaming_false_negatives as streaming_false_negatives,
    streaming_false_negatives_at_thresholds as streaming_false_negatives_at_thresholds,
    streaming_false_positives as streaming_false_positives,
    streaming_false_positives_at_thresholds as streaming_false_positives_at_thresholds,
    streaming_mean_absolute_error as streaming_mean_absolute_error,
    streaming_mean_cosine_distance as streaming_mean_cosine_distance,
    streaming_mean_iou as streaming_mean_iou,
    streaming_mean_relative_error as streaming_mean_relative_error,
    streaming_mean_squared_error as streaming_mean_squared_error,
    streaming_precision as streaming_precision,
    streaming_precision_at_thresholds as streaming_precision_at_thresholds,
    streaming_recall as streaming_recall,
    streaming_recall_at_k as streaming_recall_at_k,
    streaming_recall_at_thresholds as streaming_recall_at_thresholds,
    streaming_root_mean_squared_error as streaming_root_mean_squared_error,
    streaming_sensitivity_at_specificity as streaming_sensitivity_at_specificity,
    streaming_sparse_average_precision_at_k as streaming_sparse_average_precision_at_k,
    streaming_sparse_precision_at_k as streaming_sparse_precision_at_k,
    streaming_sparse_recall_at_k as streaming_sparse_recall_at_k,
    streaming_specificity_at_sensitivity as streaming_specificity_at_sensitivity,
    streaming_true_negatives as streaming_true_negatives,
    streaming_true_negatives_at_thresholds as streaming_true_negatives_at_thresholds,
    streaming_true_positives as streaming_true_positives,
    streaming_true_positives_at_thresholds as streaming_true_positives_at_thresholds,
)
from thalweg._src.graph.ops.bincount import confusion_matrix as confusion_matrix
from thalweg._src.graph.ops.sets import (
    set_difference as set_difference,
    set_intersection as set_intersection,
    set_size as set_size,
    set_union as set_union,
)
from thalweg._src.training.nn.metrics.means import (
    mean as streaming_mean,
    mean_tensor as streaming_mean_tensor,
    percentage_below as streaming_percentage_less,
)

__all__ = [
    "accuracy", "aggregate_metric_map", "aggregate_metrics", "confusion_matrix", "f1_score", "set_difference",
    "set_intersection", "set_size", "set_union", "streaming_accuracy", "streaming_auc", "streaming_concat",
    "streaming_covariance", "streaming_false_negatives", "streaming_false_negatives_at_thresholds",
    "streaming_false_positives", "streaming_false_positives_at_thresholds", "streaming_mean",
    "streaming_mean_absolute_error", "streaming_mean_cosine_distance", "streaming_mean_iou",
    "streaming_mean_relative_error", "streaming_mean_squared_error", "streaming_mean_tensor",
    "streaming_pearson_correlation", "streaming_percentage_less", "streaming_precision",
    "streaming_precision_at_thresholds", "streaming_recall", "streaming_recall_at_k", "streaming_recall_at_thresholds",
    "streaming_root_mean_squared_error", "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k", "streaming_sparse_precision_at_k", "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity", "streaming_true_negatives", "streaming_true_negatives_at_thresholds",
    "streaming_true_positives", "streaming_true_positives_at_thresholds",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
