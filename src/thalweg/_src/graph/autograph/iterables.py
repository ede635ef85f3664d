"""What `for` statements iterate over in the graph: tensors, alone, enumerated and in parallel."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autograph.lists import TensorList
from thalweg._src.graph.autograph.values import error_text, symbolic
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import minimum
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.tensor import Tensor


class Elements:
    """The elements of tensors along their first dimension: tuples of one element of each."""

    def __init__(self, iterables: list[Any]) -> None:
        self.iterables = iterables

    def __iter__(self) -> Any:
        raise TypeError(error_text("enumerate and zip of tensors are for `for` statements of converted functions."))


class Counter:
    """The index of an element, from a start on."""

    def __init__(self, start: Any) -> None:
        self.start = start


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """Returns pairs of an index and an element."""
    return Elements([Counter(start), iterable]) if is_graph_iterable(iterable) else enumerate(iterable, start)


def zip_(*iterables: Any, **options: Any) -> Any:
    """Returns tuples of one element of each iterable."""
    if any(is_graph_iterable(iterable) for iterable in iterables):
        return Elements(list(iterables))
    return zip(*iterables, **options)


def is_graph_iterable(value: object) -> bool:
    """Returns whether a `for` statement over a value is a loop of the graph."""
    return isinstance(value, Elements | TensorList) or symbolic(value)


def opened(value: object) -> tuple[Tensor | None, Callable[[Tensor], Any]]:
    """Returns the number of elements of an iterable, None for a counter, and a function from an index to an element."""
    if isinstance(value, Counter):
        return None, lambda index: index + value.start
    if isinstance(value, Elements):
        # As `zip` in Python, the loop ends with the shortest; a counter has no end.
        lengths, readers = zip(*map(opened, value.iterables))
        finite = [length for length in lengths if length is not None]
        return reduce(minimum, finite), lambda index: tuple(read(index) for read in readers)
    tensor = value.stack() if isinstance(value, TensorList) else value_of(value)
    if tensor.dims == ():
        raise TypeError(
            error_text(f"{tensor.name!r} is a scalar: a `for` statement iterates over the first dimension.")
        )
    # A TensorArray, whose reads are cheap and whose gradient is an array as well; a slice per iteration would have a
    # gradient of the size of the whole tensor in each.
    length = shape(tensor)[0]
    array = TensorArray(tensor.dtype, size=length, element_shape=tensor.shape[1:]).unstack(tensor)
    return length, lambda index: array.read(cast(index, dtypes.int32))
