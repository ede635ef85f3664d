"""tf.layers: functions with variables of their own, as classes and as plain functions."""

from thalweg._src.nn.layers.base import Layer
from thalweg._src.nn.layers.convolution import Conv1D, Conv2D, Conv3D, conv1d, conv2d, conv3d
from thalweg._src.nn.layers.dense import Dense, dense
from thalweg._src.nn.layers.dropout import Dropout, Flatten, dropout, flatten
from thalweg._src.nn.layers.input_spec import InputSpec
from thalweg._src.nn.layers.normalization import BatchNormalization, batch_normalization
from thalweg._src.nn.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
    average_pooling1d,
    average_pooling2d,
    average_pooling3d,
    max_pooling1d,
    max_pooling2d,
    max_pooling3d,
)
from thalweg._src.nn.layers.separable_convolution import (
    SeparableConv1D,
    SeparableConv2D,
    separable_conv1d,
    separable_conv2d,
)
from thalweg._src.nn.layers.transposed_convolution import (
    Conv2DTranspose,
    Conv3DTranspose,
    conv2d_transpose,
    conv3d_transpose,
)

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Flatten",
    "InputSpec",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "SeparableConv1D",
    "SeparableConv2D",
    "average_pooling1d",
    "average_pooling2d",
    "average_pooling3d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "max_pooling3d",
    "separable_conv1d",
    "separable_conv2d",
]
