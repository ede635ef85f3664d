"""Indexing of ragged tensors: rows by number, slices of rows, and slices within each row."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import clip_by_value
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.ragged.factories import dense_or_expanded, rows_between
from thalweg._src.training.nn.ragged.tensor import RaggedTensor

_ALL = slice(None)


def getitem(rows: RaggedTensor, key: Any) -> Any:
    """Returns `rows[key]`, for numbers, slices, an ellipsis and `tf.newaxis`."""
    return _index(rows, _without_ellipsis(rows, list(key) if isinstance(key, tuple) else [key]))


def _without_ellipsis(rows: RaggedTensor, keys: list[Any]) -> list[Any]:
    places = [i for i, key in enumerate(keys) if key is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can have one ellipsis")
    if not places:
        return keys
    if rows.dims is None:
        raise ValueError("an ellipsis requires a known rank")
    used = sum(key is not None and key is not Ellipsis for key in keys)
    return [*keys[: places[0]], *[_ALL] * (len(rows.dims) - used), *keys[places[0] + 1 :]]


def _index(rows: RaggedTensor, keys: list[Any]) -> Any:
    if not isinstance(rows, RaggedTensor):
        return rows[tuple(keys)] if keys else rows
    if not keys:
        return rows
    key, *rest = keys
    if key is None:
        return dense_or_expanded(_index(rows, rest), 0)
    starts, limits = rows.row_splits[:-1], rows.row_splits[1:]
    if isinstance(key, slice):
        chosen = rows if key == _ALL else rows_between(rows.values, starts[key], limits[key])
        return _within(chosen, rest)
    if isinstance(key, list):
        raise ValueError("lists are not supported as an index of a RaggedTensor: use tf.gather")
    return _index(rows.values[starts[key] : limits[key]], rest)


def _within(rows: RaggedTensor, keys: list[Any]) -> Any:
    """Applies keys to each row."""
    if not keys:
        return rows
    key, *rest = keys
    if key is None:
        return dense_or_expanded(_within(rows, rest), 1)
    if not isinstance(key, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if key != _ALL:
        rows = _sliced(rows, key)
    if not rest:
        return rows
    values = rows.values
    inner = _within(values, rest) if isinstance(values, RaggedTensor) else values[(_ALL, *rest)]
    return rows.with_values(inner)


def _sliced(rows: RaggedTensor, key: slice) -> RaggedTensor:
    """Returns a slice of each row."""
    step = 1 if key.step is None else key.step
    if isinstance(step, Tensor) or step == 0:
        raise ValueError(f"the step of a slice within rows must be a number other than 0, received {step!r}")
    kind, lengths = rows.row_splits.dtype, rows.row_lengths()
    first, last = (zeros_like(lengths), lengths) if step > 0 else (zeros_like(lengths) - 1, lengths - 1)

    def bound(index: int | Tensor | None, default: int | Tensor | None) -> Any:
        if index is None:
            return default
        place = cast(index, kind)
        if isinstance(index, int):
            place = place if index >= 0 else place + lengths
        return clip_by_value(place + zeros_like(lengths), first, last)

    start, stop = bound(key.start, first if step > 0 else last), bound(key.stop, last if step > 0 else first)
    offset = rows.row_splits[:-1]
    return rows_between(rows.values, offset + start, offset + stop, step)


setattr(RaggedTensor, "__getitem__", getitem)  # noqa: B010  which type checkers reject as an assignment
