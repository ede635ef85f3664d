"""The graph of a Saver: the names of saved tensors, and the operations that save and restore them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.checkpoint import merge_v2_checkpoints_op, restore_v2_op, save_v2_op, sharded_filename_op
from thalweg._src.graph.ops.constants import constant, placeholder_with_default
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import reshape as reshape_op
from thalweg._src.graph.ops.strings import string_join
from thalweg._src.graph.scopes import control_dependencies, device, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.variables import Variable


class SaveSpec:
    """One tensor of a checkpoint: its value, its slice of a larger tensor, and its name."""

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: DTypeLike | None = None, device: str | None = None
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if dtype is None and callable(tensor):
            raise ValueError(f"the tensor {name!r} is given by a function: pass its dtype")
        self.dtype: DType = tensor.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype)
        self.device = device if device is not None else getattr(tensor, "device", "")

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """An object that is saved as one or more tensors and restored from them; subclasses define `restore`."""

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str:
        return self.specs[0].device or ""

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        """Returns an operation that assigns the restored values."""
        raise ValueError(f"{type(self).__name__} cannot be restored: define restore()")


class VariableSaveable(SaveableObject):
    """A variable, or a slice of a partitioned one, under a name."""

    def __init__(self, variable: Variable, slice_spec: str, name: str) -> None:
        read, dtype = variable._value_to_save, variable.dtype.base_dtype
        super().__init__(variable, [SaveSpec(read, slice_spec, name, dtype, variable.device)], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape_op(value, restored_shapes[0])
        return self.op._restore(value)  # type: ignore[no-any-return]


class _TensorSaveable(SaveableObject):
    """A plain tensor, which can only be saved."""

    def __init__(self, tensor: Tensor, name: str) -> None:
        super().__init__(tensor, [SaveSpec(tensor, "", name)], name)


# -- names ------------------------------------------------------------------------------------------------------------


def grouped_by_name(op_list: Iterable[Any]) -> dict[str, Any]:
    """Returns variables and saveable objects by their names in a checkpoint, partitions of a variable together."""
    if not isinstance(op_list, list | tuple | set):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    named: dict[str, Any] = {}
    for item in sorted(op_list, key=lambda item: item.name):
        info = item._get_save_slice_info() if isinstance(item, Variable) else None
        if info is not None:
            partitions = named.setdefault(info.full_name, [])
            if not isinstance(partitions, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            partitions.append(item)
            continue
        name = _name_of(item)
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = item
    return named


def _name_of(item: object) -> str:
    if isinstance(item, SaveableObject | PartitionedVariable):
        return item.name
    if isinstance(item, Variable):
        return item._shared_name
    if isinstance(item, Tensor) and item.op.type in ("Variable", "VariableV2"):
        return item.op.name
    raise TypeError(
        f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: {item}"
    )


def saveables_for(var_list: Any) -> list[SaveableObject]:
    """Returns the saveables sorted by name; a variable may occur only once."""
    named = var_list if isinstance(var_list, dict) else grouped_by_name(var_list)
    result: list[SaveableObject] = []
    seen: dict[int, str] = {}
    for name, item in sorted(named.items()):
        if not isinstance(name, str):
            raise TypeError(f"names_to_saveables must be a dict mapping string names to variables, received {name!r}")
        for saveable in _saveables(name, item):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {name}, {seen[id(saveable.op)]}")
            seen[id(saveable.op)] = name
            result.append(saveable)
    return result


def _saveables(name: str, item: object) -> Iterator[SaveableObject]:
    if isinstance(item, SaveableObject):
        yield item
    elif isinstance(item, Variable):
        yield VariableSaveable(item, "", name)
    elif isinstance(item, list | tuple | PartitionedVariable):
        partitions = list(item)
        infos: list[Any] = [
            partition._get_save_slice_info() if isinstance(partition, Variable) else None for partition in partitions
        ]
        if None in infos:
            raise ValueError(f"Slices must all be slices: {partitions}")
        if len({info.full_name for info in infos}) > 1:
            raise ValueError(f"Slices must all be from the same tensor: {sorted({i.full_name for i in infos})}")
        yield from (VariableSaveable(partition, info.spec, name) for partition, info in zip(partitions, infos))
    elif isinstance(item, Tensor):
        yield _TensorSaveable(item, name)
    else:
        raise TypeError(f"names_to_saveables[{name!r}]: expected a variable, received {item!r}")


# -- operations -------------------------------------------------------------------------------------------------------


# A checkpoint is an index, which maps names to slices of tensors, and data files, one per shard. The partitions of a
# variable are saved under the name of the whole, each with its slice specification: a restore reads any slice of the
# whole, whatever the partitions were when it was saved. With `sharded` each task writes its own variables next to it
# under a temporary prefix; the merge, which depends on all writes, moves the files and writes the index last. A prefix
# without an index is no checkpoint, so that an interrupted save leaves the previous one as it was.
@dataclass(frozen=True, slots=True)
class SaverNames:
    """The names of a graph's save and restore tensors."""

    filename: str
    save: str
    restore: str


class SaverBuilder:
    """Adds the operations of a Saver to the default graph; subclasses may save and restore differently."""

    def build(
        self,
        var_list: Any,
        *,
        reshape: bool = False,
        sharded: bool = False,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str = "model",
    ) -> SaverNames:
        """Adds the operations and returns their names."""
        saveables = saveables_for(var_list)
        tensors = [item.op if not isinstance(item, VariableSaveable) else item.op._handle for item in saveables]
        values = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
        with name_scope(name, "save", values), get_default_graph().control_dependencies(None):
            filename_tensor = placeholder_with_default(
                constant(filename, name="filename/input"), shape=(), name="filename"
            )
            prefix = placeholder_with_default(filename_tensor, shape=(), name="Const")
            if sharded:
                per_device = _by_device(saveables)
                save = self._add_sharded_save(prefix, per_device)
                restore = self._add_sharded_restore(prefix, per_device, restore_sequentially, reshape)
            else:
                save = self._add_save(prefix, saveables)
                restored = self._restored(prefix, saveables)
                restore = _add_assigns(restored, saveables, restore_sequentially, reshape, "restore_all")
        return SaverNames(prefix.name, save.name, restore.name)

    def save_now(self, saveables: Sequence[SaveableObject], prefix: str) -> None:
        """Writes a checkpoint at once, in eager execution."""
        with init_scope(), device("/cpu:0"):
            self.save_op(constant(prefix), saveables)

    def restore_now(self, saveables: Sequence[SaveableObject], prefix: str, reshape: bool = False) -> None:
        """Restores from a checkpoint at once, in eager execution."""
        with init_scope():
            with device("/cpu:0"):
                restored = self._restored(constant(prefix), saveables)
            _add_assigns(restored, saveables, False, reshape, "restore_all")

    def save_op(self, filename_tensor: Tensor, saveables: Sequence[SaveableObject]) -> Operation:
        """Returns an operation that writes all saveables to one checkpoint."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        values = [convert_to_tensor(spec.tensor) for spec in specs]
        # Values are read only for the save, so that all of them can be taken at one moment.
        with get_default_graph()._attr_scope({"_consistent": True}):
            return save_v2_op.operation(
                filename_tensor, [spec.name for spec in specs], [spec.slice_spec for spec in specs], values
            )

    def restore_op(self, filename_tensor: Tensor, specs: Sequence[SaveSpec]) -> list[Tensor]:
        """Returns the tensors of a checkpoint."""
        names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
        types = [spec.dtype.base_dtype for spec in specs]
        return list(restore_v2_op.many(filename_tensor, names, slices, dtypes=types))

    def _add_save(self, prefix: Tensor, saveables: Sequence[SaveableObject]) -> Tensor:
        write = self.save_op(prefix, saveables)
        with control_dependencies([write]):
            return identity(prefix, name="control_dependency")

    def _add_sharded_save(self, prefix: Tensor, per_device: Sequence[tuple[str, list[SaveableObject]]]) -> Tensor:
        """Writes one shard per device, then merges them into one checkpoint."""
        # The name is drawn once per graph, as in TensorFlow: two saves of one graph to one prefix must not overlap.
        unfinished = string_join([prefix, f"_temp_{uuid.uuid4().hex}/part"])
        count = constant(len(per_device), dtypes.int32, name="num_shards")
        prefixes, writes = [], []
        for shard, (place, saveables) in enumerate(per_device):
            with device(place):
                name = sharded_filename_op(unfinished, shard, count)
                prefixes.append(name)
                writes.append(self._add_save(name, saveables).op)
        with device(per_device[-1][0]), control_dependencies(writes):
            merge = merge_v2_checkpoints_op.operation(prefixes, prefix, delete_old_dirs=True)
            with control_dependencies([merge]):
                return identity(prefix)

    def _add_sharded_restore(
        self,
        prefix: Tensor,
        per_device: Sequence[tuple[str, list[SaveableObject]]],
        sequentially: bool,
        reshape: bool,
    ) -> Operation:
        """Reads on each device, and assigns after all have read: a corrupt shard leaves all variables unchanged."""
        restored = []
        for place, saveables in per_device:
            with device(place):
                restored.append(self._restored(prefix, saveables))
        with control_dependencies([tensors[0].op for tensors in restored]):
            groups = [
                _add_assigns(tensors, saveables, sequentially, reshape, "restore_shard")
                for tensors, (_, saveables) in zip(restored, per_device)
            ]
        return group(*groups, name="restore_all")

    def _restored(self, prefix: Tensor, saveables: Sequence[SaveableObject]) -> list[Tensor]:
        return self.restore_op(prefix, [spec for saveable in saveables for spec in saveable.specs])


def _add_assigns(
    restored: Sequence[Tensor], saveables: Sequence[SaveableObject], sequentially: bool, reshape: bool, name: str
) -> Operation:
    tensors = iter(restored)
    assigns: list[Any] = []
    of_variables: list[Any] = []
    for saveable, mine in sorted(
        ((saveable, [next(tensors) for _ in saveable.specs]) for saveable in saveables),
        key=lambda item: not isinstance(item[0], VariableSaveable),
    ):
        # An object may restore a variable that is saved by itself too: the object's value is the last one.
        before = assigns[-1:] if sequentially else [] if isinstance(saveable, VariableSaveable) else of_variables
        with control_dependencies(before) if before else contextlib.nullcontext():
            assigns.append(saveable.restore(mine, _static_shapes(saveable) if reshape else None))
        if isinstance(saveable, VariableSaveable):
            of_variables.append(assigns[-1])
    return group(*assigns, name=name)


def _static_shapes(saveable: SaveableObject) -> list[Any] | None:
    if not isinstance(saveable, VariableSaveable):
        return None
    shape = saveable.op.get_shape()
    return [shape.as_list()] if shapes.is_fully_defined(shapes.as_shape(shape)) else None


def _by_device(saveables: Sequence[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    """Returns the saveables of each task, under the name of its CPU."""
    groups: dict[str, list[SaveableObject]] = {}
    for saveable in saveables:
        spec = DeviceSpec.from_string(saveable.device or "")
        place = DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task, device_type="CPU", device_index=0)
        groups.setdefault(place.to_string(), []).append(saveable)
    return sorted(groups.items())
