"""tf.keras.applications.inception_v3: Inception v3."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.inception_v3 import InceptionV3 as InceptionV3

__all__ = ["InceptionV3", "decode_predictions", "preprocess_input"]
