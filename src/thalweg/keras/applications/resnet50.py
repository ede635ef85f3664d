"""tf.keras.applications.resnet50: ResNet of 50 layers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_caffe as preprocess_input,
)
from thalweg._src.keras.applications.resnet import ResNet50 as ResNet50

__all__ = ["ResNet50", "decode_predictions", "preprocess_input"]
