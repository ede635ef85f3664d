"""Names of `tensorflow.python.pywrap_tensorflow`, the functions of TensorFlow's C++ library, that programs call."""

from __future__ import annotations

import os
from typing import Any

from thalweg._src.base.formats.events import EventFileWriter
from thalweg._src.base.formats.text import as_text
from thalweg._src.training.checkpoint.reader import (
    CheckpointReader as CheckpointReader,
    NewCheckpointReader as NewCheckpointReader,
)


class EventsWriter:
    """Writes events to a file whose name starts with a prefix, and continues with the time and the host."""

    def __init__(self, file_prefix: Any) -> None:
        self._prefix = as_text(file_prefix)
        self._suffix = ""
        self._writer: EventFileWriter | None = None

    def InitWithSuffix(self, suffix: Any) -> bool:
        """Opens the file, with a suffix at the end of its name."""
        self._suffix = as_text(suffix)
        return bool(self._opened())

    def _opened(self) -> EventFileWriter:
        if self._writer is None:
            folder, name = os.path.split(self._prefix)
            self._writer = EventFileWriter(folder or ".", filename_suffix=self._suffix, filename_prefix=name)
        return self._writer

    def FileName(self) -> str:
        """Returns the path of the file."""
        return self._opened().path

    def WriteEvent(self, event: object) -> None:
        """Adds an event."""
        self._opened().add_event(event)

    def WriteSerializedEvent(self, event_str: bytes) -> None:
        """Adds an event in its serialized form."""
        from tensorboard.compat.proto.event_pb2 import Event

        self._opened().add_event(Event.FromString(event_str))

    def Flush(self) -> bool:
        """Waits until all events are in the file."""
        self._opened().flush()
        return True

    def Close(self) -> bool:
        """Writes the remaining events and closes the file."""
        self._opened().close()
        return True
