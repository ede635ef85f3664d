"""tf.contrib.layers: Layers as functions, with normalizer and activation, and default arguments from arg_scope."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.layers.batch_norm import batch_norm as batch_norm
from thalweg._src.compat.contrib.layers.convolutions import (
    convolution as convolution,
    convolution1d as conv1d,
    convolution1d as convolution1d,
    convolution2d as conv2d,
    convolution2d as convolution2d,
    convolution2d_transpose as conv2d_transpose,
    convolution2d_transpose as convolution2d_transpose,
    convolution3d as conv3d,
    convolution3d as convolution3d,
    convolution3d_transpose as conv3d_transpose,
    convolution3d_transpose as convolution3d_transpose,
    separable_convolution2d as separable_conv2d,
    separable_convolution2d as separable_convolution2d,
)
from thalweg._src.compat.contrib.layers.dense import (
    bias_add as bias_add,
    elu as elu,
    embed_sequence as embed_sequence,
    embedding_lookup_unique as embedding_lookup_unique,
    fully_connected as fully_connected,
    linear as linear,
    one_hot_encoding as one_hot_encoding,
    relu as relu,
    relu6 as relu6,
    softmax as softmax,
    unit_norm as unit_norm,
)
from thalweg._src.compat.contrib.layers.in_plane import (
    convolution2d_in_plane as conv2d_in_plane,
    convolution2d_in_plane as convolution2d_in_plane,
    gdn as gdn,
    legacy_fully_connected as legacy_fully_connected,
    legacy_linear as legacy_linear,
    legacy_relu as legacy_relu,
)
from thalweg._src.compat.contrib.layers.initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer as xavier_initializer_conv2d,
)
from thalweg._src.compat.contrib.layers.norms import (
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
)
from thalweg._src.compat.contrib.layers.optimization import (
    OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES,
    optimize_loss as optimize_loss,
)
from thalweg._src.compat.contrib.layers.pools import (
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    dropout as dropout,
    flatten as flatten,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    pool as pool,
    repeat as repeat,
    stack as stack,
)
from thalweg._src.compat.contrib.layers.rearranging import (
    bow_encoder as bow_encoder,
    dense_to_sparse as dense_to_sparse,
    images_to_sequence as images_to_sequence,
    maxout as maxout,
    poincare_normalize as poincare_normalize,
    recompute_grad as recompute_grad,
    scale_gradient as scale_gradient,
    sequence_to_images as sequence_to_images,
    spatial_softmax as spatial_softmax,
)
from thalweg._src.compat.contrib.layers.regularizers import (
    apply_regularization as apply_regularization,
    l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer,
    l2_regularizer as l2_regularizer,
    sum_regularizer as sum_regularizer,
)
from thalweg._src.compat.contrib.layers.summarizing import (
    summarize_activation as summarize_activation,
    summarize_activations as summarize_activations,
    summarize_biases as summarize_biases,
    summarize_collection as summarize_collection,
    summarize_tensor as summarize_tensor,
    summarize_tensors as summarize_tensors,
    summarize_variables as summarize_variables,
    summarize_weights as summarize_weights,
)
from thalweg._src.training.nn.embedding import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.layers import utils as utils

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["utils"],
    {},
)

__all__ = [
    "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "apply_regularization", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bias_add", "bow_encoder", "conv1d", "conv2d", "conv2d_in_plane", "conv2d_transpose", "conv3d", "conv3d_transpose",
    "convolution", "convolution1d", "convolution2d", "convolution2d_in_plane", "convolution2d_transpose",
    "convolution3d", "convolution3d_transpose", "dense_to_sparse", "dropout", "elu", "embed_sequence",
    "embedding_lookup_unique", "flatten", "fully_connected", "gdn", "group_norm", "images_to_sequence", "instance_norm",
    "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "layer_norm", "legacy_fully_connected", "legacy_linear",
    "legacy_relu", "linear", "max_pool2d", "max_pool3d", "maxout", "one_hot_encoding", "optimize_loss",
    "poincare_normalize", "pool", "recompute_grad", "relu", "relu6", "repeat", "safe_embedding_lookup_sparse",
    "scale_gradient", "separable_conv2d", "separable_convolution2d", "sequence_to_images", "softmax", "spatial_softmax",
    "stack", "sum_regularizer", "summarize_activation", "summarize_activations", "summarize_biases",
    "summarize_collection", "summarize_tensor", "summarize_tensors", "summarize_variables", "summarize_weights",
    "unit_norm", "utils", "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
