"""FileWriter: writes summaries, graphs and traces to an event file, for TensorBoard."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export, export_lazy
from thalweg._src.base.formats import events
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.messages import Message
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.graph import Graph


@export("summary.FileWriter")
class FileWriter:
    """Writes to a new event file in a folder, on a background thread.

    Args:
        logdir: Folder of the event file.
        graph: Graph to write at the start.
        max_queue: Number of events that may wait to be written.
        flush_secs: Seconds between flushes.
        graph_def: Deprecated: a GraphDef to write at the start.
        filename_suffix: Suffix of the file name.
        session: Accepted for compatibility; events are written by Python code.
    """

    def __init__(
        self,
        logdir: PathLike,
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if executing_eagerly():
            raise RuntimeError(
                "tf.summary.FileWriter is not compatible with eager execution. Use tf.contrib.summary instead."
            )
        require_kind("flush_secs", flush_secs, (int, float), "a number of seconds")
        require_kind("max_queue", max_queue, int, "a number of events")
        self.event_writer = events.EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        self._described: set[str] = set()
        self._run_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph(_graph_def(graph if graph is not None else graph_def)))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Returns the folder of the event files."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """Adds a summary, serialized or not; the metadata of a tag is written with its first value only."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        message = Summary()
        message.ParseFromString(summary if isinstance(summary, bytes) else summary.SerializeToString())
        for value in message.value:
            if value.tag in self._described:
                value.ClearField("metadata")
            self._described.add(value.tag)
        self._add(Event(summary=message), global_step)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Adds an event of a session: a start, a stop, a checkpoint."""
        from tensorboard.compat.proto.event_pb2 import Event

        self._add(Event(session_log=session_log), global_step)

    def add_graph(self, graph: Graph | None, global_step: int | None = None, graph_def: Any = None) -> None:
        """Adds a graph, given as a Graph or as a GraphDef."""
        from tensorboard.compat.proto.event_pb2 import Event

        if graph is not None and graph_def is not None:
            raise ValueError("expected graph or graph_def, received both")
        message = _graph_def(graph if graph is not None else graph_def)
        self._add(Event(graph_def=message.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Adds a MetaGraphDef."""
        from tensorboard.compat.proto.event_pb2 import Event

        if _message_name(meta_graph_def) != "MetaGraphDef":
            raise TypeError(f"meta_graph_def: expected a MetaGraphDef message, received {type(meta_graph_def)}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Adds the metadata of a step, under a tag of its own."""
        from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata

        if tag in self._run_tags:
            raise ValueError(f"run metadata was already added under the tag {tag!r}")
        self._run_tags.add(tag)
        content = _run_metadata(run_metadata).SerializeToString()
        self._add(Event(tagged_run_metadata=TaggedRunMetadata(tag=tag, run_metadata=content)), global_step)

    def add_event(self, event: Any) -> None:
        """Adds an event unchanged."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def _add(self, event: Any, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def flush(self) -> None:
        """Waits until all events are in the file."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Writes pending events and closes the file; `reopen` starts another."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Opens a new event file after `close`."""
        self.event_writer.reopen()
        self._closed = False

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn("this FileWriter is closed: nothing is written until it is reopened", stacklevel=4)


@export("summary.FileWriterCache")
class FileWriterCache:
    """One FileWriter per folder."""

    _cache: ClassVar[dict[PathLike, FileWriter]] = {}
    _lock = threading.RLock()

    @staticmethod
    def get(logdir: PathLike) -> FileWriter:
        """Returns the writer of a folder, created with the default graph on first use."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]

    @staticmethod
    def clear() -> None:
        """Closes and removes all writers."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()


@export("train.summary_iterator")
def summary_iterator(path: str) -> Iterator[Any]:
    """Returns an iterator over the events of a file.

    Args:
        path: Path of the event file.
    """
    return events.summary_iterator(path)


def _message_name(value: object) -> str | None:
    return getattr(getattr(value, "DESCRIPTOR", None), "name", None)


def _graph_def(graph: Graph) -> Any:
    if isinstance(graph, Graph):
        return graph.as_graph_def(add_shapes=True)
    if _message_name(graph) != "GraphDef":
        raise TypeError(f"graph: expected a tf.Graph or a GraphDef message, received {type(graph)}")
    return graph


def _meta_graph(graph_def: Any) -> Any:
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    message = MetaGraphDef()
    message.graph_def.MergeFromString(graph_def.SerializeToString())
    return message


def _run_metadata(metadata: Any) -> Any:
    """Returns the metadata of a step as a protobuf message."""
    if not isinstance(metadata, Message):
        return metadata
    from google.protobuf.json_format import ParseDict
    from tensorboard.compat.proto.config_pb2 import RunMetadata

    fields = metadata.as_dict()
    graphs = fields.pop("partition_graphs", ())
    message = ParseDict(fields, RunMetadata(), ignore_unknown_fields=True)
    message.partition_graphs.extend(graphs)
    return message


export_lazy(
    "tensorboard.compat.proto.event_pb2",
    "summary.TaggedRunMetadata",
    doc="Message of the metadata of a run, serialized, under a tag.",
)
export_lazy(
    "tensorboard.compat.proto.summary_pb2",
    "summary.SummaryDescription",
    doc="Message of the kind of value that a summary operation produces: type_hint.",
)
