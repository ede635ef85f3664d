"""tf.keras.applications.imagenet_utils: Images as networks take them, and the names of classes."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_input as preprocess_input,
)

__all__ = ["decode_predictions", "preprocess_input"]
