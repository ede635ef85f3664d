"""Checkpoint readers outside a graph, and initialization of variables from a checkpoint."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.formats.table_checkpoint import open_checkpoint
from thalweg._src.base.formats.text import PathLike, as_text
from thalweg._src.graph.ops.checkpoint import restore_v2_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.state import latest_checkpoint
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.variable_scope import variable_store
from thalweg._src.training.variables.variables import Variable


class CheckpointReader:
    """The tensors of a checkpoint by name."""

    def __init__(self, prefix: PathLike) -> None:
        self._reader = open_checkpoint(as_text(os.fspath(prefix)).removeprefix("file://"))
        self._lock = threading.Lock()

    def has_tensor(self, tensor_str: str | bytes) -> bool:
        return as_text(tensor_str) in self._reader

    def get_tensor(self, tensor_str: str | bytes) -> Any:
        """Returns the value of a tensor: an array, or a scalar; strings are bytes."""
        with self._lock:
            value = self._reader.read(as_text(tensor_str))
        return value[()] if value.ndim == 0 else value

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(self._reader.entry(name).shape) for name in self._reader.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        return {name: self._reader.entry(name).dtype for name in self._reader.names()}

    def debug_string(self) -> bytes:
        """Returns one line per tensor: name, dtype and shape."""
        entries = [(name, self._reader.entry(name)) for name in sorted(self._reader.names())]
        return "".join(f"{name} (DT_{e.dtype.name.upper()}) {list(e.shape)}\n" for name, e in entries).encode()


@export("train.NewCheckpointReader")
def NewCheckpointReader(filepattern: PathLike) -> CheckpointReader:
    """Returns a reader of the checkpoint with a prefix."""
    return CheckpointReader(filepattern)


@export("train.load_checkpoint", "contrib.framework.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """Returns a reader of a checkpoint, or of the latest one in a folder."""
    return CheckpointReader(prefix_of(ckpt_dir_or_file))


@export("train.load_variable", "contrib.framework.load_variable")
def load_variable(ckpt_dir_or_file: PathLike, name: str) -> Any:
    """Returns the value of a variable in a checkpoint.

    Args:
        name: Name of the variable in the checkpoint.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@export("train.list_variables", "contrib.framework.list_variables")
def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """Returns name and shape of all tensors of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def prefix_of(ckpt_dir_or_file: PathLike) -> str:
    """Returns the prefix of a checkpoint, or of the latest one in a folder."""
    path = os.fspath(ckpt_dir_or_file)
    if not os.path.isdir(path):
        return path
    prefix = latest_checkpoint(path)
    if prefix is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return prefix


# -- variables that start from a checkpoint ---------------------------------------------------------------------------


@export("train.init_from_checkpoint", "contrib.framework.init_from_checkpoint")
def init_from_checkpoint(
    ckpt_dir_or_file: PathLike, assignment_map: Mapping[str, Any] | Iterable[tuple[str, Any]]
) -> None:
    """Initializes variables from a checkpoint."""
    prefix = prefix_of(ckpt_dir_or_file)
    reader = CheckpointReader(prefix)
    shapes = reader.get_variable_to_shape_map()
    pairs = assignment_map.items() if hasattr(assignment_map, "items") else assignment_map
    for source, target in sorted(pairs, key=lambda pair: pair[0]):
        if _is_variable(target) or (isinstance(target, list) and all(map(_is_variable, target))):
            _start_from(prefix, reader, source, target)
        elif not isinstance(target, str):
            raise TypeError(f"assignment_map[{source!r}]: expected a variable or a name, received {target!r}")
        elif not target.endswith("/"):
            if source.endswith("/"):
                raise ValueError(f"assignment_map: {source!r} is a scope, but {target!r} is a variable")
            _start_from(prefix, reader, source, _named(target))
        else:
            _start_scope(prefix, reader, shapes, source, target)


def _is_variable(value: object) -> bool:
    return isinstance(value, Variable | PartitionedVariable)


def _stored() -> tuple[dict[str, Any], dict[str, PartitionedVariable]]:
    store = variable_store()
    return store.variables, store.partitioned


def _named(name: str) -> Any:
    """Returns the variable of a name, or its partitions."""
    variables, partitioned = _stored()
    if name in partitioned:
        return partitioned[name]
    if name not in variables:
        raise ValueError(f"there is no variable {name!r}; the variables are {', '.join(sorted(variables)) or 'none'}")
    return variables[name]


def _start_scope(prefix: str, reader: CheckpointReader, shapes: dict[str, Any], source: str, target: str) -> None:
    """Initializes all variables of a scope from a scope in the checkpoint."""
    scope = "" if target == "/" else target
    start = "" if source == "/" else source
    if source and not source.endswith("/"):
        raise ValueError(f"assignment_map: {target!r} is a scope, but {source!r} is not: expected '{source}/'")
    variables, partitioned = _stored()
    partition_ids = {id(partition) for whole in partitioned.values() for partition in whole}
    chosen = {name: v for name, v in variables.items() if name.startswith(scope) and id(v) not in partition_ids}
    chosen |= {name: v for name, v in partitioned.items() if name.startswith(scope)}
    for name, variable in sorted(chosen.items()):
        full = start + name[len(scope) :]
        if full not in shapes:
            raise ValueError(
                f"Tensor {full} is not found in {prefix} checkpoint, for the variable {name!r}: "
                f"it has {', '.join(sorted(shapes)[:20])}"
            )
        _start_from(prefix, reader, full, variable)


def _start_from(prefix: str, reader: CheckpointReader, source: str, target: Any) -> None:
    shapes = reader.get_variable_to_shape_map()
    if source not in shapes:
        raise ValueError(
            f"Tensor {source} is not found in {prefix} checkpoint: it has {', '.join(sorted(shapes)[:20])}"
        )
    partitions = list(target) if isinstance(target, list | PartitionedVariable) else [target]
    for variable in partitions:
        info = variable._get_save_slice_info() if isinstance(target, list | PartitionedVariable) else None
        whole = list(info.full_shape) if info is not None else variable.get_shape()
        if not variable.get_shape().is_fully_defined() and info is None:
            compatible = variable.get_shape().is_compatible_with(shapes[source])
        else:
            compatible = list(whole if isinstance(whole, list) else whole.as_list()) == shapes[source]
        if not compatible:
            raise ValueError(
                f"the variable {variable.name} has shape {variable.get_shape() if info is None else whole}, "
                f"the tensor {source!r} in the checkpoint {prefix} has shape {shapes[source]}"
            )
        _set_initializer(variable, prefix, source, "" if info is None else info.spec)


def _set_initializer(variable: Any, prefix: str, source: str, spec: str) -> None:
    """Replaces a variable's initial value by a value from a checkpoint."""
    graph = variable.graph
    with graph.as_default(), graph.control_dependencies(None), name_scope(f"{variable.op.name}/checkpoint_initializer"):
        with device(None), device("/cpu:0"):
            value: Tensor = restore_v2_op.many(prefix, [source], [spec], dtypes=[variable.dtype])[0]
        value.set_shape(variable.get_shape())
        with variable._at_handle():
            value = identity(value)
        variable._initializer = variable._restore(value)
    variable._initial_value = value


__all__ = [
    "CheckpointReader",
    "NewCheckpointReader",
    "init_from_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
