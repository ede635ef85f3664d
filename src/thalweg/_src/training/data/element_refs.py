"""Element references (late materialization): iterations that only select elements handle references to them.

A reference is the index of an element in a tensor, or the bytes of a record. Records of one length that will be decoded
are stored as rows of one array and referenced by index, so that a batch of numbers is one copy from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.dtypes import DType
from thalweg._src.runtime.kernels.elements import decoded_rows, places, slices, stack, stack_sparse, text
from thalweg._src.training.data.structure import SparseTensorSpec

Element = tuple[Any, ...]
Array = np.ndarray[Any, Any]
_WIDEST = 1 << 14  # bytes of a record; growing the array copies all rows, which takes too much memory for larger ones


class ElementRefs:
    """References that are the elements themselves."""

    is_lazy = False  # whether references are not the elements themselves
    all_indices = False  # whether all references are integers

    def __init__(self, leaves: Sequence[Any]) -> None:
        self._stack = stacker(leaves)

    def materialize(self, ref: Any) -> Element:
        """Returns the element of a reference."""
        return ref  # type: ignore[no-any-return]

    def batch(self, refs: list[Any]) -> Element:
        """Returns the batch of the elements of some references."""
        return self._stack(refs)

    def numbers(self, refs: list[Any]) -> Element | None:
        """Returns the decoded numbers of records, or None if they are not stored as rows."""
        return None

    def release(self, refs: list[Any]) -> None:
        """Frees the storage of elements that are no longer needed."""

    def saved(self, ref: Any) -> Any:
        """Returns what a saved position contains for a reference."""
        return ref

    def restored(self, saved: Any) -> Any:
        """Returns the reference for an entry of a saved position, which may be the element itself."""
        return saved


class RowRefs(ElementRefs):
    """Indices along the first dimension of some values."""

    is_lazy = True

    def __init__(self, values: Sequence[Any]) -> None:
        self.all_indices = True  # until an element is restored from a position
        self._values = values

    def materialize(self, ref: Any) -> Element:
        return tuple([slices(value, ref, ref + 1)[0] for value in self._values])

    def batch(self, refs: list[Any]) -> Element:
        if not self.all_indices:
            raise TypeError("some references may be elements")
        return tuple([places(value, refs) for value in self._values])

    def restored(self, saved: Any) -> Any:
        self.all_indices = self.all_indices and type(saved) is not tuple
        return saved


class RecordRefs(ElementRefs):
    """The bytes of records, or the row indices of records of one length in an array."""

    is_lazy = True

    def __init__(self, dtype: DType | None) -> None:
        """dtype: of the numbers that the records are decoded to, or None if they are used otherwise."""
        self.dtype = dtype
        self.all_indices = True  # until one is not
        self._rows: Array | None = None
        self._free: list[int] = []  # the row freed last is reused first, since it is in the cache

    # Rows are reused from a free list, the one freed last first. A reference is valid from `put` to `release`, and held
    # by one holder at a time, the shuffle buffer or the batch being made. Records of another length, or too long ones,
    # are referenced by their bytes: `all_indices` then turns false for good, and callers look at each reference.
    def put(self, records: Array | list[bytes]) -> list[Any]:
        """Stores records and returns their references; rows of an array are copied, since it may change afterwards."""
        if isinstance(records, list):
            self.all_indices = False
            return records
        rows = self._rows = records[:0] if self._rows is None else self._rows
        if records.shape[1] != rows.shape[1] or records.shape[1] > _WIDEST:
            self.all_indices = False
            return [record.tobytes() for record in records]
        count = len(records)
        if count > len(self._free):
            more = max(len(rows) // 2, count)
            self._free += range(len(rows), len(rows) + more)
            rows = self._rows = np.concatenate([rows, np.empty((more, rows.shape[1]), np.uint8)])
        chosen = self._free[-count:]
        del self._free[-count:]
        rows[chosen] = records
        return chosen

    def release(self, refs: list[Any]) -> None:
        self._free += refs if self.all_indices else [ref for ref in refs if type(ref) is int]

    def saved(self, ref: Any) -> Any:
        return ref if self._rows is None or type(ref) is not int else self._rows[ref].tobytes()

    def restored(self, saved: Any) -> Any:
        value = saved[0] if type(saved) is tuple else saved
        value = value.item() if isinstance(value, np.ndarray) else value
        if value is None or self.dtype is None:
            self.all_indices = self.all_indices and value is None
            return value
        return self.put(np.frombuffer(value, np.uint8)[None])[0]

    def materialize(self, ref: Any) -> Element:
        return (text(self.saved(ref)),)

    def batch(self, refs: list[Any]) -> Element:
        return (stack([self.saved(ref) for ref in refs]),)

    def numbers(self, refs: list[Any]) -> Element | None:
        if self._rows is None or self.dtype is None or not (self.all_indices or set(map(type, refs)) == {int}):
            return None
        return (decoded_rows(self._rows, refs, self.dtype),)


def stacker(leaves: Sequence[Any]) -> Callable[[list[Element]], Element]:
    """Returns the function that stacks elements with these leaves."""
    if len(leaves) == 1 and not isinstance(leaves[0], SparseTensorSpec):
        return lambda elements: (stack([element[0] for element in elements]),)
    if any(isinstance(leaf, SparseTensorSpec) for leaf in leaves):
        return lambda elements: _stack_mixed(leaves, elements)
    return lambda elements: tuple([stack(column, i) for i, column in enumerate(zip(*elements))])


def _stack_mixed(leaves: Sequence[Any], elements: Sequence[Element]) -> Element:
    columns = iter(zip(*elements))
    result: list[Any] = []
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, SparseTensorSpec):
            result += stack_sparse(list(zip(next(columns), next(columns), next(columns))), index)
        else:
            result.append(stack(next(columns), index))
    return tuple(result)
