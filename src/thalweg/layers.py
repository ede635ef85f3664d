"""tf.layers: Layers, as classes and as functions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.layers.base import Layer as Layer
from thalweg._src.training.nn.layers.convolution import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv3D as Conv3D,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
)
from thalweg._src.training.nn.layers.dense import (
    Dense as Dense,
    dense as dense,
)
from thalweg._src.training.nn.layers.dropout import (
    Dropout as Dropout,
    Flatten as Flatten,
    dropout as dropout,
    flatten as flatten,
)
from thalweg._src.training.nn.layers.input_spec import InputSpec as InputSpec
from thalweg._src.training.nn.layers.normalization import (
    BatchNormalization as BatchNormalization,
    batch_normalization as batch_normalization,
)
from thalweg._src.training.nn.layers.pooling import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
    average_pooling1d as average_pooling1d,
    average_pooling2d as average_pooling2d,
    average_pooling3d as average_pooling3d,
    max_pooling1d as max_pooling1d,
    max_pooling2d as max_pooling2d,
    max_pooling3d as max_pooling3d,
)
from thalweg._src.training.nn.layers.separable_convolution import (
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
    separable_conv1d as separable_conv1d,
    separable_conv2d as separable_conv2d,
)
from thalweg._src.training.nn.layers.transposed_convolution import (
    Conv2DTranspose as Conv2DTranspose,
    Conv3DTranspose as Conv3DTranspose,
    conv2d_transpose as conv2d_transpose,
    conv3d_transpose as conv3d_transpose,
)

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D",
    "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten", "InputSpec", "Layer", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D", "average_pooling1d", "average_pooling2d",
    "average_pooling3d", "batch_normalization", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose",
    "dense", "dropout", "flatten", "max_pooling1d", "max_pooling2d", "max_pooling3d", "separable_conv1d",
    "separable_conv2d",
]
