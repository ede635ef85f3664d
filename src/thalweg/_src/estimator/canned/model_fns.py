"""Model functions of canned Estimators: logits of feature columns, a head, and optimizers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.estimator.canned.logits import (
    baseline_logits,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
    variables_in,
)
from thalweg._src.estimator.canned.optimizers import optimizer_of
from thalweg._src.estimator.heads.base import Head
from thalweg._src.estimator.heads.classification import BinaryClassHead, MultiClassHead
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.graph.nest import flatten
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.feature_columns.base import DenseColumn, FeatureColumn
from thalweg._src.training.nn.losses import get_regularization_losses
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.optimizers import FtrlOptimizer
from thalweg._src.training.variables.assign import assign_add
from thalweg._src.training.variables.global_step import get_global_step
from thalweg._src.training.variables.partitioners import min_max_variable_partitioner
from thalweg._src.training.variables.variable_scope import variable_scope

# The rates of TensorFlow's canned Estimators.
LINEAR_RATE, DNN_RATE, BASELINE_RATE = 0.2, 0.05, 0.3
COMBINED_DNN_RATE, COMBINED_LINEAR_RATE = 0.001, 0.005
_LARGE_SLICE = 64 << 20  # bytes of a slice of a variable on one parameter server
_NO_COLUMNS = "feature_columns must not be empty"


def classification_head(
    n_classes: int, weight_column: str | DenseColumn | None, vocabulary: Sequence[str] | None, reduction: str
) -> Head:
    """Returns the head of a classifier."""
    if n_classes == 2:
        return BinaryClassHead(weight_column, label_vocabulary=vocabulary, loss_reduction=reduction)
    return MultiClassHead(n_classes, weight_column, vocabulary, reduction)


def _partitioner(config: RunConfig, partitioner: Callable[..., Any] | None = None, least: int = 0) -> Any:
    return partitioner or min_max_variable_partitioner(
        config.num_ps_replicas, **({"min_slice_size": least} if least else {})
    )


def _spec(
    head: Head, features: NestedTensors, labels: NestedTensors, mode: str, logits: Any, train: Callable[[Any], Any]
) -> EstimatorSpec:
    losses = get_regularization_losses() or None
    return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=train, regularization_losses=losses)


def _minimizing(optimizer: str | Optimizer | Callable[[], Optimizer], rate: float) -> Callable[[Any], Any]:
    """Returns a function that makes the step of an optimizer, which exists in training alone."""

    def train(loss: TensorLike) -> Any:
        return optimizer_of(optimizer, rate).minimize(loss, global_step=get_global_step())

    return train


def linear_model_fn(
    head: Head,
    columns: Iterable[FeatureColumn],
    optimizer: str | Optimizer | Callable[[], Optimizer],
    partitioner: Callable[..., Any] | None,
    combiner: str,
) -> Callable[..., Any]:
    """Returns the model function of a linear model."""
    columns = _checked_columns(columns)
    chosen = optimizer or (lambda: FtrlOptimizer(min(LINEAR_RATE, 1 / math.sqrt(len(columns)))))

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
        _require_dictionary(features)
        with variable_scope(
            "linear", values=flatten(features), partitioner=_partitioner(config, partitioner, _LARGE_SLICE)
        ):
            logits = linear_logit_fn_builder(head.logits_dimension, columns, combiner)(features)
        return _spec(head, features, labels, mode, logits, _minimizing(chosen, LINEAR_RATE))

    return model_fn


def dnn_model_fn(
    head: Head,
    hidden_units: Sequence[int],
    columns: Iterable[FeatureColumn],
    optimizer: str | Optimizer | Callable[[], Optimizer],
    activation_fn: Callable[..., Any] | None,
    dropout: float | None,
    partitioner: Callable[..., Any] | None,
    batch_norm: bool,
) -> Callable[..., Any]:
    """Returns the model function of a network of dense layers."""
    columns = _checked_columns(columns)

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
        _require_dictionary(features)
        with variable_scope("dnn", values=flatten(features), partitioner=_partitioner(config)):
            inputs = _partitioner(config, partitioner, _LARGE_SLICE)
            logit_fn = dnn_logit_fn_builder(
                head.logits_dimension, hidden_units, columns, activation_fn, dropout, inputs, batch_norm
            )
            logits = logit_fn(features, mode)
        return _spec(head, features, labels, mode, logits, _minimizing(optimizer, DNN_RATE))

    return model_fn


def combined_model_fn(
    head: Head,
    linear_columns: Iterable[FeatureColumn] | None,
    linear_optimizer: str | Optimizer | Callable[[], Optimizer],
    dnn_columns: Iterable[FeatureColumn] | None,
    dnn_optimizer: str | Optimizer | Callable[[], Optimizer],
    dnn_hidden_units: Sequence[int] | None,
    activation_fn: Callable[..., Any] | None,
    dropout: float | None,
    partitioner: Callable[..., Any] | None,
    batch_norm: bool,
    combiner: str,
) -> Callable[..., Any]:
    """Returns the model function of a linear model and a network whose logits are added."""
    linear_columns, dnn_columns = list(linear_columns or ()), list(dnn_columns or ())
    if not linear_columns and not dnn_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    if dnn_columns and not dnn_hidden_units:
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
        _require_dictionary(features)
        logits = []
        inputs = _partitioner(config, partitioner, _LARGE_SLICE)
        if dnn_columns:
            with variable_scope("dnn", values=flatten(features), partitioner=_partitioner(config)):
                logit_fn = dnn_logit_fn_builder(
                    head.logits_dimension,
                    dnn_hidden_units or (),
                    dnn_columns,
                    activation_fn,
                    dropout,
                    inputs,
                    batch_norm,
                )
                logits.append(logit_fn(features, mode))
        if linear_columns:
            with variable_scope("linear", values=flatten(features), partitioner=inputs):
                logits.append(linear_logit_fn_builder(head.logits_dimension, linear_columns, combiner)(features))
        return _spec(head, features, labels, mode, _added(logits), _train)

    def _train(loss: TensorLike) -> Any:
        steps = []
        if dnn_columns:
            optimizer = optimizer_of(dnn_optimizer, COMBINED_DNN_RATE)
            steps.append(optimizer.minimize(loss, var_list=variables_in("dnn")))
        if linear_columns:
            rate = min(COMBINED_LINEAR_RATE, 1 / math.sqrt(len(linear_columns)))
            optimizer = optimizer_of(linear_optimizer, rate)
            steps.append(optimizer.minimize(loss, var_list=variables_in("linear")))
        with control_dependencies([group(*steps)]):
            return assign_add(get_global_step(), 1).op

    return model_fn


def _added(logits: list[Any]) -> Any:
    """Returns the sum of logits, of each head if there are several."""
    if len(logits) == 1:
        return logits[0]
    first, second = logits
    return {name: first[name] + second[name] for name in first} if isinstance(first, dict) else first + second


def baseline_model_fn(head: Head, optimizer: str | Optimizer | Callable[[], Optimizer]) -> Callable[..., Any]:
    """Returns the model function of a model that ignores its features."""

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
        with variable_scope("baseline"):
            logits = baseline_logits(features, head.logits_dimension)
        return _spec(head, features, labels, mode, logits, _minimizing(optimizer, BASELINE_RATE))

    return model_fn


def _checked_columns(columns: Iterable[FeatureColumn]) -> list[Any]:
    checked = list(columns) if isinstance(columns, list | tuple | set) or hasattr(columns, "__iter__") else [columns]
    if not checked:
        raise ValueError(_NO_COLUMNS)
    return checked


def _require_dictionary(features: NestedTensors) -> None:
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
