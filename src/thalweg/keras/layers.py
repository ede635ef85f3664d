"""tf.keras.layers: Layers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.engine.base_layer import Layer as Layer
from thalweg._src.keras.engine.input_layer import (
    Input as Input,
    InputLayer as InputLayer,
)
from thalweg._src.keras.layers.advanced_activations import (
    ELU as ELU,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    ReLU as ReLU,
    Softmax as Softmax,
    ThresholdedReLU as ThresholdedReLU,
)
from thalweg._src.keras.layers.attention import (
    AdditiveAttention as AdditiveAttention,
    Attention as Attention,
)
from thalweg._src.keras.layers.bidirectional import Bidirectional as Bidirectional
from thalweg._src.keras.layers.cells import (
    AbstractRNNCell as AbstractRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    SimpleRNNCell as SimpleRNNCell,
    StackedRNNCells as StackedRNNCells,
)
from thalweg._src.keras.layers.conv_recurrent import ConvLSTM2D as ConvLSTM2D
from thalweg._src.keras.layers.convolutional import (
    Conv1D as Conv1D,
    Conv1D as Convolution1D,
    Conv2D as Conv2D,
    Conv2D as Convolution2D,
    Conv3D as Conv3D,
    Conv3D as Convolution3D,
    DepthwiseConv2D as DepthwiseConv2D,
    SeparableConv1D as SeparableConv1D,
    SeparableConv1D as SeparableConvolution1D,
    SeparableConv2D as SeparableConv2D,
    SeparableConv2D as SeparableConvolution2D,
)
from thalweg._src.keras.layers.core import (
    Activation as Activation,
    ActivityRegularization as ActivityRegularization,
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    Lambda as Lambda,
    Masking as Masking,
    Permute as Permute,
    RepeatVector as RepeatVector,
    Reshape as Reshape,
)
from thalweg._src.keras.layers.cudnn_recurrent import (
    CuDNNGRU as CuDNNGRU,
    CuDNNLSTM as CuDNNLSTM,
)
from thalweg._src.keras.layers.dense_features import DenseFeatures as DenseFeatures
from thalweg._src.keras.layers.embeddings import Embedding as Embedding
from thalweg._src.keras.layers.local import (
    LocallyConnected1D as LocallyConnected1D,
    LocallyConnected2D as LocallyConnected2D,
)
from thalweg._src.keras.layers.lookup import (
    deserialize as deserialize,
    serialize as serialize,
)
from thalweg._src.keras.layers.merge import (
    Add as Add,
    Average as Average,
    Concatenate as Concatenate,
    Dot as Dot,
    Maximum as Maximum,
    Minimum as Minimum,
    Multiply as Multiply,
    Subtract as Subtract,
    add as add,
    average as average,
    concatenate as concatenate,
    dot as dot,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    subtract as subtract,
)
from thalweg._src.keras.layers.noise import (
    AlphaDropout as AlphaDropout,
    GaussianDropout as GaussianDropout,
    GaussianNoise as GaussianNoise,
)
from thalweg._src.keras.layers.normalization import (
    BatchNormalization as BatchNormalization,
    LayerNormalization as LayerNormalization,
)
from thalweg._src.keras.layers.padding import (
    Cropping1D as Cropping1D,
    Cropping2D as Cropping2D,
    Cropping3D as Cropping3D,
    UpSampling1D as UpSampling1D,
    UpSampling2D as UpSampling2D,
    UpSampling3D as UpSampling3D,
    ZeroPadding1D as ZeroPadding1D,
    ZeroPadding2D as ZeroPadding2D,
    ZeroPadding3D as ZeroPadding3D,
)
from thalweg._src.keras.layers.pooling import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling1D as AvgPool1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling2D as AvgPool2D,
    AveragePooling3D as AveragePooling3D,
    AveragePooling3D as AvgPool3D,
    GlobalAveragePooling1D as GlobalAveragePooling1D,
    GlobalAveragePooling1D as GlobalAvgPool1D,
    GlobalAveragePooling2D as GlobalAveragePooling2D,
    GlobalAveragePooling2D as GlobalAvgPool2D,
    GlobalAveragePooling3D as GlobalAveragePooling3D,
    GlobalAveragePooling3D as GlobalAvgPool3D,
    GlobalMaxPooling1D as GlobalMaxPool1D,
    GlobalMaxPooling1D as GlobalMaxPooling1D,
    GlobalMaxPooling2D as GlobalMaxPool2D,
    GlobalMaxPooling2D as GlobalMaxPooling2D,
    GlobalMaxPooling3D as GlobalMaxPool3D,
    GlobalMaxPooling3D as GlobalMaxPooling3D,
    MaxPooling1D as MaxPool1D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPool2D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPool3D,
    MaxPooling3D as MaxPooling3D,
)
from thalweg._src.keras.layers.recurrent import RNN as RNN
from thalweg._src.keras.layers.recurrent_layers import (
    GRU as GRU,
    LSTM as LSTM,
    SimpleRNN as SimpleRNN,
)
from thalweg._src.keras.layers.spatial_dropout import (
    SpatialDropout1D as SpatialDropout1D,
    SpatialDropout2D as SpatialDropout2D,
    SpatialDropout3D as SpatialDropout3D,
)
from thalweg._src.keras.layers.transposed_convolutional import (
    Conv2DTranspose as Conv2DTranspose,
    Conv2DTranspose as Convolution2DTranspose,
    Conv3DTranspose as Conv3DTranspose,
    Conv3DTranspose as Convolution3DTranspose,
)
from thalweg._src.keras.layers.wrappers import (
    TimeDistributed as TimeDistributed,
    Wrapper as Wrapper,
)
from thalweg._src.training.nn.layers.input_spec import InputSpec as InputSpec

__all__ = [
    "AbstractRNNCell", "Activation", "ActivityRegularization", "Add", "AdditiveAttention", "AlphaDropout", "Attention",
    "Average", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "AvgPool1D", "AvgPool2D", "AvgPool3D",
    "BatchNormalization", "Bidirectional", "Concatenate", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose", "ConvLSTM2D", "Convolution1D", "Convolution2D", "Convolution2DTranspose", "Convolution3D",
    "Convolution3DTranspose", "Cropping1D", "Cropping2D", "Cropping3D", "CuDNNGRU", "CuDNNLSTM", "Dense",
    "DenseFeatures", "DepthwiseConv2D", "Dot", "Dropout", "ELU", "Embedding", "Flatten", "GRU", "GRUCell",
    "GaussianDropout", "GaussianNoise", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
    "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D",
    "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "Input", "InputLayer", "InputSpec", "LSTM",
    "LSTMCell", "Lambda", "Layer", "LayerNormalization", "LeakyReLU", "LocallyConnected1D", "LocallyConnected2D",
    "Masking", "MaxPool1D", "MaxPool2D", "MaxPool3D", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "Maximum",
    "Minimum", "Multiply", "PReLU", "Permute", "RNN", "ReLU", "RepeatVector", "Reshape", "SeparableConv1D",
    "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D", "SimpleRNN", "SimpleRNNCell", "Softmax",
    "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "StackedRNNCells", "Subtract", "ThresholdedReLU",
    "TimeDistributed", "UpSampling1D", "UpSampling2D", "UpSampling3D", "Wrapper", "ZeroPadding1D", "ZeroPadding2D",
    "ZeroPadding3D", "add", "average", "concatenate", "deserialize", "dot", "maximum", "minimum", "multiply",
    "serialize", "subtract",
]
