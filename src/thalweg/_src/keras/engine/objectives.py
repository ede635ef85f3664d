"""Objectives: the losses and metrics of a model's outputs, as `compile` was given them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import add_n, multiply
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras import losses as loss_functions
from thalweg._src.keras.engine.base_layer import mask_of
from thalweg._src.keras.losses import functions
from thalweg._src.keras.losses.losses import Loss, LossFunctionWrapper
from thalweg._src.keras.losses.weighting import Reduction
from thalweg._src.keras.metrics import accuracy
from thalweg._src.keras.metrics.base import MeanMetricWrapper, Metric
from thalweg._src.keras.metrics.lookup import get as get_metric

_ACCURACY, _CROSSENTROPY = ("accuracy", "acc"), ("crossentropy", "ce")


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica of a strategy: its part of the inputs, their share of the whole batch, and the number of replicas."""

    inputs: Sequence[Any]
    share: Tensor
    count: int


class Objectives:
    """What is minimized and what is measured.

    losses: one for each output, None for those without
    """

    def __init__(
        self,
        model: Any,
        loss: Any,
        metrics: Any,
        loss_weights: Any,
        weighted_metrics: Any,
    ) -> None:
        self._model = model
        self._given = metrics, weighted_metrics
        names = model.output_names
        self.losses = [_loss(each) for each in _per_output(loss, names, "loss")]
        for each in self.losses:
            if each is not None:
                each._allow_sum_over_batch_size = True  # the steps of a model scale the means of replicas
        weights = _per_output(loss_weights, names, "loss_weights")
        self._weights = [1.0 if each is None else float(each) for each in weights]
        self.metrics: list[tuple[int, Metric, bool]] | None = None  # the output, the metric, whether it is weighted

    @property
    def names(self) -> list[str]:
        """The names of what a training step returns: the loss, the losses of several outputs, the metrics."""
        outputs = self._model.output_names
        several = [f"{name}_loss" for name, loss in zip(outputs, self.losses) if loss is not None]
        own = [metric.name for _, metric, _ in self.metrics or ()]
        added = [metric.name for metric in self._model.metrics]
        return ["loss", *(several if len(outputs) > 1 else []), *own, *added]

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Makes the metrics, whose functions depend on the outputs."""
        if self.metrics is not None:
            return
        self.metrics = []
        for given, is_weighted in zip(self._given, (False, True)):
            for index, wanted in enumerate(_metrics_per_output(given, self._model.output_names)):
                for each in wanted:
                    metric = self._metric(each, outputs[index], index, is_weighted)
                    self.metrics.append((index, metric, is_weighted))

    def _metric(self, given: Any, output: Tensor, index: int, is_weighted: bool) -> Metric:
        name = _metric_name(given, is_weighted)
        prefix = f"{self._model.output_names[index]}_" if len(self._model.output_names) > 1 else ""
        if not (isinstance(given, Metric) and name.startswith(prefix)):  # a metric of a loaded model has it already
            name = prefix + name
        taken = self.names
        base, number = name, 1
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        if isinstance(given, Metric):
            given._name = name
            return given
        if given in _ACCURACY or given in _CROSSENTROPY:
            given = _by_shape(given in _ACCURACY, output, self.losses[index])
        found = get_metric(given)
        if isinstance(found, Metric):
            found._name = name
            return found
        return MeanMetricWrapper(found, name=name)

    def compute(
        self,
        outputs: Sequence[Tensor],
        targets: Sequence[Any],
        sample_weights: Sequence[Any],
        replica: Replica | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns the total loss and the losses of the outputs; of a replica, its shares of those of all."""
        found = []
        for output, target, weight, loss in zip(outputs, targets, sample_weights, self.losses):
            if loss is not None:
                value = loss(target, output, sample_weight=_masked(output, weight))
                if replica is not None and loss.reduction != Reduction.SUM:
                    value = multiply(value, cast(replica.share, value.dtype))
                found.append(value)
        factors = [factor for factor, loss in zip(self._weights, self.losses) if loss is not None]
        parts = [value if factor == 1.0 else multiply(value, factor) for value, factor in zip(found, factors)]
        added = self._added_losses(self._model.inputs if replica is None else replica.inputs)
        if replica is not None:
            added = [multiply(loss, cast(1.0 / replica.count, loss.dtype)) for loss in added]
        parts += [cast(loss, parts[0].dtype) if parts else loss for loss in added]
        if not parts:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        return (add_n(parts) if len(parts) > 1 else parts[0]), found

    def _added_losses(self, inputs: Any) -> list[Tensor]:
        """Returns the losses that layers have added, but for those of other calls of a model inside of the model."""
        model = self._model
        if executing_eagerly_outside_functions():
            return list(model.losses)
        return [*model.get_losses_for(None), *model.get_losses_for(inputs)]

    def measure(self, outputs: Sequence[Tensor], targets: Sequence[Any], sample_weights: Sequence[Any]) -> list[Tensor]:
        """Updates the metrics by a batch, and returns their values."""
        found = []
        for index, metric, is_weighted in self.metrics or ():
            weight = _masked(outputs[index], sample_weights[index] if is_weighted else None)
            found.append(metric(targets[index], outputs[index], sample_weight=weight))
        return [*found, *(metric.result() for metric in self._model.metrics)]

    def reset(self) -> None:
        """Starts the metrics anew."""
        for _, metric, _ in self.metrics or ():
            metric.reset_states()
        for metric in self._model.metrics:
            metric.reset_states()


def _loss(given: Any) -> Any:
    if given is None or isinstance(given, Loss):
        return given
    found = loss_functions.losses.get(given)
    if isinstance(found, Loss):
        return found
    return LossFunctionWrapper(found, name=getattr(found, "__name__", "loss"))


def _per_output(given: Any, names: Sequence[str], what: str) -> list[Any]:
    """Returns what belongs to each output: one for all, or one by one, by position or by name."""
    if isinstance(given, dict):
        for name in given:
            if name not in names:
                raise ValueError(f"Unknown entry in {what} dictionary: {name!r}. Only expected following keys: {names}")
        for name in names:
            if name not in given and what == "loss":
                warnings.warn(f"Output {name} missing from loss dictionary: no loss is computed for it.", stacklevel=3)
        return [given.get(name) for name in names]
    if isinstance(given, list | tuple):
        if len(given) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The model has {len(names)} "
                f"outputs, but you passed {what}={given}"
            )
        return list(given)
    return [given] * len(names)


def _metrics_per_output(given: Any, names: Sequence[str]) -> list[list[Any]]:
    if not given:
        return [[] for _ in names]
    if isinstance(given, dict):
        return [_listed(each) for each in _per_output(given, names, "metrics")]
    if isinstance(given, list | tuple) and any(isinstance(each, list | tuple) for each in given):
        return [_listed(each) for each in _per_output(given, names, "metrics")]
    return [list(_listed(given)) for _ in names]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _metric_name(given: Any, is_weighted: bool) -> str:
    """Returns the name of a metric as TensorFlow 1.15 reports it."""
    prefix = "weighted_" if is_weighted else ""
    if given in _ACCURACY:
        return f"{prefix}acc"
    if given in _CROSSENTROPY:
        return f"{prefix}ce"
    found = get_metric(given)
    return prefix + str(getattr(found, "name", None) or getattr(found, "__name__", "metric"))


def _by_shape(is_accuracy: bool, output: Tensor, loss: Any) -> Any:
    """Returns the accuracy or the crossentropy for the kind of an output."""
    sizes = output.shape.as_list()
    computed_by = getattr(loss, "fn", None)
    if sizes[-1] == 1 or computed_by is functions.binary_crossentropy:
        return accuracy.binary_accuracy if is_accuracy else functions.binary_crossentropy
    if computed_by is functions.sparse_categorical_crossentropy:
        return accuracy.sparse_categorical_accuracy if is_accuracy else functions.sparse_categorical_crossentropy
    return accuracy.categorical_accuracy if is_accuracy else functions.categorical_crossentropy


def _masked(output: Tensor, weight: Any) -> Any:
    """Returns the weights of examples, zero where the output is masked."""
    mask = mask_of(output)
    if mask is None:
        return weight
    mask = cast(mask, output.dtype)
    return mask if weight is None else multiply(mask, cast(weight, output.dtype))
