"""All-reduce over devices: by collective operations, or by copies between groups of devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.collective import all_reduce
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.reshape import ones_like, squeeze
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.distribute.cross_device_ops import (
    CrossDeviceOps,
    ReductionToOneDevice,
    broadcast_copies,
    copied,
    devices_of,
    divided,
    placed_on,
    reduced,
    summed,
)
from thalweg._src.training.distribute.reduce_op import ReduceOp
from thalweg._src.training.distribute.values import DistributedValues, Mirrored, element

_GROUP_OF_GPUS = 4  # the devices that hierarchical copies take as near to each other


class CollectiveKeys:
    """The keys of the collectives of a graph, in the order in which they are added: equal in all workers."""

    def __init__(self) -> None:
        self._groups: dict[Any, int] = {}
        self._instances = 100

    def group(self, name: str | tuple[str, ...]) -> int:
        """Returns the key of a group, given what identifies it in this graph."""
        return self._groups.setdefault(name, len(self._groups) + 1)

    def instance(self) -> int:
        """Returns the key of a new collective."""
        self._instances += 1
        return self._instances


def collective_keys() -> CollectiveKeys:
    """Returns the keys of the default graph."""
    return get_default_graph().singleton("collective_keys", CollectiveKeys)  # type: ignore[no-any-return]


class CollectiveAllReduce(CrossDeviceOps):
    """Reduces by collective operations over the devices of this process, and of other workers if there are any."""

    def __init__(self, places: Sequence[str], workers: int = 1, communication: str = "auto") -> None:
        super().__init__()
        self._places = tuple(places)
        self._workers = workers
        self._communication = communication

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: DistributedValues, destinations: object
    ) -> Any:
        """Reduces one value."""
        values = [element(value) for value in per_replica_value.values]
        places = self._places
        if any(isinstance(value, IndexedSlices) for value in values):
            results = self._reduce_slices(reduce_op, values, places)
        else:
            results = self._reduce_dense(reduce_op, values, places)
        target_places = devices_of(destinations)
        if target_places == places:
            return results[0] if len(results) == 1 else Mirrored(results)
        return broadcast_copies(results[0], target_places)

    def _reduce_dense(self, reduce_op: ReduceOp, values: Sequence[Any], places: Sequence[str]) -> list[Tensor]:
        size = len(values) * self._workers
        keys = collective_keys()
        group, instance = keys.group(tuple(places)), keys.instance()
        results = []
        for value, place in zip(values, places):
            with placed_on(place):
                value = convert_to_tensor(value)
                final = "Div" if reduce_op is ReduceOp.MEAN else "Id"
                results.append(
                    value
                    if size == 1
                    else all_reduce(
                        value, size, group, instance, final_op=final, communication_hint=self._communication
                    )
                )
        return results

    def _reduce_slices(self, reduce_op: ReduceOp, values: Sequence[Any], places: Sequence[str]) -> list[Any]:
        """Reduces slices: their rows as a dense tensor, and how often each row occurs, so that the others stay out."""
        if self._workers == 1:
            return _as_list(broadcast_copies(reduced(reduce_op, list(values)), places))
        # Workers do not know the indices of each other, and an all-reduce needs equal shapes. So the rows are scattered
        # into a dense tensor, and a second reduction counts in how many slices each row occurs: the result has the rows
        # with a count, also those whose sum is zero, and an optimizer leaves the others untouched.
        rows, counts, shapes = [], [], []
        for value, place in zip(values, places):
            with placed_on(place):
                if not isinstance(value, IndexedSlices) or value.dense_shape is None:
                    raise ValueError(f"a sparse gradient needs its dense shape to be reduced over workers: {value}")
                number = value.dense_shape[0]
                rows.append(unsorted_segment_sum(value.values, value.indices, number))
                ones = ones_like(value.indices, dtype=dtypes.int32)
                counts.append(unsorted_segment_sum(ones, value.indices, number))
                shapes.append(value.dense_shape)
        sums = self._reduce_dense(reduce_op, rows, places)
        total_counts = self._reduce_dense(ReduceOp.SUM, counts, places)
        results = []
        for total, count, shape, place in zip(sums, total_counts, shapes, places):
            with placed_on(place):
                indices = squeeze(where(greater(count, 0)), axis=[1])
                results.append(IndexedSlices(gather(total, indices), indices, shape))
        return results


def _as_list(value: object) -> list[Any]:
    return list(value.values) if isinstance(value, DistributedValues) else [value]


def _device_type(place: str) -> str:
    return DeviceSpec.from_string(place).device_type or ""


class _LocalAllReduce(CrossDeviceOps):
    """Base class of reductions whose results are on the devices of the values; others are reduced on one device."""

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"num_packs: expected no negative number, received {num_packs}")
        super().__init__()
        self._elsewhere = ReductionToOneDevice()

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: DistributedValues, destinations: object
    ) -> Any:
        """Reduces one value."""
        places = devices_of(per_replica_value)
        if len(set(places)) < max(len(places), 2) or devices_of(destinations) != places:
            return self._elsewhere.reduce_implementation(reduce_op, per_replica_value, destinations)
        return self._all_reduced(reduce_op, per_replica_value, places)

    def _all_reduced(self, reduce_op: ReduceOp, per_replica_value: DistributedValues, places: tuple[str, ...]) -> Any:
        raise NotImplementedError


@export("distribute.NcclAllReduce")
class NcclAllReduce(_LocalAllReduce):
    """Reduces by a collective operation over the devices; fusion of several reductions is up to the compiler."""

    def _all_reduced(self, reduce_op: ReduceOp, per_replica_value: DistributedValues, places: tuple[str, ...]) -> Any:
        return CollectiveAllReduce(places).reduce_implementation(reduce_op, per_replica_value, places)


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(_LocalAllReduce):
    """Reduces in groups of devices first, then between the groups, and copies the result back the same way."""

    def _all_reduced(self, reduce_op: ReduceOp, per_replica_value: DistributedValues, places: tuple[str, ...]) -> Any:
        values = [element(value) for value in per_replica_value.values]
        groups = [
            range(start, min(start + _GROUP_OF_GPUS, len(values))) for start in range(0, len(values), _GROUP_OF_GPUS)
        ]
        group_sums = []
        for members in groups:
            with placed_on(places[members[0]]):
                group_sums.append(summed([values[index] for index in members]))
        with placed_on(places[0]):
            total = summed(group_sums)
            total = divided(total, len(values)) if reduce_op is ReduceOp.MEAN else total
        results = []
        for members in groups:
            with placed_on(places[members[0]]):
                near = copied(total)
            for index in members:
                with placed_on(places[index]):
                    results.append(copied(near))
        return Mirrored(results)


@export("contrib.distribute.AllReduceCrossDeviceOps")
def AllReduceCrossDeviceOps(
    all_reduce_alg: str = "nccl",
    num_packs: int = 1,
    agg_small_grads_max_bytes: int = 0,
    agg_small_grads_max_group: int = 10,
) -> CrossDeviceOps:
    """Returns the all-reduce of a name, "nccl" or "hierarchical_copy"."""
    if all_reduce_alg not in _ALGORITHMS:
        raise ValueError(f"all_reduce_alg: expected one of {', '.join(_ALGORITHMS)}, received {all_reduce_alg!r}")
    return _ALGORITHMS[all_reduce_alg](num_packs)


_ALGORITHMS: dict[str, Callable[[int], CrossDeviceOps]] = {
    "nccl": NcclAllReduce,
    "hierarchical_copy": HierarchicalCopyAllReduce,
}


def choose_cross_device_ops(places: Sequence[str]) -> CrossDeviceOps:
    """Returns the reduction that suits devices: NCCL's for several GPUs."""
    gpus = len(places) > 1 and all(_device_type(place) == "GPU" for place in places)
    return NcclAllReduce() if gpus else ReductionToOneDevice()
