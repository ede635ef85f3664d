"""File ops: reading, writing, globbing; and timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.export import export
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.shape_functions import require, scalar
from thalweg._src.ops.strings import require_scalar
from thalweg._src.shapes import Shape, show


def _one_file(c: Inference) -> Sequence[Shape]:
    for index in range(len(c.shapes)):
        require_scalar(c, index)
    return [()] * c.num_outputs


def _matches(c: Inference) -> Sequence[Shape]:
    shape = c.shapes[0]
    require(shape is None or len(shape) <= 1, f"pattern has shape {show(shape)}", expected="a scalar or a vector")
    return [(None,)]


read_file_op = op(
    "ReadFile",
    "filename: string -> contents: string",
    external="reads files",
    infer=_one_file,
    differentiable=False,
    doc="Reads the contents of a file.",
)
write_file_op = op(
    "WriteFile",
    "filename: string, contents: string ->",
    external="writes files",
    stateful=True,
    infer=_one_file,
    differentiable=False,
    doc="Writes a file, and creates its parent directories if they are missing.",
)
matching_files = export("matching_files", "io.matching_files")(
    op(
        "MatchingFiles",
        "pattern: string -> filenames: string",
        external="reads files",
        infer=_matches,
        differentiable=False,
        doc="Returns the sorted names of the files that match any of the patterns.",
    )
)
timestamp_op = op(
    "Timestamp",
    "-> ts: double",
    stateful=True,
    infer=scalar,
    differentiable=False,
    doc="Returns the current Unix time in seconds.",
)


@export("read_file", "io.read_file")
def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Returns the contents of a file, read in each step."""
    return read_file_op(filename, name=name)


@export("write_file", "io.write_file")
def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Returns an operation that writes a file, and creates its parent directories if they are missing."""
    return write_file_op.operation(filename, contents, name=name)


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Returns the current Unix time in seconds."""
    return timestamp_op(name=name)
