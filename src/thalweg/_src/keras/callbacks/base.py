"""Callback, the list of callbacks of a training, and the two that every training has: History and ProgbarLogger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.keras.utils.generic import Progbar

Logs = dict[str, Any] | None


@export("keras.callbacks.Callback")
class Callback:
    """The base class of callbacks; a subclass overrides the methods of the points that it is interested in."""

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Sets what is known of the training: epochs, steps, samples, metrics, verbose."""
        self.params = params

    def set_model(self, model: TrainableModel) -> None:
        """Sets the model that is trained."""
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Is called before an epoch of training."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Is called after an epoch of training, with its loss and metrics."""

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Is called before a batch of training."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Is called after a batch of training, with its loss and metrics."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Is called before a batch of training."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Is called after a batch of training."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Is called before a batch of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Is called after a batch of an evaluation."""

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Is called before a batch of a prediction."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Is called after a batch of a prediction."""

    def on_train_begin(self, logs: Logs = None) -> None:
        """Is called before training."""

    def on_train_end(self, logs: Logs = None) -> None:
        """Is called after training."""

    def on_test_begin(self, logs: Logs = None) -> None:
        """Is called before an evaluation."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Is called after an evaluation."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Is called before a prediction."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Is called after a prediction."""


class CallbackList:
    """The callbacks of a training, an evaluation or a prediction, which are called one after the other."""

    def __init__(self, callbacks: Iterable[Any], model: TrainableModel, params: dict[str, Any] | None) -> None:
        """params: what callbacks are told; None if they know it already"""
        self.callbacks = list(callbacks)
        for callback in self.callbacks if params is not None else ():
            callback.set_params(params)
            callback.set_model(model)

    def call(self, point: str, *args: Any) -> None:
        """Calls a method of each callback; old callbacks do not have all of them."""
        for callback in self.callbacks:
            method = getattr(callback, point, None)
            if method is not None:
                method(*args)


@export("keras.callbacks.History")
class History(Callback):
    """Records the loss and the metrics of each epoch; `fit` returns it."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        """Starts anew."""
        self.epoch = []
        self.history = {}

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Records the values of an epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


@export("keras.callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Prints the progress of training and evaluation.

    Args:
        count_mode: What the bar counts: "samples" or "steps".
        stateful_metrics: Names of metrics that average by themselves.
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}; expected 'samples' or 'steps'")
        self._by_steps = count_mode == "steps"
        self._stateful = set(stateful_metrics or ())
        self._bar: Any = None
        self._seen = 0
        self._epochs = 1
        self._verbose = 1

    def on_train_begin(self, logs: Logs = None) -> None:
        """Takes what is known of the training."""
        self._verbose, self._epochs = self.params["verbose"], self.params["epochs"]

    def on_test_begin(self, logs: Logs = None) -> None:
        """Starts a bar for an evaluation of its own."""
        if self.params.get("epochs") is None:
            self._verbose = self.params["verbose"]
            self._start()

    on_predict_begin = on_test_begin

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Starts the bar of an epoch."""
        if self._verbose and self._epochs > 1:
            print(f"Epoch {epoch + 1}/{self._epochs}")
        self._start()

    def _start(self) -> None:
        self._seen = 0
        target = self.params["steps"] if self._by_steps else self.params["samples"]
        mode = "steps" if self._by_steps else "samples"
        self._bar = Progbar(target, verbose=self._verbose, stateful_metrics=self._stateful, unit_name=mode[:-1])

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Moves the bar."""
        logs = dict(logs or {})
        self._seen += 1 if self._by_steps else logs.get("size", 0)
        shown = [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        if self._verbose and (self._bar.target is None or self._seen < self._bar.target):
            self._bar.update(self._seen, shown)
        else:
            self._last = shown

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Moves the bar of an evaluation of its own."""
        if self.params.get("epochs") is None:
            self.on_batch_end(batch, logs)
            if self._verbose and self._bar.target is not None and self._seen >= self._bar.target:
                self._bar.update(self._seen, self._last)

    on_predict_batch_end = on_test_batch_end

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Ends the bar of an epoch, with the values of the validation."""
        if self._verbose:
            shown = [(name, (logs or {})[name]) for name in self.params["metrics"] if name in (logs or {})]
            self._bar.stateful_metrics = {name for name, _ in shown}  # they are the averages of the epoch
            self._bar.update(self._seen, shown)
