"""SummaryWriter: the event file that the summary ops of a graph write to."""

from __future__ import annotations

import threading
import time
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.formats.events import EventFileWriter
from thalweg._src.base.formats.gfile import _typed_errors


class SummaryWriter:
    """An event file, open from its first initialization until it is closed or its session ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._file: EventFileWriter | None = None

    def open(self, logdir: str, max_queue: int, flush_secs: float, filename_suffix: str) -> None:
        """Creates the event file, unless it is open."""
        with self._lock, _typed_errors(logdir):
            if self._file is None:
                self._file = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)

    def add(self, event: Any, step: int | None = None) -> None:
        """Adds an event; with a step it is stamped with that step and the time."""
        if step is not None:
            event.step = step
            event.wall_time = time.time()
        self._opened().add_event(event)

    def flush(self) -> None:
        """Waits until all events are in the file."""
        self._opened().flush()

    def close(self) -> None:
        """Writes pending events and closes the file."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    destroy = close

    def _opened(self) -> EventFileWriter:
        file = self._file
        if file is None:
            raise errors.NotFoundError(
                None,
                None,
                errors.describe(
                    f"the summary writer {self.name!r} is not open",
                    hint="run tf.contrib.summary.initialize() or the writer's init() first",
                ),
            )
        return file
