"""Event files for TensorBoard, written by a background thread in the order of the calls."""

from __future__ import annotations

import itertools
import os
import queue
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import IO, Any

from thalweg._src.base.formats.records import framed, read_records
from thalweg._src.base.formats.text import PathLike

_VERSION = "brain.Event:2"
_TIMEOUT = object()  # no item arrived before the next flush is due
_serial = itertools.count()


class EventFileWriter:
    """An event file in a directory; a thread writes the events and flushes the file periodically."""

    def __init__(
        self,
        logdir: PathLike,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
        filename_prefix: str = "events",
    ) -> None:
        self._logdir: str = os.fspath(logdir)
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._prefix = filename_prefix
        self._lock = threading.RLock()  # nothing is queued after the end
        self._open()

    def _open(self) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        os.makedirs(self._logdir, exist_ok=True)
        host, process = socket.gethostname(), os.getpid()
        name = f"{self._prefix}.out.tfevents.{int(time.time()):010d}.{host}.{process}.{next(_serial)}{self._suffix}"
        self.path = os.path.join(self._logdir, name)
        file = open(self.path, "wb")  # noqa: SIM115 - the worker closes it
        self._worker = _Worker(file, self._max_queue, self._flush_secs)
        self._worker.start()
        self._closed = False
        # Added events are written even if the writer is never closed.
        self._ended = weakref.finalize(self, _Worker.end, self._worker)
        self.add_event(Event(wall_time=time.time(), file_version=_VERSION))
        self.flush()

    def get_logdir(self) -> str:
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Queues an event for writing; blocks while the queue is full."""
        with self._lock:
            if not self._closed:
                self._worker.put(event.SerializeToString())

    def flush(self) -> None:
        """Waits until all events are in the file."""
        with self._lock:
            if self._closed:
                return
            worker, flushed = self._worker, threading.Event()
            worker.put(flushed)
        flushed.wait()
        worker.raise_failure()

    def close(self) -> None:
        """Writes the remaining events and closes the file; later events are dropped."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._ended()
                self._worker.raise_failure()

    def reopen(self) -> None:
        """Starts another file after `close`."""
        with self._lock:
            if self._closed:
                self._open()


class _Worker(threading.Thread):
    """Writes the items of a queue: records, events to set after a flush, and None for the end."""

    def __init__(self, file: IO[bytes], max_queue: int, flush_secs: float) -> None:
        super().__init__(name="events", daemon=True)
        self._file = file
        self._queue: queue.Queue[Any] = queue.Queue(max_queue)
        self._flush_secs = flush_secs
        self._failure: OSError | None = None

    def put(self, item: Any) -> None:
        self.raise_failure()
        self._queue.put(item)

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        if self.is_alive():
            self._queue.put(None)
            self.join()

    def run(self) -> None:
        """Continues after a failure, so that callers do not block forever; the next call raises it."""
        next_flush = 0.0
        pending = False
        while True:
            try:
                item = self._queue.get(timeout=max(next_flush - time.monotonic(), 0.0) if pending else None)
            except queue.Empty:
                item = _TIMEOUT
            try:
                if item is not None and item is not _TIMEOUT:
                    pending = self._write(item)
                if item is None or (pending and time.monotonic() >= next_flush):
                    self._file.flush()
                    next_flush, pending = time.monotonic() + self._flush_secs, False
            except OSError as error:
                self._failure = error
            if isinstance(item, threading.Event):
                item.set()
            if item is None:
                self._file.close()
                return

    def _write(self, item: Any) -> bool:
        """Writes a record, or flushes; returns whether unflushed data remains."""
        if self._failure is not None:
            return False
        if isinstance(item, threading.Event):
            self._file.flush()
            return False
        self._file.write(framed(item))
        return True


def summary_iterator(path: str) -> Iterator[Any]:
    """Yields the events of a file."""
    from tensorboard.compat.proto.event_pb2 import Event

    for record in read_records(path):
        yield Event.FromString(record)
