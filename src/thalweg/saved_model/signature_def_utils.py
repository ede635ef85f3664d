"""tf.saved_model.signature_def_utils: Signatures of SavedModels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.saved_model.saved_model import MethodNameUpdater as MethodNameUpdater
from thalweg._src.deploy.saved_model.signatures import (
    build_signature_def as build_signature_def,
    classification_signature_def as classification_signature_def,
    is_valid_signature as is_valid_signature,
    predict_signature_def as predict_signature_def,
    regression_signature_def as regression_signature_def,
)

__all__ = [
    "MethodNameUpdater", "build_signature_def", "classification_signature_def", "is_valid_signature",
    "predict_signature_def", "regression_signature_def",
]
