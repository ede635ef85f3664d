"""Partitioners: functions from shape and dtype to the number of partitions of a variable along each axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.partitions import Partitioner
from thalweg._src.training.variables.variable_scope import ReuseMode, variable_scope, variable_store


def _element_bytes(dtype: DTypeLike, bytes_per_string_element: int) -> int:
    dtype = dtypes.as_dtype(dtype).base_dtype
    return bytes_per_string_element if dtype is dtypes.string else dtype.size


@export("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Returns a partitioner with a fixed number of partitions along an axis, at most one per element.

    Args:
        num_shards: Number of parts.
        axis: The axis to split.
    """

    def partitioner(shape: TensorShape, **_: Any) -> list[int]:
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, shape.as_list()[axis] or 1)
        return partitions

    return partitioner


@export("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Returns a partitioner that limits partitions to `max_shard_bytes`, as far as one axis and `max_shards` allow.

    Args:
        max_shard_bytes: Largest size of a part in bytes.
        axis: The axis to split.
        max_shards: Largest number of parts; None sets no limit.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            f"expected positive numbers of bytes, received max_shard_bytes={max_shard_bytes} and "
            f"bytes_per_string_element={bytes_per_string_element}"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}")

    def partitioner(shape: TensorShape, dtype: DTypeLike) -> list[int]:
        if not isinstance(shape, TensorShape):
            raise ValueError(f"shape is not a TensorShape: {shape}")
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        partitions = [1] * len(shape)
        sizes = [size or 0 for size in shape.as_list()]
        row_bytes = math.prod(sizes) / max(sizes[axis], 1) * _element_bytes(dtype, bytes_per_string_element)
        rows = max(1, math.floor(max_shard_bytes / max(row_bytes, 1)))
        count = math.ceil(sizes[axis] / rows)
        partitions[axis] = max(1, min(count, max_shards or count))
        return partitions

    return partitioner


@export("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """Returns a partitioner with at most `max_partitions` partitions of at least `min_slice_size` bytes.

    Args:
        max_partitions: Largest number of parts.
        axis: The axis to split.
        min_slice_size: Smallest size of a part in bytes.
    """

    def partitioner(shape: TensorShape, dtype: DTypeLike) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {shape}")
        sizes = [size or 0 for size in shape.as_list()]
        total = math.prod(sizes) * _element_bytes(dtype, bytes_per_string_element)
        partitions = [1] * len(sizes)
        partitions[axis] = max(1, min(sizes[axis], max_partitions, math.ceil(total / min_slice_size)))
        return partitions

    return partitioner


@export("create_partitioned_variables")
def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: TensorLike | Callable[..., Any],
    dtype: DTypeLike = dtypes.float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
) -> list[Any]:
    """Returns the partitions of a new variable; `slicing` is their number along each axis.

    Args:
        shape: Shape of the whole variable.
        slicing: Number of parts along each axis; at most one number may differ from 1.
        initializer: Function or value that gives the initial value.
        dtype: Element type of the variable.
        collections: Collections that the parts are added to.
        name: Name of the variable.
    """
    if len(shape) != len(slicing):
        raise ValueError(f"shape and slicing must have the same length: shape: {shape}, slicing: {slicing}")
    if len(shape) < 1:
        raise ValueError(f"a scalar cannot be partitioned: expected a shape of rank 1 or more, received {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope, name_scope(None):
        if scope.custom_getter is not None:
            raise ValueError(
                "create_partitioned_variables cannot be used where a custom getter is set; "
                "use get_variable with a partitioner instead."
            )
        partitions = variable_store().get(
            scope.name,
            shape=shape,
            dtype=dtype,
            initializer=scope.initializer if initializer is None else initializer,
            regularizer=scope.regularizer,
            reuse=scope.reuse,
            trainable=trainable,
            collections=collections,
            caching_device=scope.caching_device,
            partitioner=lambda **_: list(slicing),
            constraint=scope.constraint,
        )
        return list(partitions)
