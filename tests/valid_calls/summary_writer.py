"""Valid calls of summary writers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.sandbox import Variable
from tests.valid_calls.values import Call, floats, ints, longs


@dataclass(frozen=True)
class Writer(Variable):
    """An input that is the handle of an open summary writer; spoiled, it becomes a variable's."""

    def make_handle(self, setup: list[Any]) -> Any:
        from thalweg._src.graph.ops.summary_writer import create_summary_file_writer_op, summary_writer_op

        handle = summary_writer_op(shared_name="writer")
        setup.append(create_summary_file_writer_op.operation(handle, "build/events", 10, 1000, ""))
        return handle


def _text(value: bytes) -> np.ndarray:
    return np.array(value, dtype=object)


_WRITER, _TAG, _STEP = Writer("int64", ()), _text(b"tag"), longs(3)

VALID: dict[str, Call] = {
    "SummaryWriter": ((), {}),
    "CreateSummaryFileWriter": ((_WRITER, _text(b"build/events"), ints(10), ints(1000), _text(b"")), {}),
    "FlushSummaryWriter": ((_WRITER,), {}),
    "CloseSummaryWriter": ((_WRITER,), {}),
    "WriteSummary": ((_WRITER, _STEP, floats(2, 3), _TAG, _text(b"")), {}),
    "WriteScalarSummary": ((_WRITER, _STEP, _TAG, np.array(1.5, np.float32)), {}),
    "WriteHistogramSummary": ((_WRITER, _STEP, _TAG, floats(2, 3)), {}),
    "WriteImageSummary": ((_WRITER, _STEP, _TAG, floats(2, 4, 5, 3), np.array([255, 0, 0, 255], np.uint8)), {}),
    "WriteAudioSummary": ((_WRITER, _STEP, _TAG, floats(2, 5, 3), np.array(44.0, np.float32)), {}),
    "WriteGraphSummary": ((_WRITER, _STEP, _text(b"")), {}),
    "ImportEvent": ((_WRITER, _text(b"")), {}),
}
