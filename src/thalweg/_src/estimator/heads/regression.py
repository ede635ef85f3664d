"""Heads of regression: numbers, counts and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from thalweg._src.estimator.export_outputs import ExportOutput, PredictOutput, RegressionOutput
from thalweg._src.estimator.heads.base import Head, Pair, broadcast_weights, require_labels, with_last_dimension
from thalweg._src.estimator.spec import AVERAGE_LOSS_KEY
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.cross_entropy import log_poisson_loss, sigmoid_cross_entropy_with_logits
from thalweg._src.graph.ops.math import exp, sigmoid, squared_difference
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.feature_columns.base import DenseColumn
from thalweg._src.training.nn.metrics.means import mean
from thalweg._src.training.nn.rnn.sizes import NestedTensors


@export("estimator.RegressionHead")
class RegressionHead(Head):
    """One or several numbers for each example: the loss is the squared difference.

    Args:
        name: Name of the head, which ends the names of its metrics.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self._set(name, loss_reduction, weight_column, loss_fn)
        self._logits_dimension = label_dimension
        self._inverse_link_fn = inverse_link_fn

    def _checked_labels(self, labels: NestedTensors, logits: Tensor) -> Any:
        require_labels(labels)
        return cast(with_last_dimension(labels, self._logits_dimension), dtypes.float32)

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        return squared_difference(logits, labels)

    def _predicted(self, logits: Tensor) -> Any:
        return logits if self._inverse_link_fn is None else self._inverse_link_fn(logits)

    def _all_predictions(self, logits: Tensor) -> dict[Any, Any]:
        predicted = {"predictions": self._predicted(logits)}
        return predicted if self._inverse_link_fn is None else {**predicted, "logits": logits}

    def _metric_keys(self) -> list[str]:
        return [AVERAGE_LOSS_KEY, "prediction/mean", "label/mean"]

    def _metric_pairs(
        self, labels: NestedTensors, logits: Tensor, weights: TensorLike, unweighted: Tensor
    ) -> dict[str, Pair]:
        weights = broadcast_weights(weights)
        return {"prediction/mean": mean(self._predicted(logits), weights), "label/mean": mean(labels, weights)}

    def _export_outputs(self, predictions: dict[Any, Any]) -> dict[str, ExportOutput]:
        regressed = RegressionOutput(predictions["predictions"])
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: regressed,
            "regression": regressed,
            "predict": PredictOutput(predictions),
        }


@export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts: the loss is that of a Poisson distribution, whose mean has the logits as its logarithm.

    Args:
        compute_full_loss: Whether Stirling's approximation of log(labels!) is added.
        name: Name of the head, which ends the names of its metrics.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: str | DenseColumn | None = None,
        loss_reduction: str = "sum_over_batch_size",
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, inverse_link_fn=exp, name=name)
        self._compute_full_loss = compute_full_loss

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        return log_poisson_loss(labels, logits, compute_full_loss=self._compute_full_loss)


@export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Probabilities: the loss is the cross entropy, with labels between 0 and 1.

    Args:
        name: Name of the head, which ends the names of its metrics.
    """

    def __init__(
        self,
        weight_column: str | DenseColumn | None = None,
        loss_reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, inverse_link_fn=sigmoid, name=name)

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
