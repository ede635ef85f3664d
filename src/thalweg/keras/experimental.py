"""tf.keras.experimental: Further learning rates that depend on the step."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.optimizers.schedules import (
    CosineDecay as CosineDecay,
    CosineDecayRestarts as CosineDecayRestarts,
    LinearCosineDecay as LinearCosineDecay,
    NoisyLinearCosineDecay as NoisyLinearCosineDecay,
)

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "LinearCosineDecay",
    "NoisyLinearCosineDecay",
]
