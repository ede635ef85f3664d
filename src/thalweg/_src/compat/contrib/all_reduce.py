"""tf.contrib.all_reduce: reductions over tensors on several devices and tasks, as graphs of ordinary operations.

Each function returns the reduced tensor once per input, on its device. Tensors are cut into pieces, which are reduced
at different devices at the same time; their sizes differ by one element at most, so that nothing is padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.nccl import all_sum
from thalweg._src.graph.ops import sequences
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add
from thalweg._src.graph.ops.reshape import reshape, shape, size
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.distribute.cross_device_ops import placed_on

Binary = Callable[[Tensor, Tensor], Tensor]
Reduce = Callable[[list[Tensor]], Tensor]
Unary = Callable[[Tensor], Tensor]
Build = Callable[[list[Tensor]], list[Tensor]]


@export("contrib.all_reduce.build_ring_all_reduce")
def build_ring_all_reduce(
    input_tensors: Sequence[Tensor],
    num_workers: int,
    num_subchunks: int,
    gpu_perm: Sequence[int],
    red_op: Binary,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Reduces tensors along rings of their devices, with one ring for each subchunk.

    Tensors of one worker follow one another. Each ring enters the workers at another of their devices.
    """
    tensors = _require(input_tensors, 2)
    count, gpus = len(tensors), len(gpu_perm)
    if num_workers * gpus != count or sorted(gpu_perm) != list(range(gpus)):
        raise ValueError(
            f"expected num_workers ({num_workers}) times a permutation of the devices of a worker as input_tensors; "
            f"received gpu_perm {list(gpu_perm)} and {count} tensors"
        )
    if not 0 < num_subchunks <= gpus:
        raise ValueError(f"num_subchunks: expected 1 to {gpus}, the devices of a worker, received {num_subchunks}")
    pieces = _cut(_flat(tensors), num_subchunks * count)
    for ring in range(num_subchunks):
        first = ring * (gpus // num_subchunks)
        order = [*gpu_perm[first:], *gpu_perm[:first]]
        members = [worker * gpus + gpu for worker in range(num_workers) for gpu in order]
        for rank in range(count):
            turn = [*members[rank:], *members[:rank]]
            _go_round(pieces, ring * count + rank, turn, [tensor.device for tensor in tensors], red_op, un_op)
    return _joined(pieces, tensors)


def _go_round(
    pieces: list[list[Tensor]], index: int, turn: Sequence[int], devices: Sequence[str], red_op: Binary, un_op: Any
) -> None:
    """Reduces one piece of all members from the first to the last one, and copies the result to them in turn."""
    carried = pieces[turn[0]][index]
    for member in turn[1:]:
        with placed_on(devices[member]):
            carried = red_op(carried, pieces[member][index])
    pieces[turn[-1]][index] = carried = _scaled(carried, un_op, devices[turn[-1]])
    for member in turn[:-1]:
        with placed_on(devices[member]):
            pieces[member][index] = carried = identity(carried)


@export("contrib.all_reduce.build_recursive_hd_all_reduce")
def build_recursive_hd_all_reduce(
    input_tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """Reduces tensors by recursive halving and doubling; their number is a power of two."""
    tensors = _require(input_tensors)
    if len(tensors) & (len(tensors) - 1):
        raise ValueError(f"input_tensors: expected a power of two, received {len(tensors)} tensors")
    return _like(_halved(_flat(tensors), [tensor.device for tensor in tensors], red_op, un_op), tensors)


def _halved(vectors: list[Tensor], devices: Sequence[str], red_op: Binary, un_op: Any) -> list[Tensor]:
    """Reduces halves between neighbours, then each half among those that have it, and puts the halves together."""
    if len(vectors) == 1:
        return [_scaled(vectors[0], un_op, devices[0])]
    halves = _cut(vectors, 2)
    reduced = []
    for which in range(2):
        sums, places = [], devices[which::2]
        for pair, place in zip(range(0, len(vectors), 2), places, strict=True):
            with placed_on(place):
                sums.append(red_op(halves[pair][which], halves[pair + 1][which]))
        reduced.append(_halved(sums, places, red_op, un_op))
    results = []
    for index, place in enumerate(devices):
        with placed_on(place):
            results.append(concat([half[index // 2] for half in reduced], 0))
    return results


@export("contrib.all_reduce.build_shuffle_all_reduce")
def build_shuffle_all_reduce(
    input_tensors: Sequence[Tensor], gather_devices: Sequence[str], red_op: Reduce, un_op: Unary | None = None
) -> list[Tensor]:
    """Reduces one piece of all tensors on each of some devices, and copies the results to all."""
    tensors = _require(input_tensors)
    gathered = _gathered(tensors, gather_devices, red_op)
    results = [_scaled(piece, un_op, place) for piece, place in zip(gathered, gather_devices, strict=True)]
    return _joined([results] * len(tensors), tensors)


def _gathered(tensors: list[Tensor], gather_devices: Sequence[str], red_op: Reduce) -> list[Tensor]:
    if not gather_devices:
        raise ValueError("gather_devices: expected at least one device, received none")
    pieces = _cut(_flat(tensors), len(gather_devices))
    reduced = []
    for place, *addends in zip(gather_devices, *pieces, strict=True):
        with placed_on(place):
            reduced.append(red_op(addends))
    return reduced


@export("contrib.all_reduce.build_nccl_all_reduce")
def build_nccl_all_reduce(input_tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None = None) -> list[Tensor]:
    """Sums tensors on devices of one process as tf.contrib.nccl does; `red_op` is tf.add."""
    tensors = _require(input_tensors)
    if red_op is not add:
        raise ValueError(f"red_op: expected tf.add, the reduction of build_nccl_all_reduce, received {red_op}")
    return [_scaled(total, un_op, total.device) for total in all_sum(tensors)]


# -- two levels -------------------------------------------------------------------------------------------------------


@export("contrib.all_reduce.build_nccl_then_ring")
def build_nccl_then_ring(
    input_tensors: Sequence[Tensor], subdiv: int, red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """Sums tensors within each worker, and then along a ring of workers."""
    between = lambda sums: build_ring_all_reduce(sums, len(sums), subdiv, [0], red_op, un_op)  # noqa: E731
    return _sum_then(input_tensors, red_op, between)


@export("contrib.all_reduce.build_nccl_then_recursive_hd")
def build_nccl_then_recursive_hd(
    input_tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """Sums tensors within each worker, and then between workers by recursive halving and doubling."""
    return _sum_then(input_tensors, red_op, lambda sums: build_recursive_hd_all_reduce(sums, red_op, un_op))


@export("contrib.all_reduce.build_nccl_then_shuffle")
def build_nccl_then_shuffle(
    input_tensors: Sequence[Tensor],
    gather_devices: Sequence[str],
    nccl_red_op: Binary,
    shuffle_red_op: Reduce,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Sums tensors within each worker, and then between workers, one piece at each gather device."""
    between = lambda sums: build_shuffle_all_reduce(sums, gather_devices, shuffle_red_op, un_op)  # noqa: E731
    return _sum_then(input_tensors, nccl_red_op, between)


def _sum_then(input_tensors: Sequence[Tensor], red_op: Binary, between: Build) -> list[Tensor]:
    """Sums within each worker, reduces the sums between workers, and copies the result to all devices of each."""
    tensors = _require(input_tensors)
    groups = _by_task([tensor.device for tensor in tensors])
    totals = between([build_nccl_all_reduce([tensors[i] for i in group], red_op)[0] for group in groups])
    results: dict[int, Tensor] = {}
    for total, group in zip(totals, groups, strict=True):
        for index in group:
            with placed_on(tensors[index].device):
                results[index] = identity(total)
    return [results[index] for index in range(len(tensors))]


@export("contrib.all_reduce.build_shuffle_then_ring")
def build_shuffle_then_ring(
    input_tensors: Sequence[Tensor],
    gather_devices: Sequence[str],
    subdiv: int,
    red_n_op: Reduce,
    red_op: Binary,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Reduces pieces at the gather devices of each worker, and then each piece along a ring of workers."""
    between = lambda tensors: build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op)  # noqa: E731
    return _shuffle_then(input_tensors, gather_devices, red_n_op, between)


@export("contrib.all_reduce.build_shuffle_then_shuffle")
def build_shuffle_then_shuffle(
    input_tensors: Sequence[Tensor],
    first_gather_devices: Sequence[str],
    second_gather_devices: Sequence[str],
    red_op: Reduce,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Reduces pieces at the first gather devices of each worker, and then between workers at the second ones."""
    between = lambda tensors: build_shuffle_all_reduce(tensors, second_gather_devices, red_op, un_op)  # noqa: E731
    return _shuffle_then(input_tensors, first_gather_devices, red_op, between)


def _shuffle_then(
    input_tensors: Sequence[Tensor], gather_devices: Sequence[str], red_op: Reduce, between: Build
) -> list[Tensor]:
    tensors = _require(input_tensors)
    groups, gather_groups = _by_task([tensor.device for tensor in tensors]), _by_task(gather_devices)
    tasks = [_task(tensors[group[0]].device) for group in groups]
    if sorted(tasks) != sorted(_task(gather_devices[group[0]]) for group in gather_groups):
        raise ValueError(
            "gather_devices: expected devices at the workers of input_tensors, one group at each; "
            f"received {list(gather_devices)} for tensors on {[tensor.device for tensor in tensors]}"
        )
    if len({len(group) for group in gather_groups}) != 1:
        raise ValueError(f"gather_devices: expected as many at each worker, received {list(gather_devices)}")
    at_task = {_task(gather_devices[group[0]]): [gather_devices[i] for i in group] for group in gather_groups}
    levels = [
        _gathered([tensors[i] for i in group], at_task[task], red_op) for group, task in zip(groups, tasks, strict=True)
    ]
    reduced = zip(*(between(list(level)) for level in zip(*levels, strict=True)), strict=True)
    pieces: list[list[Tensor]] = [[]] * len(tensors)
    for group, sums in zip(groups, reduced, strict=True):
        for index in group:
            pieces[index] = list(sums)
    return _joined(pieces, tensors)


# -- tensors and their pieces -----------------------------------------------------------------------------------------


def _require(tensors: Sequence[Tensor], fewest: int = 1) -> list[Tensor]:
    tensors = list(tensors)
    if len(tensors) < fewest:
        raise ValueError(f"input_tensors: expected at least {fewest}, received {len(tensors)}")
    for tensor in tensors:
        require_kind("input_tensors", tensor, Tensor, "tensors")
        if not tensor.shape.is_compatible_with(tensors[0].shape):
            raise ValueError(f"input_tensors: expected equal shapes, received {tensors[0].shape} and {tensor.shape}")
        if tensor.dtype.base_dtype is not tensors[0].dtype.base_dtype:
            types = f"{tensors[0].dtype.name} and {tensor.dtype.name}"
            raise ValueError(f"input_tensors: expected one type, received {types}")
    return tensors


def _task(place: str) -> tuple[str, int, int]:
    spec = DeviceSpec.from_string(place)
    return spec.job or "", spec.replica or 0, spec.task or 0


def _by_task(places: Sequence[str]) -> list[list[int]]:
    """Returns the indices of devices, in one list per task."""
    groups: dict[tuple[str, int, int], list[int]] = {}
    for index, place in enumerate(places):
        groups.setdefault(_task(place), []).append(index)
    return list(groups.values())


def _flat(tensors: Sequence[Tensor]) -> list[Tensor]:
    vectors = []
    for tensor in tensors:
        with placed_on(tensor.device):
            vectors.append(reshape(tensor, [-1]))
    return vectors


def _cut(vectors: Sequence[Tensor], number: int) -> list[list[Tensor]]:
    """Returns the pieces of each vector, which are on its device."""
    pieces = []
    for vector in vectors:
        with placed_on(vector.device):
            whole = vector.shape.num_elements()
            if whole is None:
                total = size(vector)
                sizes = total // number + cast(less(sequences.range(number), total % number), dtypes.int32)
            else:
                sizes = [whole // number + (index < whole % number) for index in range(number)]
            pieces.append(split(vector, sizes, num=number))
    return pieces


def _joined(pieces: Sequence[Sequence[Tensor]], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns tensors of pieces, with the shapes and on the devices of others."""
    vectors = []
    for tensor_pieces, tensor in zip(pieces, tensors, strict=True):
        with placed_on(tensor.device):
            vectors.append(concat(list(tensor_pieces), 0))
    return _like(vectors, tensors)


def _like(vectors: Sequence[Tensor], tensors: Sequence[Tensor]) -> list[Tensor]:
    results = []
    for vector, tensor in zip(vectors, tensors, strict=True):
        with placed_on(tensor.device):
            results.append(reshape(vector, tensor.shape if tensor.shape.is_fully_defined() else shape(tensor)))
    return results


def _scaled(tensor: Tensor, un_op: Unary | None, place: str) -> Tensor:
    if un_op is None:
        return tensor
    with placed_on(place):
        return un_op(tensor)
