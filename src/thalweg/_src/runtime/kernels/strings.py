"""Kernels of strings, which are stored on the host as NumPy arrays of bytes objects."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import InvalidArgumentError, invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import normalize_axis, require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.regular_expressions import Replacement, compile_pattern
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

_TRAILING = bytes(range(0x80, 0xC0))  # UTF-8 continuation bytes


def as_bytes(text: str) -> bytes:
    """Encodes a string attribute to its original bytes."""
    return text.encode("utf-8", "surrogateescape")


def map_strings(function: Callable[[bytes], bytes]) -> Function:
    """Returns the kernel that applies a function to each string."""

    def apply(strings: Array) -> Array:
        return object_array([function(s) for s in strings.ravel().tolist()], strings.shape)

    return apply


@kernel("StringJoin", devices=("CPU",))
def bind_join(node: Node, device: Device) -> Function:
    separator = as_bytes(node.attrs["separator"])

    def join(*inputs: Array) -> Array:
        shaped = [value for value in inputs if value.ndim]
        if not shaped:
            return np.array(separator.join([value.item() for value in inputs]), dtype=object)
        shape = shaped[0].shape
        for value in shaped:
            require(value.shape == shape, f"inputs differ in shape: {show(shape)} and {show(value.shape)}")
        columns = [value.ravel().tolist() if value.ndim else [value.item()] * shaped[0].size for value in inputs]
        return object_array([separator.join(row) for row in zip(*columns)], shape)

    return join


def _sparse(rows: list[list[bytes]]) -> tuple[torch.Tensor, Array, torch.Tensor]:
    """Returns rows of strings as the components of a sparse matrix."""
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [piece for row in rows for piece in row]
    width = max(map(len, rows), default=0)
    return (
        torch.tensor(indices, dtype=torch.int64).reshape(-1, 2),
        object_array(values, (len(values),)),
        torch.tensor([len(rows), width]),
    )


@kernel("StringSplit", devices=("CPU",))
def bind_split(node: Node, device: Device) -> Function:
    skip_empty = node.attrs["skip_empty"]

    def split(strings: Array, delimiter: Array) -> tuple[torch.Tensor, Array, torch.Tensor]:
        return _sparse([_split_on_any(s, delimiter.item(), skip_empty) for s in strings.tolist()])

    return split


def _split_on_any(string: bytes, delimiters: bytes, skip_empty: bool) -> list[bytes]:
    """Splits at every delimiter byte; without delimiters, into single bytes."""
    if not delimiters:
        return [string[i : i + 1] for i in range(len(string))]
    if not string:
        return []
    if len(delimiters) > 1:
        string = string.translate(bytes.maketrans(delimiters, delimiters[:1] * len(delimiters)))
    pieces = string.split(delimiters[:1])
    return [piece for piece in pieces if piece] if skip_empty else pieces


@kernel("StringSplitV2", devices=("CPU",))
def bind_split_v2(node: Node, device: Device) -> Function:
    limit = max(node.attrs["maxsplit"], -1)

    def split(strings: Array, sep: Array) -> tuple[torch.Tensor, Array, torch.Tensor]:
        separator = sep.item()
        if limit == 0:
            return _sparse([[s] for s in strings.tolist()])
        if separator:
            return _sparse([s.split(separator, limit) for s in strings.tolist()])
        return _sparse([_split_on_spaces(s, limit) for s in strings.tolist()])

    return split


def _split_on_spaces(string: bytes, limit: int) -> list[bytes]:
    """Splits at runs of whitespace; when the limit is reached there is a remainder, even if empty."""
    pieces = string.split(None, limit)
    return [*pieces, b""] if len(pieces) == limit else pieces


plain_kernel("StringStrip", devices=("CPU",))(map_strings(bytes.strip))


@kernel("StringLower", "StringUpper", devices=("CPU",))
def bind_case(node: Node, device: Device) -> Function:
    encoding, small = node.attrs["encoding"], node.type == "StringLower"
    if encoding not in ("", "utf-8"):
        raise invalid(f"encoding is {encoding!r}, expected 'utf-8', or '' for plain bytes")
    if not encoding:
        return map_strings(bytes.lower if small else bytes.upper)
    change = str.lower if small else str.upper
    return map_strings(lambda s: change(s.decode("utf-8", "replace")).encode())


@kernel("StringLength", devices=("CPU",))
def bind_length(node: Node, device: Device) -> Function:
    in_bytes = node.attrs["unit"] == "BYTE"

    def length(strings: Array) -> torch.Tensor:
        flat = strings.ravel().tolist()
        sizes = [len(s) for s in flat] if in_bytes else [len(s.translate(None, _TRAILING)) for s in flat]
        return torch.tensor(sizes, dtype=torch.int32).reshape(strings.shape)

    return length


@kernel("Substr", devices=("CPU",))
def bind_substr(node: Node, device: Device) -> Function:
    cut = _cut_bytes if node.attrs["unit"] == "BYTE" else _cut_characters

    def substr(strings: Array, pos: torch.Tensor, size: torch.Tensor) -> Array:
        require(pos.shape == size.shape, f"pos and len differ in shape: {show(pos.shape)} and {show(size.shape)}")
        texts, starts, sizes = strings, pos.numpy(), size.numpy()
        if strings.shape != starts.shape:
            texts, starts, sizes = np.broadcast_arrays(strings, starts, sizes)
        triples = zip(texts.ravel().tolist(), starts.ravel().tolist(), sizes.ravel().tolist())
        return object_array([cut(*triple, i) for i, triple in enumerate(triples)], texts.shape)

    return substr


def _out_of_range(string: bytes, pos: int, index: int) -> InvalidArgumentError:
    return invalid(f"pos {pos} out of range for string {string[:100]!r} at index {index}")


def _cut_bytes(string: bytes, pos: int, size: int, index: int) -> bytes:
    if not -len(string) <= pos <= len(string):
        raise _out_of_range(string, pos, index)
    start = pos + len(string) if pos < 0 else pos
    return string[start:] if size < 0 else string[start : start + size]


def _cut_characters(string: bytes, pos: int, size: int, index: int) -> bytes:
    """Slices by UTF-8 characters; stray continuation bytes belong to the character before them."""
    starts = [i for i, byte in enumerate(string) if i == 0 or byte & 0xC0 != 0x80]
    count = len(starts)
    if not -count <= pos <= count or (pos < 0 and size < 0):
        raise _out_of_range(string, pos, index)
    starts.append(len(string))
    first = pos + count if pos < 0 else pos
    return string[starts[first] : starts[min(first + max(size, 0), count)]]


@kernel("StaticRegexReplace", devices=("CPU",))
def bind_static_replace(node: Node, device: Device) -> Function:
    replace = Replacement(as_bytes(node.attrs["pattern"]), as_bytes(node.attrs["rewrite"]))
    return map_strings(replace.all if node.attrs["replace_global"] else replace.first)


@kernel("RegexReplace", devices=("CPU",))
def bind_replace(node: Node, device: Device) -> Function:
    everywhere = node.attrs["replace_global"]

    def replace(strings: Array, pattern: Array, rewrite: Array) -> Any:
        replacement = Replacement(pattern.item(), rewrite.item())
        return map_strings(replacement.all if everywhere else replacement.first)(strings)

    return replace


def _matches(strings: Array, pattern: bytes) -> torch.Tensor:
    match = compile_pattern(pattern).fullmatch
    flat = [match(s.decode("utf-8", "surrogateescape")) is not None for s in strings.ravel().tolist()]
    return torch.tensor(flat, dtype=torch.bool).reshape(strings.shape)


@kernel("StaticRegexFullMatch", devices=("CPU",))
def bind_static_full_match(node: Node, device: Device) -> Function:
    pattern = as_bytes(node.attrs["pattern"])
    compile_pattern(pattern)
    return lambda strings: _matches(strings, pattern)


plain_kernel("RegexFullMatch", devices=("CPU",))(lambda strings, pattern: _matches(strings, pattern.item()))


@kernel("ReduceJoin", devices=("CPU",))
def bind_reduce_join(node: Node, device: Device) -> Function:
    separator, keep = as_bytes(node.attrs["separator"]), node.attrs["keep_dims"]

    def reduce_join(strings: Array, indices: torch.Tensor) -> Array:
        rank = strings.ndim
        axes = [normalize_axis(axis, rank, "reduction index") for axis in indices.reshape(-1).tolist()]
        require(len(set(axes)) == len(axes), f"reduction_indices {indices.tolist()} contains a duplicate dimension")
        outer = [axis for axis in range(rank) if axis not in axes]
        shape = tuple(strings.shape[axis] for axis in outer)
        count = int(np.prod([strings.shape[axis] for axis in axes], dtype=np.int64))
        rows = strings.transpose(*outer, *reversed(axes)).reshape(int(np.prod(shape, dtype=np.int64)), count)
        if keep:
            shape = tuple(1 if axis in axes else strings.shape[axis] for axis in range(rank))
        return object_array([separator.join(row) for row in rows.tolist()], shape)

    return reduce_join


@kernel("UnsortedSegmentJoin", devices=("CPU",))
def bind_segment_join(node: Node, device: Device) -> Function:
    separator = as_bytes(node.attrs["separator"])

    def segment_join(strings: Array, ids: torch.Tensor, num_segments: torch.Tensor) -> Array:
        count, rank = int(num_segments), ids.dim()
        require(strings.shape[:rank] == tuple(ids.shape), "segment_ids and inputs differ in leading dimensions")
        inner = strings.shape[rank:]
        rows = strings.reshape(ids.numel(), int(np.prod(inner, dtype=np.int64)))
        result = np.full((count, rows.shape[1]), b"", dtype=object)
        members: dict[int, list[int]] = {}
        for row, segment in enumerate(ids.reshape(-1).tolist()):
            if not 0 <= segment < count:
                raise invalid(f"segment id {segment} at index {row} is not in [0, {count})")
            members.setdefault(segment, []).append(row)
        for segment, chosen in members.items():
            result[segment] = [separator.join(column) for column in rows[chosen].T.tolist()]
        return result.reshape(count, *inner)

    return segment_join


@kernel("StringNGrams", devices=("CPU",))
def bind_ngrams(node: Node, device: Device) -> Function:
    attrs = node.attrs
    separator, widths = as_bytes(attrs["separator"]), attrs["ngram_widths"]
    left, right, pad_width = as_bytes(attrs["left_pad"]), as_bytes(attrs["right_pad"]), attrs["pad_width"]
    if any(width < 1 for width in widths):
        raise invalid(f"ngram_widths must contain only positive values, got {list(widths)}")
    dtype = TORCH[attrs["Tsplits"]]

    def windows(row: list[bytes], width: int) -> Iterable[bytes]:
        padding = min(width - 1 if pad_width < 0 else pad_width, width - 1)
        padded = [left] * padding + row + [right] * padding if padding > 0 else row
        return [separator.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]

    def ngrams(data: Array, splits: torch.Tensor) -> tuple[Array, torch.Tensor]:
        bounds = splits.tolist()
        _require_splits(bounds, len(data))
        result: list[bytes] = []
        ends = [0]
        for start, end in itertools.pairwise(bounds):
            row = data[start:end].tolist()
            grams = [gram for width in widths for gram in windows(row, width)]
            if not grams and row and attrs["preserve_short_sequences"]:
                if pad_width < 0:
                    raise invalid("without ngram_widths, pad_width must specify the padding of a short sequence")
                grams = list(windows(row, len(row) + 2 * pad_width))
            result += grams
            ends.append(len(result))
        return object_array(result, (len(result),)), torch.tensor(ends, dtype=dtype)

    return ngrams


def _require_splits(bounds: list[int], count: int) -> None:
    """Requires valid row splits of a ragged matrix: from 0, never decreasing, to the number of values."""
    if bounds[0] != 0 or bounds[-1] != count:
        raise invalid(f"data_splits must run from 0 to {count}, the size of data, got {bounds[0]} to {bounds[-1]}")
    for first, second in itertools.pairwise(bounds):
        if second < first:
            raise invalid(f"data_splits must not decrease, got {first} before {second}")
