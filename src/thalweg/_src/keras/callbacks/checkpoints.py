"""ModelCheckpoint: saves a model, or its weights, while it is trained."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.keras.callbacks.base import Callback, Logs
from thalweg._src.keras.callbacks.training import grows, monitored

_FIELD = re.compile(r"{[^{}]*}")  # what `str.format` replaces
_INDEX, _DATA = ".index", re.compile(r"\.data-\d+-of-\d+$")  # how the files of a checkpoint end


@export("keras.callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model, or its weights, after epochs or after a number of examples.

    Args:
        filepath: Path of what is saved, with fields for the epoch and for what was measured:
            "weights.{epoch:02d}-{val_loss:.2f}".
        monitor: Name of the quantity that is watched, such as "val_loss".
        save_best_only: Whether to save only when the watched quantity is better than ever before.
        save_weights_only: Whether to save the weights, and not the whole model.
        mode: "min" if less is better, "max" if more is, "auto" to decide by the name.
        save_freq: "epoch" to save after epochs, or a number of examples.
        **kwargs: `period`, the number of epochs from one saving to the next, and `load_weights_on_restart`, whether to
            start from what was saved last.
    """

    def __init__(
        self,
        filepath: PathLike,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.load_weights_on_restart = kwargs.pop("load_weights_on_restart", False)
        if "period" in kwargs:
            logging.warning("ModelCheckpoint: period is deprecated; save_freq counts examples in place of epochs")
        self.period = kwargs.pop("period", 1)
        if kwargs:
            raise TypeError(f"ModelCheckpoint: unknown arguments {sorted(kwargs)}")
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"ModelCheckpoint: expected save_freq='epoch' or a number of examples, not {save_freq!r}")
        self.filepath: str = os.fspath(filepath)
        self.monitor = monitor
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_freq
        self.epochs_since_last_save = 0
        larger = grows(mode, monitor, "ModelCheckpoint")
        self.monitor_op = np.greater if larger else np.less
        self.best: Any = -np.inf if larger else np.inf
        self._current_epoch = 0
        self._samples_since_last_save = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Loads the weights that were saved last, if the callback was told to."""
        if self.load_weights_on_restart:
            path = _latest(self.filepath)
            if path is not None:
                self.model.load_weights(path)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Takes the number of the epoch, for the names of files that are written during it."""
        self._current_epoch = epoch

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Saves if enough examples were seen since the last time."""
        if isinstance(self.save_freq, int):
            self._samples_since_last_save += (logs or {}).get("size", 1)
            if self._samples_since_last_save >= self.save_freq:
                self._samples_since_last_save = 0
                self._save_model(self._current_epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Saves if enough epochs have passed since the last time."""
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            self._save_model(epoch, logs or {})

    def _save_model(self, epoch: int, logs: dict[str, Any]) -> None:
        path = self._path(epoch, logs)
        when = f"\nEpoch {epoch + 1:05d}"
        if self.save_best_only:
            current = monitored(logs, self.monitor, "ModelCheckpoint")
            if current is None:
                return
            if not self.monitor_op(current, self.best):
                self._report(f"{when}: {self.monitor} is not better than {self.best:.5f}")
                return
            self._report(f"{when}: {self.monitor} improved from {self.best:.5f} to {current:.5f}, saving to {path}")
            self.best = current
        else:
            self._report(f"{when}: saving to {path}")
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)

    def _report(self, text: str) -> None:
        if self.verbose > 0:
            print(text)

    def _path(self, epoch: int, logs: dict[str, Any]) -> str:
        try:
            return self.filepath.format(epoch=epoch + 1, **logs)
        except KeyError as error:
            raise KeyError(
                f"ModelCheckpoint: {self.filepath!r} contains the field {error}, which was not measured; known are: "
                f"{', '.join(['epoch', *logs])}"
            ) from None


def _latest(pattern: str) -> str | None:
    """Returns the last written of the files and checkpoints whose names fit a pattern; None if there is none."""
    folder, name = os.path.split(pattern)
    described = re.compile(".*".join(map(re.escape, _FIELD.split(name))))
    checkpoints = []
    for file in os.listdir(folder or ".") if os.path.isdir(folder or ".") else ():
        saved = file.removesuffix(_INDEX)
        if not _DATA.search(file) and described.fullmatch(saved):
            checkpoints.append((os.path.getmtime(os.path.join(folder, file)), saved))
    return os.path.join(folder, max(checkpoints)[1]) if checkpoints else None
