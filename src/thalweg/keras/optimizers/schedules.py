"""tf.keras.optimizers.schedules: Learning rates that depend on the step."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.optimizers.schedules import (
    ExponentialDecay as ExponentialDecay,
    InverseTimeDecay as InverseTimeDecay,
    LearningRateSchedule as LearningRateSchedule,
    PiecewiseConstantDecay as PiecewiseConstantDecay,
    PolynomialDecay as PolynomialDecay,
    deserialize as deserialize,
    serialize as serialize,
)

__all__ = [
    "ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule", "PiecewiseConstantDecay", "PolynomialDecay",
    "deserialize", "serialize",
]
