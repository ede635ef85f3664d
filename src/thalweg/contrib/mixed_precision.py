"""tf.contrib.mixed_precision: Loss scale managers, and the optimizer that uses one."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.mixed_precision import (
    ExponentialUpdateLossScaleManager as ExponentialUpdateLossScaleManager,
    FixedLossScaleManager as FixedLossScaleManager,
    LossScaleManager as LossScaleManager,
    LossScaleOptimizer as LossScaleOptimizer,
)

__all__ = ["ExponentialUpdateLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "LossScaleOptimizer"]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
