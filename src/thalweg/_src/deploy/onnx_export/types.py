"""Element types, shapes and values as ONNX has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.source_line import made_at

OPSET = 18
ML_OPSET = 3
IR_VERSION = 8  # of the file format, the first with this opset
ML = "ai.onnx.ml"  # the domain of ops on tables

# The numbers of TensorProto.DataType.
_NUMBERS = {
    dtypes.float32: 1,
    dtypes.uint8: 2,
    dtypes.int8: 3,
    dtypes.uint16: 4,
    dtypes.int16: 5,
    dtypes.int32: 6,
    dtypes.int64: 7,
    dtypes.string: 8,
    dtypes.bool: 9,
    dtypes.float16: 10,
    dtypes.float64: 11,
    dtypes.uint32: 12,
    dtypes.uint64: 13,
    dtypes.bfloat16: 16,
    dtypes.quint8: 2,
    dtypes.qint8: 3,
    dtypes.qint32: 6,
}


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: of a tensor, or of a sequence of tensors."""

    dtype: DType
    shape: Shape = None
    is_sequence: bool = False


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of an array or a list as an ONNX sequence."""

    name: str
    dtype: DType
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Stacked:
    """The elements of an array or a list as the rows of one tensor."""

    name: str
    dtype: DType
    grows: bool = False


@dataclass(frozen=True, slots=True)
class ArrayHandle:
    """A TensorArray, whose elements are in its flow."""

    dtype: DType
    shape: Shape
    grows: bool


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of a hash table."""

    keys: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]


Sequenced = Elements | Stacked
Value = Any  # the name of a tensor, or one of the above


def number_of(dtype: DType) -> int:
    """Returns the number of an element type in ONNX."""
    try:
        return _NUMBERS[dtype.base_dtype]
    except KeyError:
        raise errors.UnimplementedError(
            None, None, errors.describe(f"ONNX export: no kernel takes elements of type {dtype.name}", hint="cast them")
        ) from None


def unsupported(node: Node, why: str, hint: str | None = None) -> errors.UnimplementedError:
    """Returns the error of a node that has no equivalent in ONNX, with the user's line."""
    text = f"ONNX export: {node.type} {node.name!r} {why}"
    return errors.UnimplementedError(node, None, errors.describe(text, hint=hint, made_at=made_at(node.stack)))


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """Returns the permutation that undoes another."""
    return tuple(int(axis) for axis in np.argsort(permutation))
