"""tf.contrib.lite: Names of TensorFlow Lite, which say how models are exported instead."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.lite import (
    Interpreter as Interpreter,
    OpHint as OpHint,
    TFLiteConverter as TFLiteConverter,
    TFLiteConverter as TocoConverter,
    toco_convert as toco_convert,
)

__all__ = ["Interpreter", "OpHint", "TFLiteConverter", "TocoConverter", "toco_convert"]
