"""Callbacks that steer a training by what it measures: they end it, or set the learning rate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend.values import get_value, set_value
from thalweg._src.keras.callbacks.base import Callback, Logs


def grows(mode: str, monitor: str, callback: str) -> bool:
    """Returns whether larger values of a measured quantity are better."""
    require_text("monitor", monitor)
    if mode not in ("auto", "min", "max"):
        logging.warning("%s: the mode %r is unknown, 'auto' is used in its place", callback, mode)
        mode = "auto"
    return mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.startswith("fmeasure")))


def monitored(logs: Logs, monitor: str, callback: str) -> Any:
    """Returns the value of a measured quantity; without one it warns, and returns None."""
    value = (logs or {}).get(monitor)
    if value is None:
        logging.warning(
            "%s: %r was not measured, so nothing is decided in this epoch; measured are: %s",
            callback,
            monitor,
            ", ".join(logs or ()),
        )
    return value


@export("keras.callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Ends the training when a measured quantity has stopped to improve.

    Args:
        monitor: Name of the quantity that is watched, such as "val_loss".
        min_delta: Change that counts as an improvement at least.
        patience: Number of epochs without an improvement after which the training ends.
        mode: "min" if less is better, "max" if more is, "auto" to decide by the name.
        baseline: Value that has to be improved on; None for none.
        restore_best_weights: Whether the model gets the weights of its best epoch when the training is ended.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.best_weights: Any = None
        self.wait = 0
        self.stopped_epoch = 0
        larger = grows(mode, monitor, "EarlyStopping")
        self.monitor_op = np.greater if larger else np.less
        self.min_delta = abs(min_delta) if larger else -abs(min_delta)
        self.best: Any = -np.inf if larger else np.inf

    def on_train_begin(self, logs: Logs = None) -> None:
        """Starts anew, so that a callback serves several trainings."""
        self.wait = 0
        self.stopped_epoch = 0
        self.best_weights = None
        self.best = self.baseline if self.baseline is not None else np.inf if self.monitor_op is np.less else -np.inf

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Ends the training if the last epochs were not better than the best one before."""
        current = self.get_monitor_value(logs)
        if current is None:
            return
        better = self.monitor_op(current - self.min_delta, self.best)
        # The first weights are kept even if they do not reach the baseline: there may be no better ones.
        if self.restore_best_weights and (better or self.best_weights is None):
            self.best_weights = self.model.get_weights()
        if better:
            self.best = current
            self.wait = 0
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.restore_best_weights:
                if self.verbose > 0:
                    print("Restoring the weights of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Logs = None) -> None:
        """Reports the epoch that was the last."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs: Logs) -> Any:
        """Returns the value of the monitored quantity, None if it was not measured."""
        return monitored(logs, self.monitor, "EarlyStopping")


@export("keras.callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Reduces the learning rate when a measured quantity has stopped to improve.

    Args:
        monitor: Name of the quantity that is watched, such as "val_loss".
        factor: What the learning rate is multiplied with, below 1.
        patience: Number of epochs without an improvement after which the learning rate is reduced.
        mode: "min" if less is better, "max" if more is, "auto" to decide by the name.
        min_delta: Change that counts as an improvement at least.
        cooldown: Number of epochs after a reduction that do not count.
        min_lr: Smallest learning rate.
        **kwargs: `epsilon`, the former name of `min_delta`.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: expected a factor below 1.0, received {factor}")
        if "epsilon" in kwargs:
            logging.warning("ReduceLROnPlateau: epsilon is the former name of min_delta")
            min_delta = kwargs.pop("epsilon")
        if kwargs:
            raise TypeError(f"ReduceLROnPlateau: unknown arguments {sorted(kwargs)}")
        self.monitor = monitor
        self.factor = factor
        self.patience = patience
        self.verbose = verbose
        self.mode = mode
        self.min_delta = min_delta
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.cooldown_counter = 0
        self.wait = 0
        self.best: Any = 0
        self._larger = grows(mode, monitor, "ReduceLROnPlateau")
        self._reset()

    def _reset(self) -> None:
        self.best = -np.inf if self._larger else np.inf
        self.cooldown_counter = 0
        self.wait = 0

    def monitor_op(self, current: float, best: float) -> bool:
        """Returns whether a value is better than another by more than `min_delta`."""
        return bool(current > best + self.min_delta if self._larger else current < best - self.min_delta)

    def on_train_begin(self, logs: Logs = None) -> None:
        """Starts anew, so that a callback serves several trainings."""
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Reduces the learning rate if the last epochs were not better than the best one before."""
        logs = {} if logs is None else logs
        logs["lr"] = get_value(self.model.optimizer.lr)
        current = monitored(logs, self.monitor, "ReduceLROnPlateau")
        if current is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(current, self.best):
            self.best = current
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch, float(logs["lr"]))

    def _reduce(self, epoch: int, rate: float) -> None:
        # The variable rounds to float32: a rate at the smallest one may differ from it in Python's numbers.
        if rate <= np.float32(self.min_lr):
            return
        reduced = max(rate * self.factor, self.min_lr)
        set_value(self.model.optimizer.lr, reduced)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: the learning rate is reduced to {reduced}.")
        self.cooldown_counter = self.cooldown
        self.wait = 0

    def in_cooldown(self) -> bool:
        """Returns whether epochs do not count yet after a reduction."""
        return self.cooldown_counter > 0


@export("keras.callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Sets the learning rate of each epoch by a function of its number, or of its number and the current rate.

    Args:
        schedule: Function of the epoch, from 0, or of the epoch and the current learning rate, that returns the
            learning rate.
    """

    def __init__(self, schedule: Callable[..., Any], verbose: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Sets the learning rate of an epoch."""
        optimizer = self.model.optimizer
        if not hasattr(optimizer, "lr"):
            raise ValueError(f'LearningRateScheduler: the optimizer {optimizer!r} has no attribute "lr" to set')
        arguments = epoch, float(get_value(optimizer.lr))
        rate = self.schedule(*arguments) if _takes(self.schedule, arguments) else self.schedule(epoch)
        if not isinstance(rate, float | np.floating | Tensor):
            raise ValueError(f"LearningRateScheduler: expected a float of the schedule, received {rate!r}")
        rate = get_value(rate)
        set_value(optimizer.lr, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: the learning rate is set to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Adds the learning rate to what was measured."""
        if logs is not None:
            logs["lr"] = get_value(self.model.optimizer.lr)


def _takes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
    """Returns whether a function takes arguments; one that does not say is assumed to take them."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


@export("keras.callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Ends the training when the loss of a batch is not finite."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Ends the training if the loss is not finite."""
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


@export("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """A callback made of functions.

    Args:
        on_epoch_begin: Function of the epoch and the logs, called before an epoch.
        on_epoch_end: Function of the epoch and the logs, called after an epoch.
        on_batch_begin: Function of the batch and the logs, called before a batch.
        on_batch_end: Function of the batch and the logs, called after a batch.
        on_train_begin: Function of the logs, called before the training.
        on_train_end: Function of the logs, called after the training.
        **kwargs: Functions for other methods of a callback, by name.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_batch_begin: Callable[..., Any] | None = None,
        on_batch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        functions = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
        }
        vars(self).update(kwargs)
        vars(self).update({point: function for point, function in functions.items() if function is not None})


@export("keras.callbacks.BaseLogger")
class BaseLogger(Callback):
    """Averages what is measured of batches over the examples of an epoch."""

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Starts anew."""
        self.seen = 0
        self.totals = {}

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Adds the values of a batch, each as often as the batch has examples; stateful ones replace the last."""
        logs = logs or {}
        size = logs.get("size", 0)
        # Where several steps are one call, the values are sums over these steps, and the size is that of one.
        self.seen += size * logs.get("num_steps", 1)
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Adds the averages to what was measured of the epoch."""
        if logs is None:
            return
        for name in self.params["metrics"]:
            if name in self.totals:
                total = self.totals[name]
                logs[name] = total if name in self.stateful_metrics else total / self.seen
