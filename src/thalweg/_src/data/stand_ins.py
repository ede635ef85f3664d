"""What stands for elements between a source and a batch: those who only choose among elements need not carry them.

The place of an element in a tensor stands for it, and so do the bytes of a record. Records of one length that will be
decoded anyway lie side by side in memory, and their places stand for them: a batch of numbers is one copy from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.data.structure import SparseTensorSpec
from thalweg._src.kernels.elements import decoded_rows, places, slices, stack, stack_sparse, text

Element = tuple[Any, ...]
Array = np.ndarray[Any, Any]
_WIDEST = 1 << 14  # bytes of a record; to move larger ones when there are more of them would take too much memory


class StandIns:
    """Elements that stand for themselves."""

    lighter = False  # than the elements themselves
    are_places = False  # integers, all of them

    def __init__(self, leaves: Sequence[Any]) -> None:
        self._stack = stacker(leaves)

    def whole(self, stand_in: Any) -> Element:
        """Returns the element that something stands for."""
        return stand_in  # type: ignore[no-any-return]

    def batch(self, stand_ins: list[Any]) -> Element:
        """Returns the elements that some things stand for as one."""
        return self._stack(stand_ins)

    def numbers(self, stand_ins: list[Any]) -> Element | None:
        """Returns the numbers that records are made of, or None if they are not at hand as such."""
        return None

    def drop(self, stand_ins: list[Any]) -> None:
        """Hears that nobody will ask for some elements again."""

    def saved(self, stand_in: Any) -> Any:
        """Returns what stands for an element in a saved position."""
        return stand_in

    def restored(self, saved: Any) -> Any:
        """Returns what stands for an element of a saved position, which may hold the element itself."""
        return saved


class Places(StandIns):
    """Places along the first dimension of some values."""

    lighter = True

    def __init__(self, values: Sequence[Any]) -> None:
        self.are_places = True  # until an element that was saved as such comes among them
        self._values = values

    def whole(self, stand_in: Any) -> Element:
        return tuple([slices(value, stand_in, stand_in + 1)[0] for value in self._values])

    def batch(self, stand_ins: list[Any]) -> Element:
        if not self.are_places:
            raise TypeError("some of them may be elements")
        return tuple([places(value, stand_ins) for value in self._values])

    def restored(self, saved: Any) -> Any:
        self.are_places = self.are_places and type(saved) is not tuple
        return saved


class Texts(StandIns):
    """The bytes of records, or the places of records of one length that lie side by side."""

    lighter = True

    def __init__(self, dtype: Any) -> None:
        """dtype: of the numbers that the records are decoded to, or None if something else is done with them."""
        self.dtype = dtype
        self.are_places = True  # until one is not
        self._rows: Array | None = None
        self._free: list[int] = []  # the place that was left last is taken first, since its memory is at hand

    def put(self, records: Array | list[bytes]) -> list[Any]:
        """Returns what stands for records; some may come as rows of one array, which may change afterwards."""
        if isinstance(records, list):
            self.are_places = False
            return records
        rows = self._rows = records[:0] if self._rows is None else self._rows
        if records.shape[1] != rows.shape[1] or records.shape[1] > _WIDEST:
            self.are_places = False
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

    def drop(self, stand_ins: list[Any]) -> None:
        self._free += stand_ins if self.are_places else [each for each in stand_ins if type(each) is int]

    def saved(self, stand_in: Any) -> Any:
        return stand_in if self._rows is None or type(stand_in) is not int else self._rows[stand_in].tobytes()

    def restored(self, saved: Any) -> Any:
        value = saved[0] if type(saved) is tuple else saved
        value = value.item() if isinstance(value, np.ndarray) else value
        if value is None or self.dtype is None:
            self.are_places = self.are_places and value is None
            return value
        return self.put(np.frombuffer(value, np.uint8)[None])[0]

    def whole(self, stand_in: Any) -> Element:
        return (text(self.saved(stand_in)),)

    def batch(self, stand_ins: list[Any]) -> Element:
        return (stack([self.saved(stand_in) for stand_in in stand_ins]),)

    def numbers(self, stand_ins: list[Any]) -> Element | None:
        if self._rows is None or not (self.are_places or set(map(type, stand_ins)) == {int}):
            return None
        return (decoded_rows(self._rows, stand_ins, self.dtype),)


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
