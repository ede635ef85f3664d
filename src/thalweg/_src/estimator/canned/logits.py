"""Functions of logits: linear models and networks of dense layers over feature columns, and a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.estimator.calls import accepted
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.nest import flatten
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import reshape, shape, zeros
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.nn.dropout import zero_fraction
from thalweg._src.training.nn.feature_columns.base import DenseColumn
from thalweg._src.training.nn.feature_columns.models import input_layer, linear_model
from thalweg._src.training.nn.layers.dense import dense
from thalweg._src.training.nn.layers.dropout import dropout as dropped
from thalweg._src.training.nn.layers.normalization import batch_normalization
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.nn.summaries import histogram, scalar
from thalweg._src.training.variables.initializers import GlorotUniform, Zeros
from thalweg._src.training.variables.variable_scope import get_variable, get_variable_scope, variable_scope

_BATCH_NORM_MOMENTUM = 0.999


@export("estimator.experimental.linear_logit_fn_builder", "contrib.estimator.linear_logit_fn_builder")
def linear_logit_fn_builder(
    units: int | Mapping[str, int], feature_columns: Sequence[Any], sparse_combiner: str = "sum"
) -> Callable[..., Any]:
    """Returns a function from features to the logits of a linear model; a dictionary of units gives one of logits.

    Args:
        units: Number of logits, or numbers by name of the head.
        sparse_combiner: How several categories of one example are combined: "sum", "mean" or "sqrtn".
    """

    def logit_fn(features: Mapping[str, Any]) -> Any:
        if isinstance(units, Mapping):
            return {
                name: _linear(features, feature_columns, count, sparse_combiner, name) for name, count in units.items()
            }
        return _linear(features, feature_columns, units, sparse_combiner, None)

    return logit_fn


def _linear(features: NestedTensors, columns: Sequence[Any], units: int, combiner: str, name: str | None) -> Tensor:
    weights: dict[Any, Any] = {}
    with variable_scope(name or get_variable_scope(), auxiliary_name_scope=name is not None):
        logits = linear_model(features, columns, units, combiner, cols_to_vars=weights)
    bias = weights.pop("bias")
    if units == 1:
        scalar("bias", reshape(convert_to_tensor(bias[0]), []))
    flat_weights = [reshape(convert_to_tensor(variable), [-1]) for group in weights.values() for variable in group]
    if flat_weights:
        scalar("fraction_of_zero_weights", zero_fraction(concat(flat_weights, 0)))
    return logits


@export("estimator.experimental.dnn_logit_fn_builder", "contrib.estimator.dnn_logit_fn_builder")
def dnn_logit_fn_builder(
    units: int | Mapping[str, int],
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    activation_fn: Callable[..., Any] | None,
    dropout: float | None,
    input_layer_partitioner: Callable[..., Any],
    batch_norm: bool,
) -> Callable[..., Any]:
    """Returns a function from features and mode to the logits of a network of dense layers.

    Args:
        units: Number of logits, or numbers by name of the head.
        activation_fn: Function applied to each hidden layer; None applies none.
    """
    for column in feature_columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(f"a network takes dense columns; wrap {column} with an embedding or indicator column")

    def logit_fn(features: Mapping[str, Any], mode: str) -> Any:
        training = mode == ModeKeys.TRAIN
        with variable_scope("input_from_feature_columns", partitioner=input_layer_partitioner):
            hidden = input_layer(features, feature_columns)
        for number, size in enumerate(hidden_units):
            with variable_scope(f"hiddenlayer_{number}") as scope:
                hidden = dense(hidden, size, activation_fn, kernel_initializer=GlorotUniform(), name=scope)
                if dropout is not None and training:
                    hidden = dropped(hidden, rate=dropout, training=True)
                if batch_norm:
                    hidden = batch_normalization(
                        hidden, momentum=_BATCH_NORM_MOMENTUM, training=training, name=f"batchnorm_{number}"
                    )
            _summarize(hidden, scope.name)
        if isinstance(units, Mapping):
            return {name: _last(hidden, count, f"logits/{name}") for name, count in units.items()}
        return _last(hidden, units, "logits")

    return logit_fn


def _last(hidden: Tensor, units: int, name: str) -> Tensor:
    with variable_scope(name) as scope:
        logits: Tensor = dense(hidden, units, None, kernel_initializer=GlorotUniform(), name=scope)
    _summarize(logits, scope.name)
    return logits


def _summarize(values: Tensor, tag: str) -> None:
    scalar(f"{tag}/fraction_of_zero_values", zero_fraction(values))
    histogram(f"{tag}/activation", values)


def baseline_logits(features: NestedTensors, units: int | Mapping[str, int]) -> Any:
    """Returns logits that are equal for all examples: a learned bias."""
    if isinstance(units, Mapping):
        return {name: _baseline(features, count, f"bias/{name}") for name, count in units.items()}
    return _baseline(features, units, "bias")


def _baseline(features: NestedTensors, units: int, name: str) -> Tensor:
    bias = get_variable(name, [units], dtypes.float32, Zeros())
    batch = _batch_size(features)
    return bias_add(zeros(concat([reshape(batch, [1]), [units]], 0)), bias)


def _batch_size(features: NestedTensors) -> Any:
    """Returns the number of examples, by the first of the features."""
    first = flatten(features)[0]
    if isinstance(first, SparseTensor):
        return first.dense_shape[0]
    return shape(convert_to_tensor(first))[0]


def variables_in(scope: str) -> list[Any]:
    """Returns the trainable variables of a scope."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=scope)


@export("estimator.experimental.call_logit_fn", "contrib.estimator.call_logit_fn")
def call_logit_fn(
    logit_fn: Callable[..., Any],
    features: NestedTensors,
    mode: str,
    params: Mapping[str, Any] | None,
    config: RunConfig,
) -> Any:
    """Returns the logits of a function, which takes features, and may take mode, params and config.

    Args:
        logit_fn: Function of features, and of mode, params and config if it takes them, that returns logits.
        features: Features by name.
        mode: A constant of `tf.estimator.ModeKeys`.
        params: Parameters of the model.
        config: A `RunConfig`.
    """
    logits = logit_fn(features=features, **accepted(logit_fn, mode=mode, params=params, config=config))
    if not isinstance(logits, Tensor | Mapping):
        raise ValueError(f"model_fn should return a Tensor or a dictionary of Tensors. Received: {logits!r}")
    return logits
