"""Cardinality: the number of elements of a dataset, as far as it is known without producing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg._src.base.export import export_constants
from thalweg._src.training.data import batches, buffers, flow, random_sources
from thalweg._src.training.data.file_cache import CachedInFile
from thalweg._src.training.data.iteration import (
    CARDINALITIES,
    INFINITE,
    UNKNOWN,
    BoundDataset,
    Cardinality,
    InMemory,
    Unordered,
)

INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = INFINITE, UNKNOWN


def _finite(rule: Callable[[BoundDataset, int], int]) -> Cardinality:
    """Returns a rule for a dataset with one input that only changes a known, finite number."""
    return lambda dataset, counts: counts[0] if counts[0] < 0 else rule(dataset, counts[0])


def _same(dataset: BoundDataset, counts: list[int]) -> int:
    return counts[0]


def _slices(dataset: BoundDataset, counts: list[int]) -> int:
    elements = dataset.elements()
    return int(elements._count) if isinstance(elements, flow.Slices) else UNKNOWN


def _range(dataset: BoundDataset, counts: list[int]) -> int:
    start, stop, step = (dataset.integer(i, name) for i, name in enumerate(("start", "stop", "step")))
    return max(0, -((start - stop) // step)) if step else UNKNOWN


def _taken(dataset: BoundDataset, counts: list[int]) -> int:
    most, count = dataset.integer(0, "count"), counts[0]
    if count == UNKNOWN or most < 0:
        return count
    return most if count == INFINITE else min(count, most)


def _skipped(dataset: BoundDataset, count: int) -> int:
    skipped = dataset.integer(0, "count")
    return 0 if skipped < 0 else max(0, count - skipped)


def _repeated(dataset: BoundDataset, counts: list[int]) -> int:
    times, count = dataset.integer(0, "count"), counts[0]
    if times < 0:
        return 0 if count == 0 else INFINITE
    return 0 if times == 0 else count if count < 0 else count * times


def _shard(dataset: BoundDataset, count: int) -> int:
    shards, index = dataset.integer(0, "num_shards", 1), dataset.integer(1, "index", 0)
    return count // shards + (index < count % shards)


def _batched(dataset: BoundDataset, count: int) -> int:
    size = dataset.integer(0, "batch_size", 1)
    return count // size if _drops(dataset, 1) else -(-count // size)


def _sparse_batched(dataset: BoundDataset, count: int) -> int:
    return -(-count // dataset.integer(0, "batch_size", 1))


def _drops(dataset: BoundDataset, index: int) -> bool:
    return bool(dataset.values[index])


def _windowed(dataset: BoundDataset, count: int) -> int:
    size, shift, stride = (dataset.integer(i, name, 1) for i, name in enumerate(("size", "shift", "stride")))
    if not _drops(dataset, 3):
        return -(-count // shift)
    rest = count - ((size - 1) * stride + 1)
    return 0 if rest < 0 else rest // shift + 1


def _least(counts: Sequence[int]) -> int:
    if UNKNOWN in counts:
        return UNKNOWN
    finite_counts = [count for count in counts if count != INFINITE]
    return min(finite_counts) if finite_counts else INFINITE


def _total(counts: Sequence[int]) -> int:
    if INFINITE in counts:
        return INFINITE
    return UNKNOWN if UNKNOWN in counts else sum(counts)


# A function of a map may end its dataset early, so that TensorFlow 1 does not tell how many elements a map gives.
CARDINALITIES.update(
    {
        InMemory: lambda dataset, counts: len(dataset.memory),
        flow.Single: lambda dataset, counts: 1,
        flow.Slices: _slices,
        flow.Range: _range,
        flow.Scanned: _same,
        flow.Taken: _taken,
        flow.Skipped: _finite(_skipped),
        flow.Repeated: _repeated,
        flow.Shard: _finite(_shard),
        flow.Zipped: lambda dataset, counts: _least(counts),
        flow.Concatenated: lambda dataset, counts: _total(counts),
        flow.Reduced: lambda dataset, counts: 1,
        buffers.Cached: _same,
        buffers.Prefetched: _same,
        CachedInFile: _same,
        Unordered: _same,
        random_sources.Shuffled: _same,
        random_sources.Numbers: lambda dataset, counts: INFINITE,
        batches.Batched: _finite(_batched),
        batches.PaddedBatched: _finite(_batched),
        batches.SparseBatched: _finite(_sparse_batched),
        batches.Windowed: _finite(_windowed),
    }
)

export_constants(
    INFINITE_CARDINALITY="data.experimental.INFINITE_CARDINALITY",
    UNKNOWN_CARDINALITY="data.experimental.UNKNOWN_CARDINALITY",
)
