"""tf.dtypes: Element types of tensors, and conversions between them."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.base.dtypes import (
    DType as DType,
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex128 as complex128,
    complex64 as complex64,
    float16 as float16,
    float16 as half,
    float32 as float32,
    float64 as double,
    float64 as float64,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    qint16 as qint16,
    qint32 as qint32,
    qint8 as qint8,
    quint16 as quint16,
    quint8 as quint8,
    resource as resource,
    string as string,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    variant as variant,
)
from thalweg._src.compat.gen_ops import as_string as as_string
from thalweg._src.graph.ops.cast import cast as cast
from thalweg._src.graph.ops.math import complex as complex
from thalweg._src.graph.ops.saturate_cast import saturate_cast as saturate_cast

__all__ = [
    "DType", "QUANTIZED_DTYPES", "as_dtype", "as_string", "bfloat16", "bool", "cast", "complex", "complex128",
    "complex64", "double", "float16", "float32", "float64", "half", "int16", "int32", "int64", "int8", "qint16",
    "qint32", "qint8", "quint16", "quint8", "resource", "saturate_cast", "string", "uint16", "uint32", "uint64",
    "uint8", "variant",
]
