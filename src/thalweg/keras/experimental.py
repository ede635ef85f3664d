"""tf.keras.experimental: Further learning rates that depend on the step, and models as SavedModels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.keras_export import (
    export_saved_model as export_saved_model,
    load_from_saved_model as load_from_saved_model,
)
from thalweg._src.keras.optimizers.schedules import (
    CosineDecay as CosineDecay,
    CosineDecayRestarts as CosineDecayRestarts,
    LinearCosineDecay as LinearCosineDecay,
    NoisyLinearCosineDecay as NoisyLinearCosineDecay,
)

__all__ = [
    "CosineDecay", "CosineDecayRestarts", "LinearCosineDecay", "NoisyLinearCosineDecay", "export_saved_model",
    "load_from_saved_model",
]
