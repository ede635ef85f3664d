"""tf.keras.applications.mobilenet: MobileNet."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.mobilenet import MobileNet as MobileNet

__all__ = ["MobileNet", "decode_predictions", "preprocess_input"]
