"""Models that ignore their features: BaselineClassifier, BaselineRegressor and BaselineEstimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.canned.model_fns import baseline_model_fn, classification_head
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.heads.base import Head
from thalweg._src.estimator.heads.regression import RegressionHead
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.training.nn.feature_columns.base import DenseColumn
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.optimizer import Optimizer


@export("estimator.BaselineEstimator", "contrib.estimator.BaselineEstimator")
class BaselineEstimator(Estimator):
    """A model that ignores its features, with any head.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        head: Head,
        model_dir: PathLike | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        config: RunConfig | None = None,
    ) -> None:
        super().__init__(baseline_model_fn(head, optimizer), model_dir, config)


@export("estimator.BaselineClassifier")
class BaselineClassifier(Estimator):
    """A classifier that ignores its features: it learns how frequent each class is.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        model_dir: PathLike | None = None,
        n_classes: int = 2,
        weight_column: str | DenseColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(baseline_model_fn(head, optimizer), model_dir, config)


@export("estimator.BaselineRegressor")
class BaselineRegressor(Estimator):
    """A regression that ignores its features: it learns the mean of the labels.

    Args:
        optimizer: An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
        config: A `RunConfig`; None takes the defaults.
    """

    def __init__(
        self,
        model_dir: PathLike | None = None,
        label_dimension: int = 1,
        weight_column: str | DenseColumn | None = None,
        optimizer: str | Optimizer | Callable[[], Optimizer] = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(baseline_model_fn(head, optimizer), model_dir, config)
