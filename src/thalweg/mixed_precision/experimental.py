"""tf.mixed_precision.experimental: Loss scales."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.optimizers.mixed_precision import (
    DynamicLossScale as DynamicLossScale,
    FixedLossScale as FixedLossScale,
    LossScale as LossScale,
)

__all__ = ["DynamicLossScale", "FixedLossScale", "LossScale"]
