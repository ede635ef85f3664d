"""tf.mixed_precision.experimental: loss scales."""

from thalweg._src.optimizers.mixed_precision import DynamicLossScale, FixedLossScale, LossScale

__all__ = ["DynamicLossScale", "FixedLossScale", "LossScale"]
