"""CrossDeviceOps: reductions and broadcasts of values on several devices of a process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add_n, divide
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.distribute.reduce_op import ReduceOp, as_reduce_op
from thalweg._src.training.distribute.values import DistributedValues, Mirrored, element, is_distributed
from thalweg._src.training.variables.variables import Variable

Accumulate = Callable[[list[Any]], Any]


@contextlib.contextmanager
def placed_on(place: str) -> Iterator[None]:
    """Context manager: places operations on a device, whatever the scopes around it say."""
    graph = get_default_graph()
    with graph.colocate_with(None, ignore_existing=True), graph.device(None), graph.device(place or None):
        yield


def devices_of(destinations: Any) -> tuple[str, ...]:
    """Returns the devices of destinations: of a device name, a variable, a tensor or distributed values."""
    if isinstance(destinations, str):
        return (destinations,)
    if is_distributed(destinations):
        return tuple(value.device for value in destinations.values)
    if isinstance(destinations, tuple | list):
        return tuple(place for item in destinations for place in devices_of(item))
    return (destinations.device,)


def copied(value: Tensor | IndexedSlices) -> Any:
    """Returns a copy of a tensor or of IndexedSlices on the current device."""
    if isinstance(value, IndexedSlices):
        shape = None if value.dense_shape is None else identity(value.dense_shape)
        return IndexedSlices(identity(value.values), identity(value.indices), shape)
    return identity(value)


def summed(values: list[Any]) -> Any:
    """Returns the sum of tensors, in their order; slices are put together, so that equal indices add up."""
    if len(values) == 1:
        return values[0]
    if all(isinstance(value, IndexedSlices) for value in values):
        shape = next((value.dense_shape for value in values if value.dense_shape is not None), None)
        return IndexedSlices(
            concat([value.values for value in values], 0), concat([value.indices for value in values], 0), shape
        )
    return add_n([convert_to_tensor(value) for value in values])


def divided(value: Tensor | IndexedSlices, number: int) -> Any:
    """Returns a tensor or IndexedSlices divided by a number of replicas."""
    if number == 1:
        return value
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divide(value.values, number), value.indices, value.dense_shape)
    return divide(value, number)


def reduced(reduce_op: ReduceOp, values: list[Any]) -> Any:
    """Returns the sum or mean of tensors on the current device."""
    total = summed(values)
    return divided(total, len(values)) if reduce_op is ReduceOp.MEAN else total


def broadcast_copies(value: Tensor | IndexedSlices, places: Sequence[str]) -> Any:
    """Returns a value copied to each device: mirrored, or the copy itself where there is one device."""
    results = []
    for place in places:
        with placed_on(place):
            results.append(copied(value))
    return results[0] if len(results) == 1 else Mirrored(results)


@export("distribute.CrossDeviceOps", "contrib.distribute.CrossDeviceOps")
class CrossDeviceOps:
    """Base class of the algorithms that reduce values of several devices and copy the results to destinations."""

    def __init__(self) -> None:
        pass

    def reduce(self, reduce_op: ReduceOp | str, per_replica_value: DistributedValues, destinations: object) -> Any:
        """Returns the reduction of one value per replica, on each of the destinations."""
        return self.reduce_implementation(as_reduce_op(reduce_op), _as_values(per_replica_value), destinations)

    def batch_reduce(self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Returns the reduction of each of several values, on its destinations."""
        pairs = [(_as_values(value), destinations) for value, destinations in value_destination_pairs]
        return self.batch_reduce_implementation(as_reduce_op(reduce_op), pairs)

    def broadcast(self, tensor: TensorLike, destinations: object) -> Any:
        """Returns a tensor copied to each of the destinations."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: DistributedValues, destinations: object
    ) -> Any:
        """Reduces one value; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define reduce_implementation")

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """Reduces several values; subclasses may do it at once."""
        return [self.reduce_implementation(reduce_op, value, places) for value, places in value_destination_pairs]

    def broadcast_implementation(self, tensor: TensorLike, destinations: object) -> Any:
        """Copies a tensor to the destinations."""
        return broadcast_copies(element(tensor), devices_of(destinations))


def _as_values(value: object) -> DistributedValues:
    if isinstance(value, DistributedValues):
        return value
    if isinstance(value, Tensor | IndexedSlices | Variable):
        return Mirrored([element(value)])
    raise ValueError(f"expected a distributed value or a tensor to reduce, received {value!r}")


@export("distribute.ReductionToOneDevice", "contrib.distribute.ReductionToOneDeviceCrossDeviceOps")
class ReductionToOneDevice(CrossDeviceOps):
    """Reduces on one device, by default the first destination, and copies the result to the others."""

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Accumulate | None = None) -> None:
        super().__init__()
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = summed if accumulation_fn is None else accumulation_fn

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: DistributedValues, destinations: object
    ) -> Any:
        """Reduces one value."""
        places = devices_of(destinations)
        values = [element(value) for value in per_replica_value.values]
        with placed_on(self.reduce_to_device or places[0]):
            result = self.accumulation_fn(values)
            if reduce_op is ReduceOp.MEAN:
                result = divided(result, len(values))
        return broadcast_copies(result, places)
