"""The loops of training, evaluation and prediction over batches."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from thalweg._src.keras.callbacks.base import Callback, CallbackList, History, ProgbarLogger
from thalweg._src.keras.engine.batch import Batch
from thalweg._src.keras.engine.batches import Batches
from thalweg._src.keras.engine.trainable_model import TrainableModel


class Averages:
    """The loss, averaged over examples, and the losses of outputs, averaged over batches as Keras does.

    Metrics average by themselves: their last values count.
    """

    def __init__(self, names: list[str], num_losses: int) -> None:
        self._names = names
        self._sums = [0.0] * num_losses
        self._counts = [0] * num_losses
        self._metrics: list[Any] = [np.nan] * (len(names) - num_losses)

    def add(self, values: list[Any], size: int) -> None:
        """Adds the values of a batch."""
        count = len(self._sums)
        for index, value in enumerate(values[:count]):
            weight = 1 if index else size
            self._sums[index] += float(value) * weight
            self._counts[index] += weight
        self._metrics = values[count:]

    @property
    def logs(self) -> dict[str, Any]:
        """The averages so far, by name."""
        losses = [total / count if count else np.nan for total, count in zip(self._sums, self._counts)]
        return dict(zip(self._names, [*losses, *self._metrics]))

    @property
    def values(self) -> list[Any]:
        """The averages so far."""
        return [float(value) if np.ndim(value) == 0 else value for value in self.logs.values()]


def _progress(batches: Batches, verbose: int, averaged_metrics: Sequence[str] = ()) -> list[Callback]:
    """Returns the callback that prints the progress, if anything is printed."""
    return [ProgbarLogger("steps" if batches.samples is None else "samples", averaged_metrics)] if verbose else []


def train(
    model: TrainableModel,
    batches: Batches,
    epochs: int,
    initial_epoch: int,
    verbose: int,
    callbacks: list[Callback],
    validation: Batches | None,
    validation_freq: int | Container[int],
) -> History:
    """Trains a model for some epochs, and returns the history of its loss and metrics."""
    names = model.metrics_names
    history = History()
    params = {
        "batch_size": batches.batch_size,
        "epochs": epochs,
        "steps": batches.steps,
        "samples": batches.samples,
        "verbose": verbose,
        "do_validation": validation is not None,
        "metrics": [*names, *(f"val_{name}" for name in names if validation is not None)],
    }
    progress = _progress(batches, verbose, names[model.compiled_objectives.num_losses :])
    calls = CallbackList([*progress, *callbacks, history], model, params)
    model.history = history
    model.stop_training = False
    if verbose and batches.samples is not None:
        samples = None if validation is None else validation.samples
        print(f"Train on {batches.samples} samples{'' if samples is None else f', validate on {samples} samples'}")
    calls.call("on_train_begin", {})
    for epoch in range(initial_epoch, epochs):
        model.reset_metrics()
        calls.call("on_epoch_begin", epoch, {})
        logs = _epoch(model, batches, calls)
        if validation is not None and _is_due(epoch, validation_freq):
            values = test(model, validation, 0, callbacks, is_validation=True)
            logs.update(zip((f"val_{name}" for name in names), values))
        calls.call("on_epoch_end", epoch, logs)
        if model.stop_training:
            break
    calls.call("on_train_end", {})
    return history


def _epoch(model: TrainableModel, batches: Batches, calls: CallbackList) -> dict[str, Any]:
    names = model.metrics_names
    averages = Averages(names, model.compiled_objectives.num_losses)
    count = 0
    for number, batch in enumerate(batches.epoch()):
        calls.call("on_train_batch_begin", number, {"batch": number, "size": batch.size})
        values = model.compiled_steps.train(batch)
        averages.add(values, batch.size)
        logs = {"batch": number, "size": batch.size, **dict(zip(names, values))}
        calls.call("on_train_batch_end", number, logs)
        count += 1
        if model.stop_training:
            break
    if not count:
        raise ValueError("Empty training data.")
    if batches.steps is None:
        batches.steps = count
    return {name: value if np.ndim(value) else np.asarray(value)[()] for name, value in averages.logs.items()}


def _is_due(epoch: int, validation_freq: int | Container[int]) -> bool:
    if isinstance(validation_freq, int):
        return (epoch + 1) % validation_freq == 0
    return epoch + 1 in validation_freq


def test(
    model: TrainableModel,
    batches: Batches,
    verbose: int = 0,
    callbacks: Sequence[Callback] = (),
    is_validation: bool = False,
) -> list[Any]:
    """Returns the loss and the metrics of a model, averaged over batches.

    is_validation: whether it is a part of a training, whose callbacks know what they are for already
    """
    names = model.metrics_names
    averages = Averages(names, model.compiled_objectives.num_losses)
    params = {
        "batch_size": batches.batch_size,
        "steps": batches.steps,
        "samples": batches.samples,
        "verbose": verbose,
        "epochs": None,
        "metrics": names,
    }
    progress = _progress(batches, verbose, names[1:])
    calls = CallbackList([*progress, *callbacks], model, None if is_validation else params)
    model.reset_metrics()
    calls.call("on_test_begin", {})
    for number, batch in enumerate(batches.epoch()):
        calls.call("on_test_batch_begin", number, {"batch": number, "size": batch.size})
        values = model.compiled_steps.test(batch)
        averages.add(values, batch.size)
        logs = {"batch": number, "size": batch.size, **dict(zip(names, values))}
        calls.call("on_test_batch_end", number, logs)
    calls.call("on_test_end", {})
    return averages.values


def predict(model: TrainableModel, batches: Batches, verbose: int = 0, callbacks: Sequence[Callback] = ()) -> list[Any]:
    """Returns the outputs of a model for all batches, one after the other."""
    outputs_by_batch: list[list[Any]] = []
    params: dict[str, Any] = {
        "steps": batches.steps,
        "samples": batches.samples,
        "verbose": verbose,
        "epochs": None,
        "metrics": [],
    }
    calls = CallbackList([*_progress(batches, verbose), *callbacks], model, params)
    calls.call("on_predict_begin", {})
    for number, batch in enumerate(batches.epoch()):
        calls.call("on_predict_batch_begin", number, {"batch": number, "size": batch.size})
        outputs = model.compiled_steps.predict(Batch(batch.inputs))
        outputs_by_batch.append(outputs)
        calls.call("on_predict_batch_end", number, {"batch": number, "size": batch.size, "outputs": outputs})
    calls.call("on_predict_end", {})
    return [np.concatenate(arrays) for arrays in zip(*outputs_by_batch)]
