"""tf.contrib.eager.metrics: Metrics as objects, for eager execution."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.eager.metrics import (
    Accuracy as Accuracy,
    BinaryAccuracy as BinaryAccuracy,
    CategoricalAccuracy as CategoricalAccuracy,
    Mean as Mean,
    Metric as Metric,
    SparseAccuracy as SparseAccuracy,
)

__all__ = ["Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "Mean", "Metric", "SparseAccuracy"]
