"""tf.mixed_precision: loss scales, and float32 variables behind half-precision arithmetic."""

from thalweg._src.api.mixed_precision import experimental
from thalweg._src.optimizers.mixed_precision import (
    DynamicLossScale,
    FixedLossScale,
    LossScale,
    MixedPrecisionLossScaleOptimizer,
    disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite,
    mixed_precision_getter,
)

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
    "experimental",
    "mixed_precision_getter",
]
