"""thalweg.keras.applications under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras.applications import *

__getattr__, __dir__ = _lazy_names(__name__, ("densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet", "resnet", "resnet50", "resnet_v2", "vgg16", "vgg19", "xception",), {}, "thalweg.keras.applications")
