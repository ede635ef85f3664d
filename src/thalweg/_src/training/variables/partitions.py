"""Partitioned variables: how a variable is split along one axis, and its partitions as one object."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor, register_tensor_conversion_function
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Partitioner = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """Position of a partition in the whole variable, for initializers that depend on the whole."""

    full_shape: list[int]
    var_offset: list[int]

    def single_offset(self, shape: Sequence[int]) -> int:
        """Returns the offset of a partition of this shape along the partitioned axis."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Returns the one axis along which a partition of this shape is smaller than the whole."""
        if len(shape) != len(self.full_shape):
            raise ValueError(f"Expected equal length, but got shape={shape} and full_shape={self.full_shape}")
        if any(o + size > full for o, size, full in zip(self.var_offset, shape, self.full_shape)):
            raise ValueError(f"a part of shape {shape} at {self.var_offset} exceeds the whole, {self.full_shape}")
        axes = [axis for axis, (size, full) in enumerate(zip(shape, self.full_shape)) if size != full]
        if len(axes) > 1:
            raise ValueError(f"a part of shape {shape} of {self.full_shape} is partitioned along several axes")
        return axes[0] if axes else None


class SaveSliceInfo:
    """The slice of a whole variable as which a checkpoint stores a partition."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
    ) -> None:
        self.full_name = full_name
        self.full_shape = list(full_shape or ())
        self.var_offset = list(var_offset or ())
        self.var_shape = list(var_shape or ())

    @property
    def spec(self) -> str:
        """The slice as written in checkpoints: the full sizes, then offset and size along each axis."""
        sizes = " ".join(str(size) for size in self.full_shape)
        return f"{sizes} {':'.join(f'{o},{s}' for o, s in zip(self.var_offset, self.var_shape))}"


class PartitionedVariable:
    """The partitions of a variable in the order of their offsets; as a tensor, their concatenation."""

    __array_priority__ = 100

    def __init__(
        self, name: str, shape: ShapeLike, dtype: DType, variable_list: Sequence[Any], partitions: Sequence[int]
    ) -> None:
        if not isinstance(variable_list, list | tuple):
            raise TypeError(f"variable_list: expected a list or a tuple, received {variable_list}")
        if not isinstance(partitions, list | tuple):
            raise TypeError(f"partitions: expected a list or a tuple, received {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        sizes = list(as_shape(shape) or ())
        if len(sizes) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {sizes} vs. {partitions}")
        slices = [variable._get_save_slice_info() for variable in variable_list]
        if None in slices:
            raise ValueError(f"a partition has no save_slice_info, among {[v.name for v in variable_list]}")
        if any(slice_.full_shape != sizes for slice_ in slices):
            raise ValueError(
                f"expected parts of a variable of shape {sizes}, received parts of "
                f"{[slice_.full_shape for slice_ in slices]}"
            )
        self._name = name
        self._shape = TensorShape(sizes)
        self._dtype = dtype
        self._partitions = list(partitions)
        self._variable_list = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    @property
    def graph(self) -> Any:
        return self._variable_list[0].graph

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise ValueError(f"Cannot get a length for {len(axes)} > 1 partition axes")
        return len(self._variable_list)

    def __repr__(self) -> str:
        return f"<tf.PartitionedVariable '{self.name}' shape={self.shape} partitions={self._partitions}>"

    def _partition_axes(self) -> list[int]:
        return [axis for axis, count in enumerate(self._partitions) if count > 1] or [0]

    def _partition_axis(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"a variable partitioned along several axes, {axes}, cannot be concatenated or assigned"
            )
        return axes[0]

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def as_tensor(self) -> Tensor:
        """Returns the whole value, read without the current control dependencies."""
        with control_dependencies(None):
            return self._concat()

    def _concat(self) -> Tensor:
        if len(self._variable_list) == 1:
            whole = self._variable_list[0].value()
        else:
            axis = self._partition_axis()
            with name_scope(f"{self._name}/ConcatPartitions/"):
                whole = concat(self._variable_list, axis)
        with name_scope(None):
            return identity(whole, name=self._name)

    def _assign(
        self,
        method: str,
        value: TensorLike | Sequence[TensorLike] | PartitionedVariable,
        name: str | None,
        read_value: bool,
    ) -> list[Any]:
        """Assigns to each partition its own slice; a list holds one value per partition."""
        axis = self._partition_axis()
        if isinstance(value, list | PartitionedVariable):
            values = list(value)
            if len(values) != len(self._variable_list):
                raise ValueError(f"{len(values)} values for the {len(self._variable_list)} partitions of {self._name}")
        else:
            whole = convert_to_tensor(value, self._dtype)
            values = split(whole, [variable.shape[axis].value for variable in self._variable_list], axis)
        return [
            getattr(variable, method)(slice_, name=name, read_value=read_value)
            for variable, slice_ in zip(self._variable_list, values)
        ]

    def assign(
        self,
        value: TensorLike | Sequence[TensorLike] | PartitionedVariable,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Assigns a whole value; returns the results of the partitions' assign."""
        return self._assign("assign", value, name, read_value)

    def assign_add(
        self,
        value: TensorLike | Sequence[TensorLike] | PartitionedVariable,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        return self._assign("assign_add", value, name, read_value)

    def assign_sub(
        self,
        value: TensorLike | Sequence[TensorLike] | PartitionedVariable,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        return self._assign("assign_sub", value, name, read_value)


def _convert_partitioned(
    value: PartitionedVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        types = f"to type '{dtype.name}' for variable of type '{value.dtype.name}'"
        raise ValueError(f"Incompatible type conversion requested {types}; use tf.cast")
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _convert_partitioned, 50)


def partitions_of(partitioner: Partitioner, shape: TensorShape, dtype: DType) -> list[int]:
    """Returns the number of partitions along each axis, of which at most one may be partitioned."""
    if not shape.is_fully_defined():
        raise ValueError(f"a partitioned variable needs a fully defined shape, received {shape}")
    if shape.ndims is None or shape.ndims < 1:
        raise ValueError(f"a scalar cannot be partitioned: expected a shape of rank 1 or more, received {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, Sequence):
        raise ValueError(f"the partitioner returned {partitions}, expected a sequence of numbers of partitions")
    if len(partitions) != shape.ndims:
        raise ValueError(f"the partitioner returned {partitions} for a variable of rank {shape.ndims}: {shape}")
    if any(count < 1 for count in partitions):
        raise ValueError(f"the partitioner returned {partitions}: each axis needs one partition or more")
    if sum(count > 1 for count in partitions) > 1:
        raise ValueError(
            f"the partitioner returned {partitions} for shape {shape}: only one axis may have several partitions"
        )
    return [int(count) for count in partitions]


def slices_of(sizes: Sequence[int], partitions: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yields offset and shape of each partition; if they cannot be equal, the first ones are longer by one."""
    axis = next((axis for axis, count in enumerate(partitions) if count > 1), 0)
    count = math.prod(partitions)
    if sizes[axis] < count:
        raise ValueError(f"Cannot slice axis {axis} of size {sizes[axis]} into {count} parts: shape {list(sizes)}")
    offset = 0
    for index in range(count):
        size = sizes[axis] // count + (index < sizes[axis] % count)
        yield [0] * axis + [offset] + [0] * (len(sizes) - axis - 1), [*sizes[:axis], size, *sizes[axis + 1 :]]
        offset += size
