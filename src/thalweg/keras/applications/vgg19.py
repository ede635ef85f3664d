"""tf.keras.applications.vgg19: VGG of 19 layers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_caffe as preprocess_input,
)
from thalweg._src.keras.applications.vgg import VGG19 as VGG19

__all__ = ["VGG19", "decode_predictions", "preprocess_input"]
