"""Networks of dense layers: DNNClassifier, DNNRegressor and DNNEstimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.canned.model_fns import classification_head, dnn_model_fn
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.heads.base import Head
from thalweg._src.estimator.heads.regression import RegressionHead
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.warm_starts import WarmStartSettings
from thalweg._src.graph.ops.nn import relu
from thalweg._src.training.nn.feature_columns.base import DenseColumn, FeatureColumn
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.optimizer import Optimizer


@export("estimator.DNNEstimator", "contrib.estimator.DNNEstimator")
class DNNEstimator(Estimator):
    """A network of dense layers with any head.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        activation_fn: Function applied to each hidden layer; None applies none.
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Iterable[FeatureColumn],
        model_dir: PathLike | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Adagrad",
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        input_layer_partitioner: Callable[..., Any] | None = None,
        config: RunConfig | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        batch_norm: bool = False,
    ) -> None:
        model_fn = dnn_model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.DNNClassifier")
class DNNClassifier(Estimator):
    """A network of dense layers that classifies.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        activation_fn: Function applied to each hidden layer; None applies none.
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[FeatureColumn],
        model_dir: PathLike | None = None,
        n_classes: int = 2,
        weight_column: str | DenseColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Adagrad",
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        input_layer_partitioner: Callable[..., Any] | None = None,
        config: RunConfig | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = dnn_model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.DNNRegressor")
class DNNRegressor(Estimator):
    """A network of dense layers that predicts numbers.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        activation_fn: Function applied to each hidden layer; None applies none.
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[FeatureColumn],
        model_dir: PathLike | None = None,
        label_dimension: int = 1,
        weight_column: str | DenseColumn | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Adagrad",
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        input_layer_partitioner: Callable[..., Any] | None = None,
        config: RunConfig | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = dnn_model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)
