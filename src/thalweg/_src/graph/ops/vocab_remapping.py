"""Vocabulary remapping of the rows and columns of saved matrices."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import same_dimension, vector_size
from thalweg._src.graph.ops.strings import require_scalar


def _remapping(c: Inference) -> Sequence[Shape]:
    for index in (0, 1):
        require_scalar(c, index)
    return [(c.attrs["num_new_vocab"],), ()]


def _matrix(c: Inference) -> Sequence[Shape]:
    for index in (0, 1):
        require_scalar(c, index)
    rows, columns = c.attrs["num_rows"], c.attrs["num_cols"]
    same_dimension(vector_size(c, 2), rows, "row_remapping has another size than num_rows", f"{rows} rows")
    count = vector_size(c, 3)
    if count != 0:
        same_dimension(count, columns, "col_remapping has another size than num_cols", f"none, or {columns} columns")
    vector_size(c, 4)
    return [(rows, columns)]


generate_vocab_remapping_op = nondifferentiable_op(
    "GenerateVocabRemapping",
    "new_vocab_file: string, old_vocab_file: string -> remapping: int64, num_present: int32",
    "Finds each entry of a new vocabulary in an old one; -1 for missing entries.",
    new_vocab_offset=attr.integer(0),
    num_new_vocab=attr.integer(0),
    old_vocab_size=attr.integer(-1, -1),
    infer=_remapping,
    external="reads files",
)
load_and_remap_matrix_op = stateful_op(
    "LoadAndRemapMatrix",
    "ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
    "initializing_values: float -> output_matrix: float",
    "Loads a matrix from a checkpoint with its rows and columns remapped; missing ones take initial values.",
    num_rows=attr.integer(0),
    num_cols=attr.integer(1),
    max_rows_in_memory=-1,
    host="row_remapping, col_remapping",
    infer=_matrix,
    external="reads checkpoints",
)
