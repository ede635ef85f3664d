"""Objectives: the losses and metrics of a model's outputs, as `compile` was given them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import add_n, multiply
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import losses as loss_functions
from thalweg._src.keras.engine.base_layer import mask_of
from thalweg._src.keras.engine.graph_map import GraphModel
from thalweg._src.keras.losses import functions
from thalweg._src.keras.losses.losses import Loss, LossFunctionWrapper
from thalweg._src.keras.losses.weighting import Reduction
from thalweg._src.keras.metrics import accuracy
from thalweg._src.keras.metrics.base import MeanMetricWrapper, Metric
from thalweg._src.keras.metrics.lookup import get as get_metric
from thalweg._src.keras.serialization import Identifier

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
        model: GraphModel,
        loss: object,
        metrics: object,
        loss_weights: object,
        weighted_metrics: object,
    ) -> None:
        self._model = model
        self._metrics_arguments = metrics, weighted_metrics
        names = model.output_names
        self.losses = [_loss(identifier) for identifier in _per_output(loss, names, "loss")]
        for output_loss in self.losses:
            if output_loss is not None:
                output_loss._allow_sum_over_batch_size = True  # the steps of a model scale the means of replicas
        weights = _per_output(loss_weights, names, "loss_weights")
        self._weights = [1.0 if weight is None else float(weight) for weight in weights]
        self.metrics: list[tuple[int, Metric, bool]] | None = None  # the output, the metric, whether it is weighted

    @property
    def num_losses(self) -> int:
        """The number of losses that a training step returns: the total one, and those of several outputs."""
        several = len(self._model.output_names) > 1
        return 1 + (sum(loss is not None for loss in self.losses) if several else 0)

    @property
    def names(self) -> list[str]:
        """The names of what a training step returns: the loss, the losses of several outputs, the metrics."""
        outputs = self._model.output_names
        several = [f"{name}_loss" for name, loss in zip(outputs, self.losses) if loss is not None]
        compiled = [metric.name for _, metric, _ in self.metrics or ()]
        added = [metric.name for metric in self._model.metrics]
        return ["loss", *(several if len(outputs) > 1 else []), *compiled, *added]

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Makes the metrics, whose functions depend on the outputs."""
        if self.metrics is not None:
            return
        self.metrics = []
        for argument, is_weighted in zip(self._metrics_arguments, (False, True)):
            for index, identifiers in enumerate(_metrics_per_output(argument, self._model.output_names)):
                for identifier in identifiers:
                    metric = self._metric(identifier, outputs[index], index, is_weighted)
                    self.metrics.append((index, metric, is_weighted))

    def _metric(self, identifier: Identifier, output: Tensor, index: int, is_weighted: bool) -> Metric:
        name = _metric_name(identifier, is_weighted)
        prefix = f"{self._model.output_names[index]}_" if len(self._model.output_names) > 1 else ""
        if not (
            isinstance(identifier, Metric) and name.startswith(prefix)
        ):  # a metric of a loaded model has it already
            name = prefix + name
        taken = self.names
        base, number = name, 1
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        if isinstance(identifier, Metric):
            identifier._name = name
            return identifier
        if identifier in _ACCURACY or identifier in _CROSSENTROPY:
            identifier = _by_shape(identifier in _ACCURACY, output, self.losses[index])
        metric = get_metric(identifier)
        if isinstance(metric, Metric):
            metric._name = name
            return metric
        return MeanMetricWrapper(metric, name=name)

    def compute(
        self,
        outputs: Sequence[Tensor],
        targets: Sequence[Any],
        sample_weights: Sequence[Any],
        replica: Replica | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns the total loss and the losses of the outputs; of a replica, its shares of those of all."""
        values: list[Tensor] = []
        for output, target, weight, loss in zip(outputs, targets, sample_weights, self.losses):
            if loss is not None:
                value = loss(target, output, sample_weight=_masked(output, weight))
                if replica is not None and loss.reduction != Reduction.SUM:
                    value = multiply(value, cast(replica.share, value.dtype))
                values.append(value)
        factors = [factor for factor, loss in zip(self._weights, self.losses) if loss is not None]
        terms = [value if factor == 1.0 else multiply(value, factor) for value, factor in zip(values, factors)]
        added = self._added_losses(self._model.inputs if replica is None else replica.inputs)
        if replica is not None:
            added = [multiply(loss, cast(1.0 / replica.count, loss.dtype)) for loss in added]
        terms += [cast(loss, terms[0].dtype) if terms else loss for loss in added]
        if not terms:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        return (add_n(terms) if len(terms) > 1 else terms[0]), values

    def _added_losses(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Returns the losses that layers have added, but for those of other calls of a model inside of the model."""
        model = self._model
        if executing_eagerly_outside_functions():
            return list(model.losses)
        return [*model.get_losses_for(None), *model.get_losses_for(inputs)]

    def measure(self, outputs: Sequence[Tensor], targets: Sequence[Any], sample_weights: Sequence[Any]) -> list[Tensor]:
        """Updates the metrics by a batch, and returns their values."""
        values = []
        for index, metric, is_weighted in self.metrics or ():
            weight = _masked(outputs[index], sample_weights[index] if is_weighted else None)
            values.append(metric(targets[index], outputs[index], sample_weight=weight))
        return [*values, *(metric.result() for metric in self._model.metrics)]

    def reset(self) -> None:
        """Starts the metrics anew."""
        for _, metric, _ in self.metrics or ():
            metric.reset_states()
        for metric in self._model.metrics:
            metric.reset_states()


def _loss(identifier: Identifier | Loss) -> Loss | None:
    if identifier is None or isinstance(identifier, Loss):
        return identifier
    loss = loss_functions.losses.get(identifier)
    if isinstance(loss, Loss):
        return loss
    return LossFunctionWrapper(loss, name=getattr(loss, "__name__", "loss"))


def _per_output(argument: object, names: Sequence[str], what: str) -> list[Any]:
    """Returns what belongs to each output: one for all, or one by one, by position or by name."""
    if isinstance(argument, dict):
        for name in argument:
            if name not in names:
                raise ValueError(f"Unknown entry in {what} dictionary: {name!r}. Only expected following keys: {names}")
        for name in names:
            if name not in argument and what == "loss":
                warnings.warn(f"Output {name} missing from loss dictionary: no loss is computed for it.", stacklevel=3)
        return [argument.get(name) for name in names]
    if isinstance(argument, list | tuple):
        if len(argument) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The model has {len(names)} "
                f"outputs, but you passed {what}={argument}"
            )
        return list(argument)
    return [argument] * len(names)


def _metrics_per_output(argument: object, names: Sequence[str]) -> list[list[Any]]:
    if not argument:
        return [[] for _ in names]
    entries = argument if isinstance(argument, list | tuple) else ()
    if isinstance(argument, dict) or any(isinstance(entry, list | tuple) for entry in entries):
        return [_as_list(metrics) for metrics in _per_output(argument, names, "metrics")]
    return [_as_list(argument) for _ in names]


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _metric_name(identifier: Identifier, is_weighted: bool) -> str:
    """Returns the name of a metric as TensorFlow 1.15 reports it."""
    prefix = "weighted_" if is_weighted else ""
    if identifier in _ACCURACY:
        return f"{prefix}acc"
    if identifier in _CROSSENTROPY:
        return f"{prefix}ce"
    metric = get_metric(identifier)
    return prefix + str(getattr(metric, "name", None) or getattr(metric, "__name__", "metric"))


def _by_shape(is_accuracy: bool, output: Tensor, loss: Loss | None) -> Callable[..., Tensor]:
    """Returns the accuracy or the crossentropy for the kind of an output."""
    sizes = output.shape.as_list()
    computed_by = getattr(loss, "fn", None)
    if sizes[-1] == 1 or computed_by is functions.binary_crossentropy:
        return accuracy.binary_accuracy if is_accuracy else functions.binary_crossentropy
    if computed_by is functions.sparse_categorical_crossentropy:
        return accuracy.sparse_categorical_accuracy if is_accuracy else functions.sparse_categorical_crossentropy
    return accuracy.categorical_accuracy if is_accuracy else functions.categorical_crossentropy


def _masked(output: Tensor, weight: TensorLike | None) -> TensorLike | None:
    """Returns the weights of examples, zero where the output is masked."""
    mask = mask_of(output)
    if mask is None:
        return weight
    mask = cast(mask, output.dtype)
    return mask if weight is None else multiply(mask, cast(weight, output.dtype))
