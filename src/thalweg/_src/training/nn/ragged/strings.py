"""String functions with ragged results: splitting at separators, into bytes, and into characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import show
from thalweg._src.graph.dispatch import implements
from thalweg._src.graph.ops import strings, unicode
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor


def _require_result(result_type: str) -> bool:
    """Returns whether a ragged result is wanted."""
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(f"result_type: expected 'SparseTensor' or 'RaggedTensor', received {result_type!r}")
    return result_type == "RaggedTensor"


def _rows(split: SparseTensor) -> RaggedTensor:
    return RaggedTensor.from_value_rowids(split.values, split.indices[:, 0], split.dense_shape[0], validate=False)


@export("string_split")
def string_split(
    source: TensorLike,
    sep: str | None = None,
    skip_empty: bool = True,
    delimiter: str | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Splits each string at any of the delimiter's bytes, to a sparse or ragged tensor.

    Args:
        source: The strings to split, a vector.
        sep: The delimiter characters; an empty string splits into bytes.
        skip_empty: Whether empty pieces are left out.
        delimiter: Deprecated name of `sep`.
    """
    ragged = _require_result(result_type)
    pieces = strings.string_split(source, sep, skip_empty, delimiter, name)
    return _rows(pieces) if ragged else pieces


@export("strings.split")
def split(
    input: TensorLike | None = None,
    sep: str | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Splits each string as Python's `str.split` does, to a sparse or ragged tensor.

    Args:
        sep: The delimiter; by default runs of white space.
        maxsplit: Largest number of splits; -1 sets no limit.
        source: Deprecated name of `input`.
    """
    if not _require_result(result_type):
        return strings.split(input, sep, maxsplit, source, name)
    input = strings.only_one(input, source, "input", "source")
    with name_scope(name, "StringSplit"):
        return _by_vector(input, lambda flat: _rows(strings.split(flat, sep, maxsplit)))


def _by_vector(input: Any, function: Callable[[Tensor], Any]) -> Any:
    """Calls a function from a vector of strings to rows with strings of any rank, or ragged ones."""
    value = convert_to_tensor_or_ragged_tensor(input)
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(_by_vector(value.flat_values, function))
    if value.dims is None:
        raise ValueError(f"the rank of {value} must be known")
    if not value.dims:
        return function(expand_dims(value, 0)).values
    if len(value.dims) == 1:
        return function(value)
    flat = reshape(value, [-1])
    if all(size is not None for size in value.dims):
        flat.set_shape([int(np.prod(value.dims))])
    sizes: Any = shape_of(value, out_type=dtypes.int64)
    result = function(flat)
    for axis in range(len(value.dims) - 1, 0, -1):
        rows = sizes[0]
        for inner in range(1, axis):
            rows = rows * sizes[inner]
        result = RaggedTensor(result, sequence(rows + 1) * sizes[axis], internal=True)
    return result


@export("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """Splits each string into its bytes.

    Args:
        input: The strings, a tensor of known rank or a ragged one.
    """
    with name_scope(name, "StringsByteSplit"):
        return _by_vector(input, lambda flat: _rows(strings.string_split(flat, sep="", skip_empty=False)))


def _decoded(flat: Tensor, offsets: bool, options: dict[str, Any]) -> tuple[RaggedTensor, RaggedTensor | None]:
    if offsets:
        splits, points, starts = unicode.unicode_decode_with_offsets_op.many(flat, **options)
        return RaggedTensor(points, splits, internal=True), RaggedTensor(starts, splits, internal=True)
    splits, points = unicode.unicode_decode_op.many(flat, **options)
    return RaggedTensor(points, splits, internal=True), None


def _options(input_encoding: str, errors: str, replacement_char: int, replace_control: bool) -> dict[str, Any]:
    return {
        "input_encoding": input_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
        "replace_control_characters": replace_control,
    }


@export("strings.unicode_decode")
def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Decodes each string to a row of code points.

    Args:
        input: The strings, a tensor of known rank or a ragged one.
    """
    options = _options(input_encoding, errors, replacement_char, replace_control_characters)
    with name_scope(name, "UnicodeDecode"):
        return _by_vector(input, lambda flat: _decoded(flat, False, options)[0])


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Decodes each string to a row of code points, and a row of the bytes at which they start.

    Args:
        input: The strings, a tensor of known rank or a ragged one.
    """
    options = _options(input_encoding, errors, replacement_char, replace_control_characters)
    with name_scope(name, "UnicodeDecodeWithOffsets"):
        points = _by_vector(input, lambda flat: _decoded(flat, True, options)[0])
        return points, _by_vector(input, lambda flat: _decoded(flat, True, options)[1])


@export("strings.unicode_split")
def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Splits each string into its characters.

    Args:
        input: The strings, a tensor of known rank or a ragged one.
    """
    with name_scope(name, "UnicodeSplit"):
        return _characters(unicode_decode(input, input_encoding, errors, replacement_char), input_encoding)


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Splits each string into its characters, and returns the bytes at which they start.

    Args:
        input: The strings, a tensor of known rank or a ragged one.
    """
    with name_scope(name, "UnicodeSplitWithOffsets"):
        points, starts = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
        return _characters(points, input_encoding), starts


def _characters(points: Any, encoding: str) -> Any:
    flat = points.flat_values if isinstance(points, RaggedTensor) else points
    texts = unicode.unicode_encode(expand_dims(flat, 1), encoding)
    return points.with_flat_values(texts) if isinstance(points, RaggedTensor) else texts


@implements(unicode.unicode_encode)
def _unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    with name_scope(name, "UnicodeEncode"):
        if isinstance(input.values, RaggedTensor):
            inner = _unicode_encode(input.values, output_encoding, errors, replacement_char)
            return input.with_values(inner)
        if input.values.dims is not None and len(input.values.dims) != 1:
            raise ValueError(f"input: expected ragged rows of code points, received shape {show(input.dims)}")
        return unicode.unicode_encode_op(
            input.values,
            input.row_splits,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
        )
