"""Variables that take their values from a checkpoint, in the ways of contrib.framework and contrib.slim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.control import group
from thalweg._src.training.checkpoint.reader import load_checkpoint, prefix_of
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint.saver_builder import grouped_by_name
from thalweg._src.training.variables.partitions import PartitionedVariable

Array = np.ndarray[Any, Any]


@export("contrib.framework.assign_from_checkpoint", "contrib.slim.assign_from_checkpoint")
def assign_from_checkpoint(
    model_path: PathLike, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """Returns an operation that assigns values from a checkpoint to variables, and its feeds."""
    reader = load_checkpoint(model_path)
    assigns, feeds = [], {}
    for name, variable in (var_list if isinstance(var_list, dict) else grouped_by_name(var_list)).items():
        if not reader.has_tensor(name):
            if ignore_missing_vars:
                continue
            raise ValueError(f"the checkpoint {model_path} has no tensor {name!r}")
        value = np.asarray(reader.get_tensor(name))
        for partition in list(variable) if isinstance(variable, list | PartitionedVariable) else [variable]:
            mine = _partition_of(value, partition, isinstance(variable, list | PartitionedVariable))
            if not partition.get_shape().is_compatible_with(mine.shape):
                raise ValueError(
                    f"the variable {partition.name} has shape {partition.get_shape()}, "
                    f"the tensor {name!r} in the checkpoint has shape {list(mine.shape)}"
                )
            fed = placeholder(partition.dtype, mine.shape)
            assigns.append(partition.assign(fed))
            feeds[fed] = mine
    return group(*assigns), feeds


def _partition_of(value: Array, partition: Any, is_partitioned: bool) -> Array:
    info = partition._get_save_slice_info() if is_partitioned else None
    if info is None:
        return value
    return value[tuple(slice(o, o + n) for o, n in zip(info.var_offset, info.var_shape))]


@export("contrib.framework.assign_from_checkpoint_fn", "contrib.slim.assign_from_checkpoint_fn")
def assign_from_checkpoint_fn(
    model_path: PathLike, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """Returns a function of a session that restores variables; None if none of them is in the checkpoint."""
    chosen = dict(var_list) if isinstance(var_list, dict) else grouped_by_name(var_list)
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        chosen = {name: variable for name, variable in chosen.items() if reader.has_tensor(name)}
    if not chosen:
        return None
    saver = Saver(chosen, reshape=reshape_variables, write_version=2)

    def assigned(session: object) -> None:
        saver.restore(session, prefix_of(model_path))

    return assigned
