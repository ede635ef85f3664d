"""tf.summary: Summaries for TensorBoard, and their writers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.training.nn.summaries import (
    audio as audio,
    get_summary_description as get_summary_description,
    histogram as histogram,
    image as image,
    merge as merge,
    merge_all as merge_all,
    scalar as scalar,
    tensor_summary as tensor_summary,
    text as text,
)
from thalweg._src.training.observe.file_writer import (
    FileWriter as FileWriter,
    FileWriterCache as FileWriterCache,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event as Event
    from tensorboard.compat.proto.event_pb2 import SessionLog as SessionLog
    from tensorboard.compat.proto.summary_pb2 import Summary as Summary
    from tensorboard.compat.proto.summary_pb2 import SummaryDescription as SummaryDescription
    from tensorboard.compat.proto.event_pb2 import TaggedRunMetadata as TaggedRunMetadata

__getattr__, __dir__ = _lazy_names(
    __name__,
    [],
    {
        "Event": "tensorboard.compat.proto.event_pb2", "SessionLog": "tensorboard.compat.proto.event_pb2",
        "Summary": "tensorboard.compat.proto.summary_pb2", "SummaryDescription": "tensorboard.compat.proto.summary_pb2",
        "TaggedRunMetadata": "tensorboard.compat.proto.event_pb2",
    },
)

__all__ = [
    "Event", "FileWriter", "FileWriterCache", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata",
    "audio", "get_summary_description", "histogram", "image", "merge", "merge_all", "scalar", "tensor_summary", "text",
]
