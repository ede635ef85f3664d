"""tf.keras.applications.inception_resnet_v2: Inception-ResNet v2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.inception_resnet_v2 import InceptionResNetV2 as InceptionResNetV2

__all__ = ["InceptionResNetV2", "decode_predictions", "preprocess_input"]
