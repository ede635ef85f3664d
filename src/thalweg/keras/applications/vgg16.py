"""tf.keras.applications.vgg16: VGG of 16 layers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_caffe as preprocess_input,
)
from thalweg._src.keras.applications.vgg import VGG16 as VGG16

__all__ = ["VGG16", "decode_predictions", "preprocess_input"]
