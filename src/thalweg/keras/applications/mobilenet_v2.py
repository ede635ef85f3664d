"""tf.keras.applications.mobilenet_v2: MobileNet in its second version."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.mobilenet import MobileNetV2 as MobileNetV2

__all__ = ["MobileNetV2", "decode_predictions", "preprocess_input"]
