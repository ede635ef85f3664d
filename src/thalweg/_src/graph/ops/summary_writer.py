"""Summary writer ops, which append to an event file in the step that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require, scalar
from thalweg._src.graph.ops.summary import _REAL

_SCALARS = frozenset(
    (
        "logdir",
        "max_queue",
        "flush_millis",
        "filename_suffix",
        "step",
        "tag",
        "summary_metadata",
        "sample_rate",
        "event",
    )
)


def _written(c: Inference) -> Sequence[Shape]:
    for arg, shape in zip(c.definition.inputs, c.shapes):
        is_scalar = arg.name in _SCALARS or (arg.name == "value" and arg.type_attr is not None)
        require(
            not is_scalar or shape in (None, ()), f"{arg.name} has shape {show(shape)}", expected=f"a scalar {arg.name}"
        )
    return []


def _op(name: str, inputs: str, doc: str, **more: Any) -> OpDef:
    return stateful_op(name, f"writer: resource{inputs} ->", doc, **{"infer": _written, **more})


summary_writer_op = stateful_op(
    "SummaryWriter",
    "-> writer: resource",
    "Returns the handle of a summary writer.",
    shared_name="",
    container="",
    infer=scalar,
)
create_summary_file_writer_op = _op(
    "CreateSummaryFileWriter",
    ", logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string",
    "Opens the event file of a summary writer, unless it is open.",
    external="writes files",
)
flush_summary_writer_op = _op(
    "FlushSummaryWriter", "", "Waits until all events of a summary writer are in its file.", infer=no_outputs
)
close_summary_writer_op = _op("CloseSummaryWriter", "", "Closes the file of a summary writer.", infer=no_outputs)
write_summary_op = _op(
    "WriteSummary",
    ", step: int64, tensor: T, tag: string, summary_metadata: string",
    "Writes a summary of any tensor, with metadata for a TensorBoard plugin.",
    T=attr.types(),
)
write_scalar_summary_op = _op(
    "WriteScalarSummary", ", step: int64, tag: string, value: T", "Writes a summary of a scalar.", T=_REAL
)
write_histogram_summary_op = _op(
    "WriteHistogramSummary",
    ", step: int64, tag: string, values: T",
    "Writes a histogram summary; values must be finite.",
    T=attr.types({*_REAL, dtypes.bool}, dtypes.float32),
)
write_image_summary_op = _op(
    "WriteImageSummary",
    ", step: int64, tag: string, tensor: T, bad_color: uint8",
    "Writes a summary of images; values other than uint8 are scaled per image.",
    max_images=attr.integer(1, 3),
    T=attr.types((dtypes.uint8, dtypes.float64, dtypes.float32, dtypes.float16), dtypes.float32),
)
write_audio_summary_op = _op(
    "WriteAudioSummary",
    ", step: int64, tag: string, tensor: float32, sample_rate: float32",
    "Writes a summary of audio clips.",
    max_outputs=attr.integer(1, 3),
)
write_graph_summary_op = _op(
    "WriteGraphSummary", ", step: int64, tensor: string", "Writes a serialized GraphDef to an event file."
)
import_event_op = _op("ImportEvent", ", event: string", "Writes a serialized Event unchanged.")
