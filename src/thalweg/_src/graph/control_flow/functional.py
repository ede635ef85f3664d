"""Higher-order functions over the first dimension of tensors: `map_fn`, `foldl`, `foldr`, `scan`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow import structures
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


class _Elements:
    """The elements of several tensors of equal length, read together by index."""

    def __init__(self, elems: object) -> None:
        self._structure = elems
        tensors = [convert_to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
        for tensor in tensors:
            if tensor.dims == ():
                raise ValueError(
                    f"elems: {tensor.label} is a scalar, expected a tensor with a first dimension to iterate over"
                )
        if not tensors:
            raise ValueError(f"elems: expected at least one tensor, received {elems!r}")
        lengths = {tensor.dims[0] for tensor in tensors if tensor.dims and tensor.dims[0] is not None}
        if len(lengths) > 1:
            raise ValueError(f"elems have different first dimensions: {lengths}")
        self.static_length: int | None = next(iter(lengths), None)
        # A number where it is known: the loop's trip count is then a constant, and results have static shapes.
        self.length: Any = self.static_length if self.static_length is not None else shape(tensors[0])[0]
        self._arrays = [
            TensorArray(tensor.dtype, size=self.length, infer_shape=True).unstack(tensor) for tensor in tensors
        ]

    def read(self, index: TensorLike) -> Any:
        return nest.pack_sequence_as(self._structure, [array.read(index) for array in self._arrays])


def _stacked(arrays: Sequence[TensorArray], length: int | None) -> list[Tensor]:
    results = [array.stack() for array in arrays]
    for result in results:
        if result.dims is not None:
            result.set_shape([length, *result.dims[1:]])
    return results


def _written(arrays: Sequence[TensorArray], index: Tensor, values: object, what: str) -> list[TensorArray]:
    """Returns the arrays with a structure of values written to them."""
    # Each write returns a new version of the array, and the loop carries the last one: the flow of values, not the
    # order of creation, is what orders the writes.
    written = []
    for array, value in zip(arrays, nest.flatten(values)):
        tensor = convert_to_tensor(value, preferred_dtype=array.dtype)
        if tensor.dtype is not array.dtype:
            raise TypeError(f"{what} returns {tensor.label}, {tensor.dtype.name}, where {array.dtype.name} is expected")
        written.append(array.write(index, tensor))
    return written


def _require(function: object) -> None:
    if not callable(function):
        raise TypeError(f"fn is not callable: {function!r}")


@export("map_fn")
def map_fn(
    fn: Callable[..., Any],
    elems: object,
    dtype: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Applies `fn` to each element of `elems` and stacks the results.

    Args:
        fn: Function from an element to a result.
        dtype: Types of the results, a nest; by default those of `elems`.
        infer_shape: Whether the shapes of all results are assumed equal to that of the first.
    """
    _require(fn)
    with name_scope(name, "map", nest.flatten(elems)):
        source = _Elements(elems)
        structure = elems if dtype is None else dtype
        if dtype is None:
            types = [convert_to_tensor(elem).dtype for elem in nest.flatten(elems)]
        else:
            types = [dtypes.as_dtype(t) for t in nest.flatten(dtype)]
        # One array per leaf of the result: element i is written in iteration i, and `stack` puts them together at the
        # end. No two iterations write the same element, so that they may run in parallel.
        arrays = [TensorArray(t, size=source.length, infer_shape=infer_shape) for t in types]

        def compute(i: Tensor, outputs: list[TensorArray]) -> tuple[Tensor, list[TensorArray]]:
            values = fn(source.read(i))
            requirement = "elems, or else dtype, must have" if dtype is None else "dtype must have"
            message = f"{requirement} the structure that fn of map_fn returns: {{}} is not {{}}"
            structures.require_same(structure, values, message, check_types=False)
            return i + 1, _written(outputs, i, values, "fn of map_fn")

        _, results = while_loop(
            lambda i, _: i < source.length,
            compute,
            (convert_to_tensor(0), arrays),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=None,
        )
        return nest.pack_sequence_as(structure, _stacked(results, source.static_length))


@export("foldl")
def foldl(
    fn: Callable[..., Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Reduces the elements from first to last: fn(fn(initializer, elems[0]), elems[1])...

    Args:
        fn: Function from a state and an element to the next state.
        initializer: The first state; by default the first element.
    """
    return _fold(fn, elems, initializer, False, (parallel_iterations, back_prop, swap_memory), name, "foldl")


@export("foldr")
def foldr(
    fn: Callable[..., Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Reduces the elements from last to first.

    Args:
        fn: Function from a state and an element to the next state.
        initializer: The first state; by default the first element.
    """
    return _fold(fn, elems, initializer, True, (parallel_iterations, back_prop, swap_memory), name, "foldr")


def _fold(
    fn: Callable[..., Any],
    elems: object,
    initializer: object,
    reverse: bool,
    options: tuple[int, bool, bool],
    name: str | None,
    default: str,
) -> Any:
    _require(fn)
    with name_scope(name, default, nest.flatten(elems)):
        source = _Elements(elems)
        start, state = _first(source, initializer, reverse)
        # foldr runs the index from the end downwards; the loop is the same otherwise.
        ended: Any = (lambda i, _: i >= 0) if reverse else (lambda i, _: i < source.length)
        step = -1 if reverse else 1
        result = while_loop(
            ended,
            lambda i, a: (i + step, fn(a, source.read(i))),
            (convert_to_tensor(start), state),
            parallel_iterations=options[0],
            back_prop=options[1],
            swap_memory=options[2],
        )
        return result[1]


def _first(source: _Elements, initializer: object, reverse: bool) -> tuple[Any, Any]:
    """Returns the start index and the state before it: the initializer, or the first element itself."""
    start = source.length - 1 if reverse else 0
    if initializer is not None:
        return start, nest.map_structure(convert_to_tensor, initializer)
    return start + (-1 if reverse else 1), source.read(start)


@export("scan")
def scan(
    fn: Callable[..., Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Combines elements as `foldl` does and returns all intermediate states, stacked.

    Args:
        fn: Function from a state and an element to the next state.
        initializer: The first state; by default the first element.
        infer_shape: Whether the shapes of all results are assumed equal to that of the first.
    """
    _require(fn)
    with name_scope(name, "scan", nest.flatten(elems)):
        source = _Elements(elems)
        start, state = _first(source, initializer, reverse)
        structure = state
        flat = nest.flatten(state)
        arrays = [TensorArray(tensor.dtype, size=source.length, infer_shape=infer_shape) for tensor in flat]
        # The first state is the first element itself, which `scan` returns as well.
        if initializer is None:
            first = source.length - 1 if reverse else 0
            arrays = [array.write(first, tensor) for array, tensor in zip(arrays, flat)]
        step = -1 if reverse else 1

        def compute(i: Tensor, a: object, outputs: list[TensorArray]) -> tuple[Any, ...]:
            following = fn(a, source.read(i))
            message = "fn of scan must return the structure of its first argument, {}, not {}"
            structures.require_same(structure, following, message, check_types=False)
            return i + step, following, _written(outputs, i, following, "fn of scan")

        ended: Any = (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < source.length)
        _, _, results = while_loop(
            ended,
            compute,
            (convert_to_tensor(start), state, arrays),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return nest.pack_sequence_as(structure, _stacked(results, source.static_length))
