"""tf.lite: Names of TensorFlow Lite, which say how models are exported instead."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.lite import (
    Interpreter as Interpreter,
    OpHint as OpHint,
    OpsSet as OpsSet,
    Optimize as Optimize,
    RepresentativeDataset as RepresentativeDataset,
    TFLiteConverter as TFLiteConverter,
    TFLiteConverter as TocoConverter,
    TargetSpec as TargetSpec,
    toco_convert as toco_convert,
)

__all__ = [
    "Interpreter", "OpHint", "OpsSet", "Optimize", "RepresentativeDataset", "TFLiteConverter", "TargetSpec",
    "TocoConverter", "toco_convert",
]
