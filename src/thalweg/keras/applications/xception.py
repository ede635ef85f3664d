"""tf.keras.applications.xception: Xception."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.xception import Xception as Xception

__all__ = ["Xception", "decode_predictions", "preprocess_input"]
