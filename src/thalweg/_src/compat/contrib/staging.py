"""StagingArea and MapStagingArea: buffers of values between steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes as types_, shapes as shapes_
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import staging as ops
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.queues import _as_names, _as_types


class BaseStagingArea:
    """The base class of staging areas: dtypes, shapes and names of the values, limits, and shared name."""

    _prefix = "StagingArea"
    name = ReadOnly[str]("The shared name of the area.")
    dtypes = ReadOnly[list[types_.DType]]("The types of the components.")
    names = ReadOnly[list[str] | None]("The names of the components, or None.")
    capacity = ReadOnly[int]("The largest number of elements; 0 sets no limit.")
    memory_limit = ReadOnly[int]("The largest number of bytes; 0 sets no limit.")

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is None:
            shared_name = Graph.unique_name(get_default_graph(), self._prefix)  # unique in eager execution as well
        if not isinstance(shared_name, str):
            raise ValueError(f"shared_name: expected a string, received {shared_name!r}")
        self._name = shared_name
        self._dtypes = _as_types(dtypes)
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise ValueError(f"shapes: expected one for each of the {len(self._dtypes)} dtypes, received {len(shapes)}")
        self._shapes = [shapes_.as_shape(shape) for shape in shapes or [None] * len(self._dtypes)]
        self._names = _as_names(names, len(self._dtypes))
        if capacity < 0 or memory_limit < 0:
            raise ValueError(f"capacity and memory_limit must be at least 0, received {capacity} and {memory_limit}")
        self._capacity = capacity
        self._memory_limit = memory_limit

    @property
    def shapes(self) -> list[shapes_.TensorShape]:
        """The shapes of the components."""
        return [shapes_.TensorShape(shape) for shape in self._shapes]

    def _attrs(self, dtypes: Sequence[Any]) -> dict[str, Any]:
        return {
            "dtypes": dtypes,
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
        }

    def _values(self, vals: object, indices: Sequence[Any] | None = None) -> tuple[list[Tensor], list[int]]:
        """Returns the values to put as tensors, each with its index."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError(f"staging area {self._name!r} has no names: it takes a list, not a dictionary")
            unknown = set(vals) - set(self._names)
            if unknown:
                raise ValueError(f"staging area {self._name!r} has {self._names}, received {sorted(vals)}")
            places = [self._names.index(name) for name in vals]
            vals = list(vals.values())
        else:
            if self._names:
                raise ValueError(f"staging area {self._name!r} has names: it takes a dictionary")
            vals = vals if isinstance(vals, list | tuple) else [vals]
            if indices is None and len(vals) != len(self._dtypes):
                raise ValueError(f"staging area {self._name!r} has {len(self._dtypes)} values, received {len(vals)}")
            places = list(range(len(vals))) if indices is None else self._places(indices)
        if len(vals) != len(places):
            raise ValueError(f"{len(places)} indices for {len(vals)} values")
        tensors = [convert_to_tensor(val, dtype=self._dtypes[place]) for val, place in zip(vals, places)]
        for tensor, place in zip(tensors, places):
            if not shapes_.compatible(tensor.dims, self._shapes[place]):
                raise ValueError(
                    f"staging area {self._name!r}: value {place} has shape {shapes_.show(self._shapes[place])}, "
                    f"received {shapes_.show(tensor.dims)}"
                )
        return tensors, places

    def _places(self, indices: Sequence[Any]) -> list[int]:
        places = [self._names.index(i) if isinstance(i, str) and self._names else i for i in indices]
        if not all(isinstance(place, int) and 0 <= place < len(self._dtypes) for place in places):
            raise ValueError(f"indices: expected some of the {len(self._dtypes)} values, received {list(indices)}")
        return places

    def _returned(self, tensors: Sequence[Tensor], places: Sequence[int]) -> Any:
        for tensor, place in zip(tensors, places):
            tensor.set_shape(self._shapes[place])
        if self._names:
            return {self._names[place]: tensor for tensor, place in zip(tensors, places)}
        return list(tensors)


@export("contrib.staging.StagingArea")
class StagingArea(BaseStagingArea):
    """A FIFO buffer of values on a device, to pipeline steps.

    Args:
        dtypes: Element type of each component.
        capacity: Largest number of elements held; 0 sets no limit.
        memory_limit: Largest number of bytes held; 0 sets no limit.
    """

    def put(self, values: object, name: str | None = None) -> Operation:
        """Returns an operation that puts values; it blocks while the area is full."""
        with name_scope(name, f"{self._name}_put", values if isinstance(values, list | tuple) else None) as scope:
            tensors, places = self._values(values)
            if len(tensors) != len(self._dtypes):
                raise ValueError(f"staging area {self._name!r} has {self._names}, all of which must be given")
            ordered = [tensor for _, tensor in sorted(zip(places, tensors), key=lambda pair: pair[0])]
            return ops.stage_op.operation(ordered, **_without(self._attrs(()), "dtypes"), name=scope)

    def get(self, name: str | None = None) -> Any:
        """Removes and returns the oldest values; blocks while the area is empty."""
        taken = ops.unstage_op.many(**self._attrs(self._dtypes), name=name or f"{self._name}_get")
        return self._returned(taken, range(len(self._dtypes)))

    def peek(self, index: TensorLike, name: str | None = None) -> Any:
        """Returns the values at an index without removing them."""
        seen = ops.stage_peek_op.many(index, **self._attrs(self._dtypes), name=name or f"{self._name}_peek")
        return self._returned(seen, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements."""
        return ops.stage_size_op(**self._attrs(self._dtypes), name=name or f"{self._name}_size")

    def clear(self, name: str | None = None) -> Operation:
        """Returns an operation that removes all elements."""
        return ops.stage_clear_op.operation(**self._attrs(self._dtypes), name=name or f"{self._name}_clear")


class MapStagingArea(BaseStagingArea):
    """A buffer of values by key, whose components may be put separately."""

    _prefix = "MapStagingArea"

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ops = ops.ORDERED_MAP if ordered else ops.MAP

    def put(
        self, key: object, vals: object, indices: Sequence[Any] | None = None, name: str | None = None
    ) -> Operation:
        """Returns an operation that puts values of a key, all or those at the indices."""
        with name_scope(name, f"{self._name}_put") as scope:
            tensors, places = self._values(vals, indices)
            return self._ops["stage"].operation(
                key, constant(places, types_.int32), tensors, **self._attrs(self._dtypes), name=scope
            )

    def get(self, key: Any = None, indices: Sequence[Any] | None = None, name: str | None = None) -> Any:
        """Removes values of a key, or of any key, and returns the key and the values; blocks until there are some."""
        places = self._places(range(len(self._dtypes)) if indices is None else indices)
        attrs = self._attrs([self._dtypes[place] for place in places])
        with name_scope(name, f"{self._name}_get") as scope:
            where = constant(places, types_.int32)
            if key is not None:
                return key, self._returned(self._ops["unstage"].many(key, where, **attrs, name=scope), places)
            removed_key, values = self._ops["unstage_no_key"].many(where, **attrs, name=scope)
            return removed_key, self._returned(values, places)

    def peek(self, key: object, indices: Sequence[Any] | None = None, name: str | None = None) -> Any:
        """Returns values of a key without removing them; blocks until they are present."""
        places = self._places(range(len(self._dtypes)) if indices is None else indices)
        attrs = self._attrs([self._dtypes[place] for place in places])
        with name_scope(name, f"{self._name}_pop") as scope:
            where = constant(places, types_.int32)
            return self._returned(self._ops["peek"].many(key, where, **attrs, name=scope), places)

    def size(self, name: str | None = None) -> Tensor:
        return self._ops["size"](**self._attrs(self._dtypes), name=name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        return self._ops["incomplete_size"](**self._attrs(self._dtypes), name=name or f"{self._name}_incomplete_size")

    def clear(self, name: str | None = None) -> Operation:
        return self._ops["clear"].operation(**self._attrs(self._dtypes), name=name or f"{self._name}_clear")


def _without(attrs: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in attrs.items() if name != key}
