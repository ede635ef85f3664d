"""tf.keras.applications.nasnet: NASNet."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_tf as preprocess_input,
)
from thalweg._src.keras.applications.nasnet import (
    NASNetLarge as NASNetLarge,
    NASNetMobile as NASNetMobile,
)

__all__ = ["NASNetLarge", "NASNetMobile", "decode_predictions", "preprocess_input"]
