"""Fully connected layers, biases and embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope, model_variable
from thalweg._src.compat.contrib.layers.outputs import (
    channel_dimension,
    collect_named_outputs,
    finished,
    get_variable_collections,
    preset,
)
from thalweg._src.compat.contrib.layers.weighted import ZEROS, weighted_layer
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import sqrt, square
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.ops.where import one_hot, unique
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.layers.dense import Dense
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope


@export("contrib.layers.fully_connected", "contrib.slim.fully_connected")
@add_arg_scope
@weighted_layer("fully_connected")
def fully_connected(inputs: TensorLike, num_outputs: int) -> Any:
    """Returns activation(inputs * weights + biases); a normalizer replaces the biases.

    Args:
        num_outputs: Number of output units.
    """
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs type should be an integer, got {num_outputs!r}.")
    return Dense, {"units": num_outputs}


def _with_activation(name: str, activation_fn: object, doc: str) -> Any:
    function = preset(fully_connected, name, doc, activation_fn=activation_fn)
    return export(f"contrib.layers.{name}", f"contrib.slim.{name}")(function)


relu = _with_activation("relu", nn.relu, "Applies a fully connected layer with the ReLU activation.")
relu6 = _with_activation("relu6", nn.relu6, "Applies a fully connected layer with the ReLU6 activation.")
elu = _with_activation("elu", nn.elu, "Applies a fully connected layer with the ELU activation.")
linear = _with_activation("linear", None, "Applies a fully connected layer without activation.")


@export("contrib.layers.bias_add", "contrib.slim.bias_add")
@add_arg_scope
def bias_add(
    inputs: TensorLike,
    activation_fn: Callable[..., Any] | None = None,
    initializer: Callable[..., Any] = ZEROS,
    regularizer: Callable[..., Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Adds a bias to each channel.

    Args:
        initializer: Initializer of the bias.
        regularizer: Function to a penalty.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with layer_scope(scope, "BiasAdd", inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        biases = model_variable(
            "biases",
            shape=[channel_dimension(inputs.shape, data_format, min_rank=2)],
            dtype=inputs.dtype.base_dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=get_variable_collections(variables_collections, "biases"),
        )
        outputs = nn.bias_add(inputs, biases, data_format=data_format)
        return finished(outputs, opened, None, None, activation_fn, outputs_collections)


@export("contrib.layers.one_hot_encoding", "contrib.slim.one_hot_encoding")
@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: TensorLike,
    on_value: TensorLike = 1.0,
    off_value: TensorLike = 0.0,
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns a one-hot vector for each label.

    Args:
        labels: Integer labels.
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as opened:
        labels = convert_to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = cast(labels, dtypes.int64)
        outputs = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, opened, outputs)  # type: ignore[no-any-return]


@export("contrib.layers.embed_sequence", "contrib.slim.embed_sequence")
def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Tensor:
    """Returns an embedding for each id, from a new table; with `unique` each distinct id is looked up once.

    Args:
        unique: Whether each different id is looked up once.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got {vocab_size}, {embed_dim}"
        )
    with layer_scope(scope, "EmbedSequence", ids, reuse):
        sizes = None if not (vocab_size and embed_dim) else [vocab_size, embed_dim]
        table = model_variable(
            "embeddings", shape=sizes, initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        return embedding_lookup_unique(table, ids) if unique else embedding_lookup(table, ids)


@export("contrib.layers.embedding_lookup_unique", "contrib.slim.embedding_lookup_unique")
def embedding_lookup_unique(
    params: TensorLike | PartitionedVariable, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """Returns the embeddings of ids, with each distinct id looked up once.

    Args:
        ids: Integer ids to look up.
    """
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert_to_tensor(ids)
        distinct, places = unique(reshape(ids, [-1]))
        rows = gather(embedding_lookup(params, distinct, partition_strategy), places)
        outputs = reshape(rows, concat([shape(ids), shape(rows)[1:]], 0))
        if ids.dims is not None and rows.dims is not None:
            outputs.set_shape((*ids.dims, *rows.dims[1:]))
        return outputs


@export("contrib.layers.unit_norm", "contrib.slim.unit_norm")
@add_arg_scope
def unit_norm(inputs: TensorLike, dim: int, epsilon: float = 1e-7, scope: str | None = None) -> Tensor:
    """Scales inputs along an axis to unit length."""
    with name_scope(scope, "UnitNorm", [inputs]):
        inputs = convert_to_tensor(inputs)
        rank = None if inputs.dims is None else len(inputs.dims)
        if rank is None:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < rank:
            raise ValueError(f"dim must be positive but smaller than the input rank, {rank}, got {dim}.")
        return inputs / sqrt(epsilon + reduce_sum(square(inputs), dim, keepdims=True))


@export("contrib.layers.softmax", "contrib.slim.softmax")
@add_arg_scope
def softmax(logits: TensorLike, scope: str | None = None) -> Tensor:
    """Returns the softmax along the last axis."""
    with name_scope(scope, "softmax", [logits]):
        return nn.softmax(logits)
