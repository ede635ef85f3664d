"""MultiHead: several heads of one model, each with logits and labels of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from thalweg._src.estimator.export_outputs import ExportOutput, PredictOutput
from thalweg._src.estimator.heads.base import Head, HeadMetric
from thalweg._src.estimator.spec import LOSS_KEY
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.math import add_n
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.means import mean
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.nn.summaries import scalar


@export("estimator.MultiHead")
class MultiHead(Head):
    """Several heads: their losses are added, and all they give is named by the head too.

    Args:
        heads: The heads, each with a name of its own.
        head_weights: Factors of the losses of the heads; None adds them as they are.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError("Must specify heads. Given: []")
        if head_weights is not None and len(head_weights) != len(heads):
            raise ValueError(f"heads and head_weights must have the same size. Given {len(heads)}, {len(head_weights)}")
        for head in heads:
            require_kind("heads", head, Head, "heads")
        names = [head.name for head in heads]
        if not all(names):
            raise ValueError(f"All given heads must have name specified. Given: {heads}")
        if len(set(names)) != len(names):
            raise ValueError(f"All heads must have names that differ, received {names}")
        reductions = {head.loss_reduction for head in heads}
        if len(reductions) > 1:
            raise ValueError(f"All heads must have the same loss_reduction, received {sorted(reductions)}")
        self._heads = tuple(heads)
        self._head_weights = tuple(head_weights) if head_weights is not None else (1.0,) * len(heads)
        self._name = "_".join(str(name) for name in names)
        self._logits_dimension = {str(head.name): head.logits_dimension for head in heads}
        (self._loss_reduction,) = reductions

    def _split(self, logits: NestedTensors) -> dict[str, Any]:
        """Returns the logits of each head; a tensor has them one after the other in its last dimension."""
        if isinstance(logits, Mapping):
            missing = sorted({str(head.name) for head in self._heads} - set(logits))
            if missing:
                raise ValueError(f"logits has no entry for the heads {missing}, only {sorted(logits)}")
            return dict(logits)
        tensor, first, head_logits = convert_to_tensor(logits), 0, {}
        total = sum(self._logits_dimension.values())
        if tensor.dims is not None and tensor.dims[-1] not in (None, total):
            raise ValueError(f"logits must have the last dimension {total}, the sum of all heads', not {tensor.shape}")
        for head in self._heads:
            size = head.logits_dimension
            head_logits[str(head.name)] = tensor[..., first : first + size]
            first += size
        return head_logits

    def _label(self, labels: NestedTensors, head: Head) -> Any:
        if not isinstance(labels, Mapping) or head.name not in labels:
            raise ValueError(f"labels must be a dict with an entry for the head {head.name!r}, received {labels!r}")
        return labels[head.name]

    def _losses(
        self, labels: NestedTensors, logits: NestedTensors, features: NestedTensors, mode: str | None
    ) -> dict[str, Tensor]:
        head_logits = self._split(logits)
        return {
            str(head.name): head.loss(self._label(labels, head), head_logits[str(head.name)], features, mode)
            for head in self._heads
        }

    def loss(
        self,
        labels: NestedTensors,
        logits: NestedTensors,
        features: NestedTensors = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Tensor:
        """Returns the weighted sum of the losses of all heads, with the penalties."""
        losses = self._losses(labels, logits, features, mode)
        weighted = [loss * weight for loss, weight in zip(losses.values(), self._head_weights)]
        for name, loss in losses.items():
            scalar(f"{LOSS_KEY}/{name}", loss)
        return add_n([*weighted, *(regularization_losses or ())])

    def predictions(self, logits: NestedTensors, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        """Returns the predictions by pairs of head and name."""
        head_logits = self._split(logits)
        return {
            (head.name, key): value
            for head in self._heads
            for key, value in head.predictions(head_logits[str(head.name)]).items()
            if keys is None or key in keys
        }

    def metrics(self, regularization_losses: Sequence[Any] | None = None) -> dict[str, Any]:
        """Returns the metrics of all heads, and the mean of each one's loss."""
        metrics: dict[str, Any] = {}
        for head in self._heads:
            key = f"{LOSS_KEY}/{head.name}"
            metrics |= {**head.metrics(), key: HeadMetric(key)}
        if regularization_losses:
            metrics["regularization_loss"] = HeadMetric("regularization_loss")
        return metrics

    def update_metrics(
        self,
        eval_metrics: Mapping[str, Any],
        features: NestedTensors,
        logits: NestedTensors,
        labels: NestedTensors,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Adds a batch to the metrics of all heads, and returns them."""
        head_logits = self._split(logits)
        for head in self._heads:
            head.update_metrics(eval_metrics, features, head_logits[str(head.name)], self._label(labels, head), mode)
        for name, loss in self._losses(labels, logits, features, mode).items():
            eval_metrics[f"{LOSS_KEY}/{name}"].update_state(*mean(loss))
        if regularization_losses:
            eval_metrics["regularization_loss"].update_state(*mean(add_n(list(regularization_losses))))
        return dict(eval_metrics)

    def _export_outputs(self, predictions: dict[Any, Any]) -> dict[str, ExportOutput]:
        outputs: dict[str, ExportOutput] = {}
        for head in self._heads:
            head_predictions = {key: value for (name, key), value in predictions.items() if name == head.name}
            for key, output in head._export_outputs(head_predictions).items():
                is_default = key == DEFAULT_SERVING_SIGNATURE_DEF_KEY
                outputs[str(head.name) if is_default else f"{head.name}/{key}"] = output
                if is_default:
                    outputs.setdefault(key, output)
        named = {f"{name}/{key}": value for (name, key), value in predictions.items()}
        return {**outputs, "predict": PredictOutput(named)}

    def _summarize(self, loss: TensorLike, regularization_losses: Sequence[Any] | None) -> None:
        scalar(LOSS_KEY, loss)
        if regularization_losses:
            scalar("regularization_loss", add_n(list(regularization_losses)))
