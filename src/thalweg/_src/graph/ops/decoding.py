"""Decoding: numbers out of text and raw bytes, text out of numbers, base64, compression."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, scalar_value, unchanged
from thalweg._src.graph.ops.strings import only_one
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_RAW = frozenset(
    (
        *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
    )
)
_NUMBERS = frozenset((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64))


def _raw_shape(c: Inference) -> Sequence[Shape]:
    return [None if c.shapes[0] is None else (*c.shapes[0], None)]


def _padded_shape(c: Inference) -> Sequence[Shape]:
    length, size = scalar_value(c, 1), c.attrs["out_type"].size
    if length is not None:
        require(length > 0, f"fixed_length is {length}", expected="fixed_length > 0")
        require(length % size == 0, f"fixed_length {length} is not a multiple of {size}, the size of an element")
    shape = c.shapes[0]
    return [None if shape is None else (*shape, None if length is None else length // size)]


as_string = export(
    "as_string",
    "dtypes.as_string",
    "strings.as_string",
    precision="Number of digits after the point; -1 takes the default.",
    scientific="Whether numbers are written with an exponent, as `%e` does.",
    shortest="Whether the shorter of both forms is used, as `%g` does.",
    width="Smallest number of characters; -1 does not pad.",
    fill='What pads to `width`: a space, "0", or "-" to pad on the right.',
)(
    nondifferentiable_op(
        "AsString",
        "input: T -> output: string",
        "Formats numbers as strings, as C's printf does.",
        T=(dtypes.REAL | dtypes.COMPLEX | {dtypes.bool, dtypes.variant, dtypes.string}) - dtypes.QUANTIZED,
        precision=-1,
        scientific=False,
        shortest=False,
        width=-1,
        fill="",
        infer=unchanged,
    )
)
string_to_number_op = nondifferentiable_op(
    "StringToNumber",
    "string_tensor: string -> output: out_type",
    "Parses each string as a number.",
    out_type=attr.types(_NUMBERS, dtypes.float32),
    infer=unchanged,
)
encode_base64 = export("encode_base64", "io.encode_base64", pad="Whether the strings are padded with `=`.")(
    nondifferentiable_op(
        "EncodeBase64",
        "input: string -> output: string",
        "Encodes strings in URL-safe base64.",
        pad=False,
        infer=unchanged,
    )
)
decode_base64 = export("decode_base64", "io.decode_base64")(
    nondifferentiable_op(
        "DecodeBase64",
        "input: string -> output: string",
        "Decodes strings in URL-safe base64, with or without padding.",
        infer=unchanged,
    )
)
decode_raw_op = nondifferentiable_op(
    "DecodeRaw",
    "bytes: string -> output: out_type",
    "Reinterprets the bytes of each string as numbers, in a new last dimension.",
    out_type=attr.types(_RAW | dtypes.COMPLEX | {dtypes.bool}),
    little_endian=True,
    infer=_raw_shape,
)
decode_padded_raw_op = nondifferentiable_op(
    "DecodePaddedRaw",
    "input_bytes: string, fixed_length: int32 -> output: out_type",
    "Reinterprets the leading bytes of each string as numbers; shorter strings are zero-padded.",
    out_type=attr.types(_RAW),
    little_endian=True,
    host="fixed_length",
    infer=_padded_shape,
)
decode_compressed = export(
    "decode_compressed",
    "io.decode_compressed",
    bytes="The strings.",
    compression_type='"ZLIB", "GZIP", or "" for none.',
)(
    nondifferentiable_op(
        "DecodeCompressed",
        "bytes: string -> output: string",
        'Decompresses strings: "ZLIB", "GZIP", or "" for uncompressed.',
        compression_type="",
        infer=unchanged,
    )
)


@export("string_to_number", "strings.to_number")
def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = dtypes.float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Parses each string as a number.

    Args:
        input: Another name of `string_tensor`.
    """
    strings = only_one(string_tensor, input, "string_tensor", "input")
    return string_to_number_op(strings, out_type=out_type, name=name)


@export("decode_raw", "io.decode_raw")
def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """Reinterprets the bytes of each string as numbers.

    Args:
        input_bytes: The strings.
        out_type: The type of the numbers.
        little_endian: Whether the bytes are in little-endian order.
        bytes: Deprecated name of `input_bytes`.
    """
    strings = only_one(input_bytes, bytes, "input_bytes", "bytes")
    if out_type is None:
        raise ValueError("decode_raw() is missing the argument 'out_type'")
    return decode_raw_op(strings, out_type=out_type, little_endian=little_endian, name=name)
