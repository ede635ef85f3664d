"""tf.export: Trained models for other systems."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.quantize.calibrate import (
    CalibratedModel as CalibratedModel,
    calibrate as calibrate,
)

__all__ = ["CalibratedModel", "calibrate"]
