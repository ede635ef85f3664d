"""File ops: reading, writing, globbing; and timestamps."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import require, scalar
from thalweg._src.graph.ops.strings import require_scalar


def _one_file(c: Inference) -> Sequence[Shape]:
    for index in range(len(c.shapes)):
        require_scalar(c, index)
    return [()] * c.num_outputs


def _matches(c: Inference) -> Sequence[Shape]:
    shape = c.shapes[0]
    require(shape is None or len(shape) <= 1, f"pattern has shape {show(shape)}", expected="a scalar or a vector")
    return [(None,)]


read_file = export("read_file", "io.read_file")(
    nondifferentiable_op(
        "ReadFile",
        "filename: string -> contents: string",
        "Returns the contents of a file, read in each step.",
        infer=_one_file,
        external="reads files",
    )
)
write_file = export("write_file", "io.write_file", contents="The string to write.")(
    stateful_op(
        "WriteFile",
        "filename: string, contents: string ->",
        "Writes a file, and creates its parent directories if they are missing.",
        infer=_one_file,
        external="writes files",
    )
)
matching_files = export("matching_files", "io.matching_files", pattern="Patterns of file names, with `*` and `?`.")(
    nondifferentiable_op(
        "MatchingFiles",
        "pattern: string -> filenames: string",
        "Returns the sorted names of the files that match any of the patterns.",
        infer=_matches,
        external="reads files",
    )
)
timestamp = export("timestamp")(
    stateful_op("Timestamp", "-> ts: double", "Returns the current Unix time in seconds.", infer=scalar)
)
