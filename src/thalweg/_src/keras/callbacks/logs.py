"""Callbacks that record what is measured: as a CSV file, and on a server."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.keras.callbacks.base import Callback, Logs


@export("keras.callbacks.CSVLogger")
class CSVLogger(Callback):
    """Writes a line of values for each epoch to a CSV file.

    Args:
        separator: Character between the values of a line.
        append: Whether to continue an existing file, and not to replace it.
    """

    def __init__(self, filename: PathLike, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename: str = os.fspath(filename)
        self.sep = separator
        self.append = append
        self.keys: list[str] | None = None
        self.append_header = True
        self._file: IO[str] | None = None
        self._writer: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Opens the file; an existing one that is continued keeps its header."""
        if self.append and os.path.exists(self.filename):
            with open(self.filename) as file:
                self.append_header = not file.readline()
        self._file = open(self.filename, "a" if self.append else "w", newline="")  # noqa: SIM115 - training closes it

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Writes the values of an epoch; the first one decides on the columns."""
        logs = logs or {}
        assert self._file is not None
        if self.keys is None:
            self.keys = sorted(logs)
            # The first epoch may be one without a validation.
            if self.params.get("do_validation") and not any(key.startswith("val_") for key in self.keys):
                self.keys += [f"val_{key}" for key in self.keys]
        if self._writer is None:
            self._writer = csv.DictWriter(self._file, ["epoch", *self.keys], delimiter=self.sep)
            if self.append_header:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **{key: _field(logs.get(key, "NA")) for key in self.keys}})
        self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        self._file = self._writer = None


def _field(value: Any) -> Any:
    """Returns a value as it is written: arrays as a list in quotes."""
    if isinstance(value, str) or np.ndim(value) == 0 or not isinstance(value, Iterable):
        return value
    return f'"[{", ".join(map(str, value))}]"'


@export("keras.callbacks.RemoteMonitor")
class RemoteMonitor(Callback):
    """Sends the values of each epoch to a server, by HTTP.

    Args:
        root: URL of the server.
        path: Path on the server.
        field: Field of the form that holds the values as JSON.
        headers: HTTP headers that are added.
        send_as_json: Whether the values themselves are sent as JSON, and not in a form.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: dict[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        _requests()  # without the package, the error comes before the training
        self.root = root
        self.path = path
        self.field = field
        self.headers = headers
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Sends the values of an epoch; a server that does not answer is warned of."""
        requests = _requests()
        values = {"epoch": epoch, **{name: _plain(value) for name, value in (logs or {}).items()}}
        content = {"json": values} if self.send_as_json else {"data": {self.field: json.dumps(values)}}
        try:
            requests.post(self.root + self.path, headers=self.headers, **content)
        except requests.exceptions.RequestException as error:
            logging.warning("RemoteMonitor: nothing was sent to %s: %s", self.root, error)


def _plain(value: object) -> Any:
    """Returns a value of NumPy as numbers of Python, which JSON knows."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _requests() -> Any:
    """Returns the package requests, which only RemoteMonitor needs."""
    try:
        import requests
    except ImportError:
        raise ImportError("RemoteMonitor sends values by the package requests: `pip install requests`") from None
    return requests
