"""tf.keras.applications.densenet: DenseNet."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.applications.densenet import (
    DenseNet121 as DenseNet121,
    DenseNet169 as DenseNet169,
    DenseNet201 as DenseNet201,
)
from thalweg._src.keras.applications.imagenet_utils import (
    decode_predictions as decode_predictions,
    preprocess_torch as preprocess_input,
)

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "decode_predictions", "preprocess_input"]
