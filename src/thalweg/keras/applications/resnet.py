"""tf.keras.applications.resnet: ResNet."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_caffe as preprocess_input,
)
from thalweg._src.keras.applications.resnet import (
    ResNet101 as ResNet101,
    ResNet152 as ResNet152,
    ResNet50 as ResNet50,
)

__all__ = ["ResNet101", "ResNet152", "ResNet50", "decode_predictions", "preprocess_input"]
