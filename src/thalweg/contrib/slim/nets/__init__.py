"""tf.contrib.slim.nets: Image classification networks."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.slim.nets import alexnet as alexnet
    from thalweg.contrib.slim.nets import inception as inception
    from thalweg.contrib.slim.nets import inception_v1 as inception_v1
    from thalweg.contrib.slim.nets import inception_v2 as inception_v2
    from thalweg.contrib.slim.nets import inception_v3 as inception_v3
    from thalweg.contrib.slim.nets import overfeat as overfeat
    from thalweg.contrib.slim.nets import resnet_utils as resnet_utils
    from thalweg.contrib.slim.nets import resnet_v1 as resnet_v1
    from thalweg.contrib.slim.nets import resnet_v2 as resnet_v2
    from thalweg.contrib.slim.nets import vgg as vgg

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat", "resnet_utils", "resnet_v1",
        "resnet_v2", "vgg",
    ],
    {},
)

__all__ = [
    "alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat", "resnet_utils", "resnet_v1",
    "resnet_v2", "vgg",
]
