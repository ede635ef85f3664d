"""Heads by functions, as tf.contrib.estimator names them, and an optimizer that clips gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.estimator.heads.base import Head
from thalweg._src.estimator.heads.classification import BinaryClassHead, MultiClassHead, MultiLabelHead
from thalweg._src.estimator.heads.multi_head import MultiHead
from thalweg._src.estimator.heads.regression import LogisticRegressionHead, PoissonRegressionHead, RegressionHead
from thalweg._src.training.nn.feature_columns.base import DenseColumn
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.clipping import clip_by_global_norm
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.wrapping import WrappingOptimizer
from thalweg._src.training.variables.variables import Variable

_MEAN = Reduction.SUM_OVER_BATCH_SIZE


@export("contrib.estimator.binary_classification_head")
def binary_classification_head(
    weight_column: str | DenseColumn | None = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """Returns a head for two classes, a `tf.estimator.BinaryClassHead`."""
    return BinaryClassHead(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


@export("contrib.estimator.multi_class_head")
def multi_class_head(
    n_classes: int,
    weight_column: str | DenseColumn | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """Returns a head for more than two classes, a `tf.estimator.MultiClassHead`."""
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


@export("contrib.estimator.multi_label_head")
def multi_label_head(
    n_classes: int,
    weight_column: str | DenseColumn | None = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Sequence[Any] | None = None,
    name: str | None = None,
) -> Head:
    """Returns a head for examples with several classes each, a `tf.estimator.MultiLabelHead`."""
    return MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


@export("contrib.estimator.regression_head")
def regression_head(
    weight_column: str | DenseColumn | None = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Head:
    """Returns a head for numbers, a `tf.estimator.RegressionHead`."""
    return RegressionHead(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


@export("contrib.estimator.poisson_regression_head")
def poisson_regression_head(
    weight_column: str | DenseColumn | None = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """Returns a head for counts, a `tf.estimator.PoissonRegressionHead`."""
    return PoissonRegressionHead(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


@export("contrib.estimator.logistic_regression_head")
def logistic_regression_head(
    weight_column: str | DenseColumn | None = None, loss_reduction: str = _MEAN, name: str | None = None
) -> Head:
    """Returns a head for probabilities, a `tf.estimator.LogisticRegressionHead`."""
    return LogisticRegressionHead(weight_column, loss_reduction, name)


@export("contrib.estimator.multi_head")
@parameters_of(MultiHead)
def multi_head(**arguments: Any) -> Head:
    """Returns a head that joins several ones, a `tf.estimator.MultiHead`.

    Args:
        heads: The heads, each with a name of its own.
    """
    return MultiHead(**arguments)


class _ClippingOptimizer(WrappingOptimizer):
    """Scales gradients together to a norm before it applies them."""

    def __init__(self, opt: Optimizer, clip_norm: float) -> None:
        require_members("optimizer", opt, "an optimizer", "get_name", "compute_gradients")
        super().__init__(opt, f"ClippingOptimizer{opt.get_name()}")
        self._clip_norm = clip_norm

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        gradients, variables = zip(*grads_and_vars)
        clipped, _ = clip_by_global_norm(list(gradients), self._clip_norm)
        return self._opt.apply_gradients(list(zip(clipped, variables)), global_step, name)


@export("contrib.estimator.clip_gradients_by_norm")
def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """Returns an optimizer that scales gradients to a global norm of at most `clip_norm`, and applies them by another.

    Args:
        optimizer: The optimizer that applies the gradients.
        clip_norm: The largest norm.
    """
    return _ClippingOptimizer(optimizer, clip_norm)
