"""tf.train.experimental: Loss scales, and state of Python objects in checkpoints."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.async_replicas import AsyncReplicasOptimizer as AsyncReplicasOptimizer
from thalweg._src.training.checkpoint.trackable import PythonState as PythonState
from thalweg._src.training.consistency import (
    atomic_updates as atomic_updates,
    sequential_consistency as sequential_consistency,
)
from thalweg._src.training.elastic_replicas import ElasticReplicasOptimizer as ElasticReplicasOptimizer
from thalweg._src.training.exactly_once import (
    ExactlyOnceHook as ExactlyOnceHook,
    ExactlyOnceOptimizer as ExactlyOnceOptimizer,
)
from thalweg._src.training.optimizers.mixed_precision import (
    DynamicLossScale as DynamicLossScale,
    FixedLossScale as FixedLossScale,
    LossScale as LossScale,
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
)

__all__ = [
    "AsyncReplicasOptimizer", "DynamicLossScale", "ElasticReplicasOptimizer", "ExactlyOnceHook", "ExactlyOnceOptimizer",
    "FixedLossScale", "LossScale", "MixedPrecisionLossScaleOptimizer", "PythonState", "atomic_updates",
    "disable_mixed_precision_graph_rewrite", "enable_mixed_precision_graph_rewrite", "sequential_consistency",
]
