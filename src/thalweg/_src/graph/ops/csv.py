"""Records of CSV to tensors, one for each column."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_TYPES = frozenset((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string))


def _csv_shapes(c: Inference) -> Sequence[Shape]:
    for index, shape in enumerate(c.shapes[1:]):
        require(
            shape is None or shape == () or (len(shape) == 1 and shape[0] in (0, 1, None)),
            f"the default of field {index} has shape {show(shape)}",
            expected="a scalar, or a vector of one element, or of none if the field is required",
        )
    columns = c.attrs["select_cols"]
    if columns:
        require(
            len(columns) == c.num_outputs,
            f"select_cols names {len(columns)} columns for {c.num_outputs} defaults",
            expected="one default for each column",
        )
        rising = all(a < b for a, b in itertools.pairwise(columns))
        require(rising and columns[0] >= 0, f"select_cols is {list(columns)}", expected="columns in rising order")
    delimiter = c.attrs["field_delim"]
    require(
        len(delimiter.encode("utf-8", "surrogateescape")) == 1, f"field_delim is {delimiter!r}", expected="one byte"
    )
    return [c.shapes[0]] * c.num_outputs


decode_csv_op = nondifferentiable_op(
    "DecodeCSV",
    "records: string, record_defaults: list(OUT_TYPE) -> output: list(OUT_TYPE)",
    "Parses CSV records to one tensor per column.",
    OUT_TYPE=attr.type_list(1, allowed=_TYPES),
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    select_cols=AttrDef("list(int)", ()),
    infer=_csv_shapes,
)


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[TensorLike],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Parses CSV records into one tensor per column."""
    columns = [] if select_cols is None else list(select_cols)
    if any(a >= b for a, b in itertools.pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")
    if columns and columns[0] < 0:
        raise ValueError(f"select_cols has a negative column: {columns}")
    if select_cols is not None and len(columns) != len(record_defaults):
        raise ValueError(f"{len(columns)} select_cols do not match {len(record_defaults)} record_defaults")
    result: list[Tensor] = decode_csv_op.many(
        records,
        list(record_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=columns,
        name=name,
    )
    return result
