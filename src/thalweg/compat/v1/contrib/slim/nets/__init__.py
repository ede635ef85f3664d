"""thalweg.contrib.slim.nets under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.slim.nets import *

__getattr__, __dir__ = _lazy_names(__name__, ("alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat", "resnet_utils", "resnet_v1", "resnet_v2", "vgg",), {}, "thalweg.contrib.slim.nets")
