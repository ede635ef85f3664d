"""tf.keras.applications: Networks for images, with weights of ImageNet."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.keras.applications.densenet import (
    DenseNet121 as DenseNet121,
    DenseNet169 as DenseNet169,
    DenseNet201 as DenseNet201,
)
from thalweg._src.keras.applications.inception_resnet_v2 import InceptionResNetV2 as InceptionResNetV2
from thalweg._src.keras.applications.inception_v3 import InceptionV3 as InceptionV3
from thalweg._src.keras.applications.mobilenet import (
    MobileNet as MobileNet,
    MobileNetV2 as MobileNetV2,
)
from thalweg._src.keras.applications.nasnet import (
    NASNetLarge as NASNetLarge,
    NASNetMobile as NASNetMobile,
)
from thalweg._src.keras.applications.resnet import (
    ResNet101 as ResNet101,
    ResNet101V2 as ResNet101V2,
    ResNet152 as ResNet152,
    ResNet152V2 as ResNet152V2,
    ResNet50 as ResNet50,
    ResNet50V2 as ResNet50V2,
)
from thalweg._src.keras.applications.vgg import (
    VGG16 as VGG16,
    VGG19 as VGG19,
)
from thalweg._src.keras.applications.xception import Xception as Xception
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras.applications import densenet as densenet
    from thalweg.keras.applications import imagenet_utils as imagenet_utils
    from thalweg.keras.applications import inception_resnet_v2 as inception_resnet_v2
    from thalweg.keras.applications import inception_v3 as inception_v3
    from thalweg.keras.applications import mobilenet as mobilenet
    from thalweg.keras.applications import mobilenet_v2 as mobilenet_v2
    from thalweg.keras.applications import nasnet as nasnet
    from thalweg.keras.applications import resnet as resnet
    from thalweg.keras.applications import resnet50 as resnet50
    from thalweg.keras.applications import resnet_v2 as resnet_v2
    from thalweg.keras.applications import vgg16 as vgg16
    from thalweg.keras.applications import vgg19 as vgg19
    from thalweg.keras.applications import xception as xception

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet",
        "resnet", "resnet50", "resnet_v2", "vgg16", "vgg19", "xception",
    ],
    {},
)

__all__ = [
    "DenseNet121", "DenseNet169", "DenseNet201", "InceptionResNetV2", "InceptionV3", "MobileNet", "MobileNetV2",
    "NASNetLarge", "NASNetMobile", "ResNet101", "ResNet101V2", "ResNet152", "ResNet152V2", "ResNet50", "ResNet50V2",
    "VGG16", "VGG19", "Xception", "densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet",
    "mobilenet_v2", "nasnet", "resnet", "resnet50", "resnet_v2", "vgg16", "vgg19", "xception",
]
