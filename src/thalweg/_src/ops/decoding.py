"""Decoding: numbers out of text and raw bytes, text out of numbers, base64, compression, records of CSV."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from thalweg._src import dtypes
from thalweg._src.export import export
from thalweg._src.graph import attr
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.shape_functions import require, scalar_value, unchanged
from thalweg._src.ops.strings import only_one
from thalweg._src.shapes import Shape, show

_RAW = frozenset(
    (
        *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
    )
)
_CSV = frozenset((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string))


def _raw_shape(c: Inference) -> Sequence[Shape]:
    return [None if c.shapes[0] is None else (*c.shapes[0], None)]


def _padded_shape(c: Inference) -> Sequence[Shape]:
    length, size = scalar_value(c, 1), c.attrs["out_type"].size
    if length is not None:
        require(length > 0, f"fixed_length is {length}", expected="fixed_length above 0")
        require(length % size == 0, f"fixed_length {length} is not a multiple of {size}, the size of an element")
    shape = c.shapes[0]
    return [None if shape is None else (*shape, None if length is None else length // size)]


def _csv_shapes(c: Inference) -> Sequence[Shape]:
    for index, shape in enumerate(c.shapes[1:]):
        require(
            shape is None or shape == () or (len(shape) == 1 and shape[0] in (0, 1, None)),
            f"the default of field {index} has shape {show(shape)}",
            expected="a scalar or a vector of one element; of none where the field is required",
        )
    columns = c.attrs["select_cols"]
    if columns:
        require(
            len(columns) == c.num_outputs,
            f"select_cols names {len(columns)} columns for {c.num_outputs} defaults",
            expected="as many of one as of the other",
        )
        rising = all(a < b for a, b in itertools.pairwise(columns))
        require(rising and columns[0] >= 0, f"select_cols is {list(columns)}", expected="columns in rising order")
    delimiter = c.attrs["field_delim"]
    require(
        len(delimiter.encode("utf-8", "surrogateescape")) == 1, f"field_delim is {delimiter!r}", expected="one byte"
    )
    return [c.shapes[0]] * c.num_outputs


as_string_op = op(
    "AsString",
    "input: T -> output: string",
    T=(dtypes.REAL | dtypes.COMPLEX | {dtypes.bool, dtypes.variant, dtypes.string}) - dtypes.QUANTIZED,
    precision=-1,
    scientific=False,
    shortest=False,
    width=-1,
    fill="",
    infer=unchanged,
    differentiable=False,
    doc="Numbers written out.",
)
string_to_number_op = op(
    "StringToNumber",
    "string_tensor: string -> output: out_type",
    out_type=attr.types(_CSV - {dtypes.string} | {dtypes.uint32, dtypes.uint64}, dtypes.float32),
    infer=unchanged,
    differentiable=False,
    doc="The number that each string writes out.",
)
encode_base64_op = op(
    "EncodeBase64",
    "input: string -> output: string",
    pad=False,
    infer=unchanged,
    differentiable=False,
    doc="Strings in base64, with - and _ in place of + and /.",
)
decode_base64 = export("decode_base64", "io.decode_base64")(
    op(
        "DecodeBase64",
        "input: string -> output: string",
        infer=unchanged,
        differentiable=False,
        doc="Decodes web-safe base64 strings, with or without padding.",
    )
)
decode_raw_op = op(
    "DecodeRaw",
    "bytes: string -> output: out_type",
    out_type=attr.types(_RAW | dtypes.COMPLEX | {dtypes.bool}),
    little_endian=True,
    infer=_raw_shape,
    differentiable=False,
    doc="The bytes of each string as numbers, in a last dimension more.",
)
decode_padded_raw_op = op(
    "DecodePaddedRaw",
    "input_bytes: string, fixed_length: int32 -> output: out_type",
    out_type=attr.types(_RAW),
    little_endian=True,
    host="fixed_length",
    infer=_padded_shape,
    differentiable=False,
    doc="The first bytes of each string as numbers; shorter strings are filled with zeros.",
)
decode_csv_op = op(
    "DecodeCSV",
    "records: string, record_defaults: list(OUT_TYPE) -> output: list(OUT_TYPE)",
    OUT_TYPE=attr.type_list(1, allowed=_CSV),
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    select_cols=AttrDef("list(int)", ()),
    infer=_csv_shapes,
    differentiable=False,
    doc="The fields of records of CSV, a tensor for each column.",
)
decode_compressed_op = op(
    "DecodeCompressed",
    "bytes: string -> output: string",
    compression_type="",
    infer=unchanged,
    differentiable=False,
    doc="What was compressed: by ZLIB, by GZIP, or not at all.",
)


@export("as_string", "dtypes.as_string", "strings.as_string")
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Formats numbers as strings, as C's printf does."""
    return as_string_op(
        input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill, name=name
    )


@export("string_to_number", "strings.to_number")
def string_to_number(
    string_tensor: Any = None, out_type: Any = dtypes.float32, name: str | None = None, input: Any = None
) -> Tensor:
    """Returns the number that each string writes out."""
    strings = only_one(string_tensor, input, "string_tensor", "input")
    return string_to_number_op(strings, out_type=out_type, name=name)


@export("encode_base64", "io.encode_base64")
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Returns strings in web-safe base64."""
    return encode_base64_op(input, pad=pad, name=name)


@export("decode_raw", "io.decode_raw")
def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Returns the bytes of each string as numbers."""
    strings = only_one(input_bytes, bytes, "input_bytes", "bytes")
    if out_type is None:
        raise ValueError("decode_raw() misses the argument 'out_type'")
    return decode_raw_op(strings, out_type=out_type, little_endian=little_endian, name=name)


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
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


@export("decode_compressed", "io.decode_compressed")
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Returns what strings hold in compressed form: "ZLIB", "GZIP", or "" for plain."""
    return decode_compressed_op(bytes, compression_type=compression_type, name=name)
