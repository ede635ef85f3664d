"""Linear models and networks together: DNNLinearCombinedClassifier, -Regressor and -Estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.canned.model_fns import classification_head, combined_model_fn
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.heads.base import Head
from thalweg._src.estimator.heads.regression import RegressionHead
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.warm_starts import WarmStartSettings
from thalweg._src.graph.ops.nn import relu
from thalweg._src.training.nn.feature_columns.base import DenseColumn, FeatureColumn
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.optimizer import Optimizer


@export("estimator.DNNLinearCombinedEstimator", "contrib.estimator.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a network, trained together, with any head.

    Args:
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        head: Head,
        model_dir: PathLike | None = None,
        linear_feature_columns: Iterable[FeatureColumn] | None = None,
        linear_optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        dnn_feature_columns: Iterable[FeatureColumn] | None = None,
        dnn_optimizer: str | Optimizer | Callable[[], Optimizer] = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Callable[..., Any] | None = None,
        config: RunConfig | None = None,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        model_fn = combined_model_fn(
            head,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            False,
            linear_sparse_combiner,
        )
        super().__init__(model_fn, model_dir, config)


@export("estimator.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(Estimator):
    """A linear model and a network, trained together, that classify.

    Args:
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        model_dir: PathLike | None = None,
        linear_feature_columns: Iterable[FeatureColumn] | None = None,
        linear_optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        dnn_feature_columns: Iterable[FeatureColumn] | None = None,
        dnn_optimizer: str | Optimizer | Callable[[], Optimizer] = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: str | DenseColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Callable[..., Any] | None = None,
        config: RunConfig | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = combined_model_fn(
            head,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            batch_norm,
            linear_sparse_combiner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(Estimator):
    """A linear model and a network, trained together, that predict numbers.

    Args:
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        model_dir: PathLike | None = None,
        linear_feature_columns: Iterable[FeatureColumn] | None = None,
        linear_optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        dnn_feature_columns: Iterable[FeatureColumn] | None = None,
        dnn_optimizer: str | Optimizer | Callable[[], Optimizer] = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: str | DenseColumn | None = None,
        input_layer_partitioner: Callable[..., Any] | None = None,
        config: RunConfig | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = combined_model_fn(
            head,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            batch_norm,
            linear_sparse_combiner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)
