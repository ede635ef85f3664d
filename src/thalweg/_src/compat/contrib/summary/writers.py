"""Summary writers, and the conditions under which summaries are recorded."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.default_stacks import get_default_session
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import summary_writer as ops
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.constants import no_op, placeholder
from thalweg._src.graph.scopes import add_to_collection, device, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.global_step import get_or_create_global_step

INITIALIZERS = "_SUMMARY_WRITER_V2"
SUMMARIES = "_SUMMARY_V2"


class _Defaults(threading.local):
    """The default writer of a thread, and whether its summaries are recorded."""

    writer: SummaryWriter | None = None
    is_recording: Any = False


DEFAULTS = _Defaults()


class SummaryWriter:
    """The handle of an event file, which operations open, flush and close; without a handle it does nothing."""

    def __init__(self, handle: Tensor | None = None, init_op: Operation | None = None) -> None:
        self._handle = handle
        self._init_op = init_op
        if handle is not None and handle.is_eager:
            weakref.finalize(self, handle.value.close)  # type: ignore[attr-defined]

    def set_as_default(self) -> None:
        """Makes this the default writer of the thread."""
        DEFAULTS.writer = None if self._handle is None else self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """Makes this the default writer inside the context."""
        previous = DEFAULTS.writer
        self.set_as_default()
        try:
            yield self
        finally:
            DEFAULTS.writer = previous

    def init(self) -> Operation:
        """Returns the operation that opens the event file."""
        return no_op() if self._init_op is None else self._init_op

    def flush(self) -> Operation:
        """Returns an operation that waits until all events are in the file."""
        return flush(self)

    def close(self) -> Operation:
        """Returns an operation that closes the file."""
        if self._handle is None:
            return no_op()
        with device("cpu:0"):
            return ops.close_summary_writer_op.operation(self._handle)


@export("contrib.summary.create_file_writer", "contrib.summary.create_summary_file_writer")
def create_file_writer(
    logdir: TensorLike | PathLike | None,
    max_queue: TensorLike | None = None,
    flush_millis: TensorLike | None = None,
    filename_suffix: TensorLike | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """Returns a writer of an event file, which is opened by `tf.contrib.summary.initialize`.

    Args:
        logdir: Folder of the event file; None gives a writer that writes nothing.
        max_queue: Number of events that are held in memory at most.
        flush_millis: Milliseconds after which events are flushed to the file.
        filename_suffix: Suffix of the file's name.
        name: Name that writers of one file share; by default made of `logdir`.
    """
    if logdir is None:
        return SummaryWriter()
    folder = os.fspath(logdir) if isinstance(logdir, os.PathLike) else logdir
    with device("cpu:0"):
        # A writer of eager execution is closed with its object, so that it shares no file.
        default = "" if executing_eagerly() else f"logdir:{folder}"
        handle = ops.summary_writer_op(shared_name=default if name is None else name)
        init_op = ops.create_summary_file_writer_op.operation(
            handle,
            folder,
            10 if max_queue is None else max_queue,
            2 * 60 * 1000 if flush_millis is None else flush_millis,
            ".v2" if filename_suffix is None else filename_suffix,
        )
    if not executing_eagerly():
        add_to_collection(INITIALIZERS, init_op)
    return SummaryWriter(handle, init_op)


@export("contrib.summary.summary_writer_initializer_op")
def summary_writer_initializer_op() -> list[Operation]:
    """Returns the operations that open the event files of all writers of the default graph."""
    if executing_eagerly():
        raise RuntimeError("tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode.")
    return get_collection(INITIALIZERS)


@export("contrib.summary.all_summary_ops")
def all_summary_ops() -> list[Any]:
    """Returns the operations of all summaries of the default graph, which a program runs beside its training step."""
    return get_collection(SUMMARIES)


@export("contrib.summary.initialize")
def initialize(graph: Any = None, session: Any = None) -> None:
    """Opens the event files of all writers, and writes a graph to that of the default writer.

    Args:
        graph: A graph or GraphDef to write; None writes none.
        session: The session to use; by default the default session.
    """
    if executing_eagerly():
        return  # files are open
    if DEFAULTS.writer is None:
        raise RuntimeError("there is no default summary writer: call this inside `with writer.as_default():`")
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError("session: expected a session, since there is no default session")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        message = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        with session.graph.as_default(), device("cpu:0"):
            serialized = placeholder(dtypes.string, [])
            write = ops.write_graph_summary_op.operation(handle_of(DEFAULTS.writer), 0, serialized)
        session.run(write, {serialized: message.SerializeToString()})


@export("contrib.summary.flush")
def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Operation:
    """Returns an operation that waits until all events of a writer are in its file.

    Args:
        writer: The writer; by default the default one.
        name: A name for the operations that are added to the graph.
    """
    handle = handle_of(writer or DEFAULTS.writer)
    if handle is None:
        return no_op()
    with device("cpu:0"):
        return ops.flush_summary_writer_op.operation(handle, name=name)


@export("contrib.summary.eval_dir")
def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Returns the folder for the summaries of an evaluation.

    Args:
        model_dir: Folder of the model.
        name: Name of the evaluation, if there are several.
    """
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


def handle_of(writer: SummaryWriter | None) -> Tensor | None:
    """Returns the resource of a writer, None if there is none to write to."""
    if writer is not None:
        require_kind("writer", writer, SummaryWriter, "a summary writer or None")
    return None if writer is None else writer._handle


@export("contrib.summary.should_record_summaries")
def should_record_summaries() -> Any:
    """Returns whether summaries are recorded: a bool, or a scalar tensor."""
    return DEFAULTS.is_recording() if callable(DEFAULTS.is_recording) else DEFAULTS.is_recording


@contextlib.contextmanager
def _recording(condition: Any) -> Iterator[None]:
    previous = DEFAULTS.is_recording
    DEFAULTS.is_recording = condition
    try:
        yield
    finally:
        DEFAULTS.is_recording = previous


@export("contrib.summary.always_record_summaries")
def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Records all summaries that are made inside the context."""
    return _recording(True)


@export("contrib.summary.never_record_summaries")
def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Records no summary that is made inside the context."""
    return _recording(False)


@export("contrib.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(
    n: TensorLike, global_step: Any = None
) -> contextlib.AbstractContextManager[None]:
    """Records the summaries that are made inside the context in each step whose number is a multiple of n.

    Args:
        n: The number of steps.
        global_step: The variable that counts the steps; by default the global step, created if missing.
    """
    step = get_or_create_global_step() if global_step is None else global_step

    def is_due() -> Any:
        with device("cpu:0"):
            return equal(step % n, 0)

    return _recording(is_due if executing_eagerly() else is_due())
