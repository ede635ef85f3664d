"""String ops: join, split, substring, length, regular expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import expand_dims, rank, reshape, shape
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.ops.shape_functions import (
    normalize_axis,
    require,
    same_dimension,
    scalar_value,
    unchanged,
    vector_size,
    with_rank,
)
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_UNITS = attr.string("BYTE", "UTF8_CHAR", default="BYTE")


def require_scalar(c: Inference, index: int) -> None:
    """Requires an input of one element, such as a pattern."""
    name = c.definition.inputs[index].name
    require(not c.shapes[index], f"{name} has shape {show(c.shapes[index])}", expected=f"a scalar {name}")


def _join_shape(c: Inference) -> Sequence[Shape]:
    """Returns the shape of all inputs that are not scalars."""
    if not c.shapes:
        return [()]
    result: Shape = ()
    for dims in c.shapes:
        if dims is None:
            result = result or None
        elif dims:
            result = merge(result or None, dims)
    return [result]


def _split_shapes(c: Inference) -> Sequence[Shape]:
    with_rank(c, 0, 1)
    require_scalar(c, 1)
    return [(None, 2), (None,), (2,)]


def _substr_shape(c: Inference) -> Sequence[Shape]:
    text, pos, length = c.shapes
    require(
        pos is None or length is None or len(pos) == len(length),
        f"pos and len differ in rank: {show(pos)} and {show(length)}",
        expected="pos.shape == len.shape",
    )
    return [broadcast(text, merge(pos, length))]


def _replace_shape(c: Inference) -> Sequence[Shape]:
    require_scalar(c, 1)
    require_scalar(c, 2)
    return [c.shapes[0]]


def _match_shape(c: Inference) -> Sequence[Shape]:
    require_scalar(c, 1)
    return [c.shapes[0]]


def _reduce_join_shape(c: Inference) -> Sequence[Shape]:
    shape, axes = c.shapes
    require(axes is None or len(axes) <= 1, f"reduction_indices has shape {show(axes)}", expected="a scalar or vector")
    value, keep = c.value(1), c.attrs["keep_dims"]
    if shape is None:
        return [None]
    if value is None:
        return [(None,) * len(shape) if keep else None]
    reduced = [normalize_axis(int(axis), len(shape), "reduction index") for axis in value.ravel().tolist()]
    require(len(set(reduced)) == len(reduced), f"reduction_indices {value.tolist()} contains a duplicate dimension")
    if keep:
        return [tuple(1 if i in reduced else size for i, size in enumerate(shape))]
    return [tuple(size for i, size in enumerate(shape) if i not in reduced)]


def _segment_join_shape(c: Inference) -> Sequence[Shape]:
    data, ids = c.shapes[:2]
    count = scalar_value(c, 2)
    require(count is None or count >= 0, f"num_segments is {count}", expected="non-negative num_segments")
    if data is None or ids is None:
        return [None]
    require(len(ids) >= 1, "segment_ids is a scalar", expected="segment_ids of rank at least 1")
    require(
        len(ids) <= len(data),
        f"segment_ids {show(ids)} has a higher rank than inputs {show(data)}",
        expected="a segment_ids.shape that is a prefix of inputs.shape",
    )
    for mine, other in zip(ids, data):
        same_dimension(mine, other, "leading dimensions of segment_ids and inputs", "equal leading dimensions")
    return [(count, *data[len(ids) :])]


def _ngrams_shapes(c: Inference) -> Sequence[Shape]:
    vector_size(c, 0)
    splits = vector_size(c, 1)
    require(splits is None or splits >= 1, "data_splits is empty", expected="one entry more than there are rows")
    return [(None,), (splits,)]


string_join_op = nondifferentiable_op(
    "StringJoin",
    "inputs: N*string -> output: string",
    "Joins strings element-wise; scalars are broadcast.",
    N=attr.integer(0),
    separator="",
    infer=_join_shape,
)
string_split_op = nondifferentiable_op(
    "StringSplit",
    "input: string, delimiter: string -> indices: int64, values: string, shape: int64",
    "Splits strings at single-byte delimiters, to the components of a sparse matrix.",
    skip_empty=True,
    infer=_split_shapes,
)
string_split_v2_op = nondifferentiable_op(
    "StringSplitV2",
    "input: string, sep: string -> indices: int64, values: string, shape: int64",
    "Splits strings at separators or runs of whitespace, to the components of a sparse matrix.",
    maxsplit=-1,
    infer=_split_shapes,
)
string_strip = export("string_strip", "strings.strip")(
    nondifferentiable_op(
        "StringStrip", "input: string -> output: string", "Strips leading and trailing whitespace.", infer=unchanged
    )
)
lower = export("strings.lower", encoding='"utf-8", or "" to change ASCII letters alone.')(
    nondifferentiable_op(
        "StringLower",
        "input: string -> output: string",
        "Converts strings to lower case: ASCII, or with encoding 'utf-8' Unicode.",
        encoding="",
        infer=unchanged,
    )
)
upper = export("strings.upper", encoding='"utf-8", or "" to change ASCII letters alone.')(
    nondifferentiable_op(
        "StringUpper",
        "input: string -> output: string",
        "Converts strings to upper case: ASCII, or with encoding 'utf-8' Unicode.",
        encoding="",
        infer=unchanged,
    )
)
string_length_op = nondifferentiable_op(
    "StringLength",
    "input: string -> output: int32",
    "Counts the bytes, or UTF-8 characters, of each string.",
    unit=_UNITS,
    infer=unchanged,
)
substr_op = nondifferentiable_op(
    "Substr",
    "input: string, pos: T, len: T -> output: string",
    "Extracts a substring of each string; a negative position counts from the end.",
    T=dtypes.INDEX,
    unit=_UNITS,
    infer=_substr_shape,
)
regex_replace_op = nondifferentiable_op(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string -> output: string",
    "Replaces matches of a pattern; the rewrite refers to groups as \\1 to \\9, to the match as \\0.",
    replace_global=True,
    infer=_replace_shape,
)
static_regex_replace_op = nondifferentiable_op(
    "StaticRegexReplace",
    "input: string -> output: string",
    "Replaces matches of a pattern that is known statically.",
    pattern=attr.string(),
    rewrite=attr.string(),
    replace_global=True,
    infer=unchanged,
)
regex_full_match_op = nondifferentiable_op(
    "RegexFullMatch",
    "input: string, pattern: string -> output: bool",
    "Returns whether each string matches a pattern completely.",
    infer=_match_shape,
)
static_regex_full_match_op = nondifferentiable_op(
    "StaticRegexFullMatch",
    "input: string -> output: bool",
    "Returns whether each string completely matches a pattern that is known statically.",
    pattern=attr.string(),
    infer=unchanged,
)
reduce_join_op = nondifferentiable_op(
    "ReduceJoin",
    "inputs: string, reduction_indices: int32 -> output: string",
    "Joins strings along dimensions, the first given one varying fastest.",
    keep_dims=False,
    separator="",
    host="reduction_indices",
    infer=_reduce_join_shape,
)
unsorted_segment_join = export(
    "strings.unsorted_segment_join",
    inputs="The strings to join.",
    segment_ids="Segment of each row, in any order; negative ids leave a row out.",
)(
    nondifferentiable_op(
        "UnsortedSegmentJoin",
        "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
        "Joins the strings of each segment in order.",
        separator="",
        Tindices=dtypes.INDEX,
        Tnumsegments=attr.types(dtypes.INDEX, dtypes.int32),
        host="num_segments",
        infer=_segment_join_shape,
    )
)
string_ngrams_op = nondifferentiable_op(
    "StringNGrams",
    "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    "Joins n-grams of consecutive strings in each row of a ragged matrix.",
    separator=attr.string(),
    ngram_widths=attr.integers(0),
    left_pad=attr.string(),
    right_pad=attr.string(),
    pad_width=attr.integer(),
    preserve_short_sequences=attr.boolean(),
    Tsplits=attr.types(dtypes.INDEX, dtypes.int64),
    infer=_ngrams_shapes,
)


@export("string_join", "strings.join")
@dispatches
def string_join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """Joins the strings of several tensors element-wise.

    Args:
        inputs: The string tensors to join, which broadcast.
    """
    return string_join_op(list(inputs), separator=separator, name=name)


def string_split(
    source: TensorLike,
    sep: str | None = None,
    skip_empty: bool = True,
    delimiter: str | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Splits each string at any of the delimiter's bytes, to a SparseTensor."""
    if sep is not None and delimiter is not None:
        raise ValueError("Got values for both 'sep' and its old name 'delimiter': pass one of them")
    sep = delimiter if sep is None else sep
    with name_scope(name, "StringSplit", [source]):
        source = convert_to_tensor(source, dtypes.string, name="source")
        return SparseTensor(*string_split_op.many(source, " " if sep is None else sep, skip_empty=skip_empty))


def split(
    input: TensorLike | None = None,
    sep: str | None = None,
    maxsplit: int = -1,
    source: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Splits each string as Python's `str.split` does, to a SparseTensor."""
    input = only_one(input, source, "input", "source")
    with name_scope(name, "StringSplit", [input]):
        input = convert_to_tensor(input, dtypes.string, name="input")
        if input.dims == ():
            input = expand_dims(input, 0)
        return SparseTensor(*string_split_v2_op.many(input, sep or "", maxsplit=maxsplit))


def only_one(value: object, other: object, name: str, old_name: str) -> Any:
    """Returns the value of an argument that also has an old name, given by one of the two."""
    if value is not None and other is not None:
        raise ValueError(f"Got values for both {name!r} and its other name {old_name!r}: pass one of them")
    if value is None and other is None:
        raise ValueError(f"the argument {name!r} is missing")
    return other if value is None else value


@export("strings.length")
def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Counts the bytes, or UTF-8 characters, of each string."""
    return string_length_op(input, unit=unit, name=name)


@export("substr", "strings.substr")
@dispatches
def substr(input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Returns a substring of each string, given by position and length in bytes or UTF-8 characters.

    Args:
        pos: Position of the first byte or character; negative positions count from the end.
        len: Number of bytes or characters.
    """
    return substr_op(input, pos, len, unit=unit, name=name)


@export("regex_replace", "strings.regex_replace")
def regex_replace(
    input: TensorLike, pattern: TensorLike, rewrite: TensorLike, replace_global: bool = True, name: str | None = None
) -> Any:
    """Replaces matches of an RE2 pattern: every match, or only the first.

    Args:
        pattern: The regular expression, in RE2 syntax.
        rewrite: Replacement text; `\\1` stands for the first group.
        replace_global: Whether all matches are replaced, not the first alone.
    """
    if isinstance(pattern, str | bytes) and isinstance(rewrite, str | bytes):
        return static_regex_replace_op(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return regex_replace_op(input, pattern, rewrite, replace_global=replace_global, name=name)


@export("strings.regex_full_match")
def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Returns which strings match an RE2 pattern completely.

    Args:
        pattern: The regular expression, in RE2 syntax.
    """
    if isinstance(pattern, str | bytes):
        return static_regex_full_match_op(input, pattern=pattern, name=name)
    return regex_full_match_op(input, pattern, name=name)


@export("reduce_join", "strings.reduce_join")
def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Joins strings along dimensions, by default along all of them in order.

    Args:
        inputs: The strings to join.
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    if axis is not None and reduction_indices is not None:
        raise ValueError("Got values for both 'axis' and its old name 'reduction_indices': pass one of them")
    axis = reduction_indices if axis is None else axis
    keep = keepdims if keepdims is not None else keep_dims
    with name_scope(name, "ReduceJoin", [inputs]):
        inputs = convert_to_tensor(inputs, dtypes.string, name="inputs")
        if axis is None:
            axis = _all_axes_backwards(inputs)
        return reduce_join_op(inputs, axis, keep_dims=bool(keep), separator=separator)


def _all_axes_backwards(inputs: Tensor) -> Any:
    if inputs.dims is not None:
        return np.arange(len(inputs.dims) - 1, -1, -1, dtype=np.int32)
    return sequence(rank(inputs) - 1, -1, -1)


@export("strings.ngrams")
def ngrams(
    data: TensorLike,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: str | bytes | tuple[str | bytes, str | bytes] | None = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns n-grams of the strings along the last dimension, joined by a separator.

    Args:
        data: The strings, along the last dimension.
        ngram_width: Number of strings in an n-gram, or several such numbers.
        pad_values: Strings put before and after each row: one, or a pair; None pads nothing.
        padding_width: How many of them; by default one less than the width.
        preserve_short_sequences: Whether a row that is too short gives one n-gram of all its strings.
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    left, right = _paddings(pad_values)
    if padding_width is not None and padding_width < 1:
        raise ValueError(f"padding_width is {padding_width}, expected 1 or more")
    if padding_width is not None and pad_values is None:
        raise ValueError("pad_values must be given with a padding_width")
    if not widths or any(width < 1 for width in widths):
        raise ValueError(f"ngram_width is {ngram_width}, expected 1 or more")
    with name_scope(name, "StringNGrams", [data]):
        data = convert_to_tensor(data, dtypes.string, name="data")
        if not data.dims:
            raise ValueError(f"data must have a known rank above 0, got shape {show(data.dims)}")
        sizes = shape(data, out_type=dtypes.int64)
        splits = sequence(reduce_prod(sizes[:-1]) + 1) * sizes[-1]
        pad_width = -1 if padding_width is None and pad_values is not None else padding_width or 0
        result, _ = string_ngrams_op.many(
            reshape(data, [-1]),
            splits,
            separator=separator,
            ngram_widths=widths,
            left_pad=left,
            right_pad=right,
            pad_width=pad_width,
            preserve_short_sequences=preserve_short_sequences,
        )
        return result if len(data.dims) == 1 else reshape(result, concat([sizes[:-1], [-1]], 0))


def _paddings(pad_values: Any) -> tuple[Any, Any]:
    if pad_values is None:
        return "", ""
    if isinstance(pad_values, str | bytes):
        return pad_values, pad_values
    left, right = pad_values
    if not isinstance(left, str | bytes) or not isinstance(right, str | bytes):
        raise TypeError(f"pad_values is {pad_values!r}, expected one or two strings")
    return left, right
