"""tf.contrib.memory_stats: memory of the device that runs the operation."""

from __future__ import annotations

from thalweg._src.base.export import export
from thalweg._src.graph.ops.memory_stats import memory_statistic_op
from thalweg._src.graph.tensor import Tensor


@export("contrib.memory_stats.BytesInUse")
def BytesInUse(name: str | None = None) -> Tensor:
    """Returns the bytes in use on the device: those of the allocator, or on a CPU those of the process."""
    return memory_statistic_op(statistic="in use", name=name or "BytesInUse")


@export("contrib.memory_stats.BytesLimit")
def BytesLimit(name: str | None = None) -> Tensor:
    """Returns the bytes that are there to be used on the device."""
    return memory_statistic_op(statistic="limit", name=name or "BytesLimit")


@export("contrib.memory_stats.MaxBytesInUse")
def MaxBytesInUse(name: str | None = None) -> Tensor:
    """Returns the largest number of bytes that were in use on the device so far."""
    return memory_statistic_op(statistic="peak", name=name or "MaxBytesInUse")
