"""tf.contrib.slim: TF-Slim: concise definition, training and evaluation of models."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.framework.arg_scope import (
    add_arg_scope as add_arg_scope,
    arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from thalweg._src.compat.contrib.framework.assign_from_checkpoint import (
    assign_from_checkpoint as assign_from_checkpoint,
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
)
from thalweg._src.compat.contrib.framework.variables import (
    add_model_variable as add_model_variable,
    assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn,
    filter_variables as filter_variables,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variable_full_name as get_variable_full_name,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    get_variables_to_restore as get_variables_to_restore,
    global_variable as global_variable,
    local_variable as local_variable,
    model_variable as model_variable,
    variable as variable,
)
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
from thalweg._src.compat.contrib.layers.optimization import optimize_loss as optimize_loss
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
from thalweg._src.training.variables.global_step import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.slim import data_provider as data_provider
    from thalweg.contrib.slim import dataset as dataset
    from thalweg.contrib.slim import dataset_data_provider as dataset_data_provider
    from thalweg.contrib.slim import evaluation as evaluation
    from thalweg.contrib.slim import initializers as initializers
    from thalweg.contrib.slim import layers as layers
    from thalweg.contrib.slim import learning as learning
    from thalweg.contrib.slim import losses as losses
    from thalweg.contrib.slim import metrics as metrics
    from thalweg.contrib.slim import model_analyzer as model_analyzer
    from thalweg.contrib.slim import nets as nets
    from thalweg.contrib.slim import parallel_reader as parallel_reader
    from thalweg.contrib.slim import prefetch_queue as prefetch_queue
    from thalweg.contrib.slim import queues as queues
    from thalweg.contrib.slim import regularizers as regularizers
    from thalweg.contrib.slim import summaries as summaries
    from thalweg.contrib.slim import tfexample_decoder as tfexample_decoder
    from thalweg.contrib.slim import utils as utils

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "data_provider", "dataset", "dataset_data_provider", "evaluation", "initializers", "layers", "learning",
        "losses", "metrics", "model_analyzer", "nets", "parallel_reader", "prefetch_queue", "queues", "regularizers",
        "summaries", "tfexample_decoder", "utils",
    ],
    {},
)

__all__ = [
    "add_arg_scope", "add_model_variable", "apply_regularization", "arg_scope", "arg_scope_func_key",
    "arg_scoped_arguments", "assert_global_step", "assign_from_checkpoint", "assign_from_checkpoint_fn",
    "assign_from_values", "assign_from_values_fn", "avg_pool2d", "avg_pool3d", "batch_norm", "bias_add", "bow_encoder",
    "conv1d", "conv2d", "conv2d_in_plane", "conv2d_transpose", "conv3d", "conv3d_transpose", "convolution",
    "convolution1d", "convolution2d", "convolution2d_in_plane", "convolution2d_transpose", "convolution3d",
    "convolution3d_transpose", "create_global_step", "current_arg_scope", "data_provider", "dataset",
    "dataset_data_provider", "dense_to_sparse", "dropout", "elu", "embed_sequence", "embedding_lookup_unique",
    "evaluation", "filter_variables", "flatten", "fully_connected", "gdn", "get_global_step", "get_local_variables",
    "get_model_variables", "get_or_create_global_step", "get_trainable_variables", "get_unique_variable",
    "get_variable_full_name", "get_variables", "get_variables_by_name", "get_variables_by_suffix",
    "get_variables_to_restore", "global_variable", "group_norm", "has_arg_scope", "images_to_sequence", "initializers",
    "instance_norm", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "layer_norm", "layers", "learning",
    "legacy_fully_connected", "legacy_linear", "legacy_relu", "linear", "local_variable", "losses", "max_pool2d",
    "max_pool3d", "maxout", "metrics", "model_analyzer", "model_variable", "nets", "one_hot_encoding", "optimize_loss",
    "parallel_reader", "poincare_normalize", "pool", "prefetch_queue", "queues", "regularizers", "relu", "relu6",
    "repeat", "scale_gradient", "separable_conv2d", "separable_convolution2d", "sequence_to_images", "softmax",
    "spatial_softmax", "stack", "sum_regularizer", "summaries", "summarize_activation", "summarize_activations",
    "summarize_biases", "summarize_collection", "summarize_tensor", "summarize_tensors", "summarize_variables",
    "summarize_weights", "tfexample_decoder", "unit_norm", "utils", "variable", "variance_scaling_initializer",
    "xavier_initializer", "xavier_initializer_conv2d",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
