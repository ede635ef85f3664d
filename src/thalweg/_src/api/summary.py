"""tf.summary: what a run writes down for TensorBoard."""

from typing import Any as _Any

from thalweg._src.nn.summaries import (
    audio,
    get_summary_description,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from thalweg._src.observe.file_writer import FileWriter, FileWriterCache

__all__ = [
    "FileWriter",
    "FileWriterCache",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]

_MESSAGES = {
    "Event": "event_pb2",
    "SessionLog": "event_pb2",
    "Summary": "summary_pb2",
    "SummaryDescription": "summary_pb2",
    "TaggedRunMetadata": "event_pb2",
}


def __getattr__(name: str) -> _Any:
    """Returns the messages of event files, which need protobuf."""
    if name in _MESSAGES:
        from importlib import import_module

        return getattr(import_module(f"tensorboard.compat.proto.{_MESSAGES[name]}"), name)
    raise AttributeError(f"module 'thalweg.summary' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MESSAGES})
