"""tf.mixed_precision: Mixed-precision training: loss scaling, and float32 variables for half-precision computation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.training.optimizers.mixed_precision import (
    DynamicLossScale as DynamicLossScale,
    FixedLossScale as FixedLossScale,
    LossScale as LossScale,
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
    mixed_precision_getter as mixed_precision_getter,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.mixed_precision import experimental as experimental

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["experimental"],
    {},
)

__all__ = [
    "DynamicLossScale", "FixedLossScale", "LossScale", "MixedPrecisionLossScaleOptimizer",
    "disable_mixed_precision_graph_rewrite", "enable_mixed_precision_graph_rewrite", "experimental",
    "mixed_precision_getter",
]
