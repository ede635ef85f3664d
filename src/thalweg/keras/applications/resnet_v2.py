"""tf.keras.applications.resnet_v2: ResNet in its second version."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.resnet import (
    ResNet101V2 as ResNet101V2,
    ResNet152V2 as ResNet152V2,
    ResNet50V2 as ResNet50V2,
)

__all__ = ["ResNet101V2", "ResNet152V2", "ResNet50V2", "decode_predictions", "preprocess_input"]
