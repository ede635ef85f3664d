"""tf.saved_model.signature_def_utils: what saved models take and give."""

from thalweg._src.saved_model.saved_model import MethodNameUpdater
from thalweg._src.saved_model.signatures import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)

__all__ = [
    "MethodNameUpdater",
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]
