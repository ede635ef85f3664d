"""Linear models: LinearClassifier, LinearRegressor and LinearEstimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.canned.model_fns import classification_head, linear_model_fn
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.heads.base import Head
from thalweg._src.estimator.heads.regression import RegressionHead
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.warm_starts import WarmStartSettings
from thalweg._src.training.nn.feature_columns.base import DenseColumn, FeatureColumn
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.optimizer import Optimizer


@export("estimator.LinearEstimator", "contrib.estimator.LinearEstimator")
class LinearEstimator(Estimator):
    """A linear model with any head.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        config: A `RunConfig`; None takes the defaults.
        partitioner: Function that splits the variables; by default one for large ones.
        sparse_combiner: How several categories of one example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        head: Head,
        feature_columns: Iterable[FeatureColumn],
        model_dir: PathLike | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Callable[..., Any] | None = None,
        sparse_combiner: str = "sum",
    ) -> None:
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config)


@export("estimator.LinearClassifier")
class LinearClassifier(Estimator):
    """A linear model that classifies.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        config: A `RunConfig`; None takes the defaults.
        partitioner: Function that splits the variables; by default one for large ones.
        sparse_combiner: How several categories of one example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Iterable[FeatureColumn],
        model_dir: PathLike | None = None,
        n_classes: int = 2,
        weight_column: str | DenseColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Callable[..., Any] | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.LinearRegressor")
class LinearRegressor(Estimator):
    """A linear model of numbers.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        config: A `RunConfig`; None takes the defaults.
        partitioner: Function that splits the variables; by default one for large ones.
        sparse_combiner: How several categories of one example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Iterable[FeatureColumn],
        model_dir: PathLike | None = None,
        label_dimension: int = 1,
        weight_column: str | DenseColumn | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Callable[..., Any] | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)
