"""Kernels of vocabulary remapping: reorders saved matrices for new vocabularies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.table_checkpoint import open_checkpoint
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.checkpoint import checkpoint_path
from thalweg._src.runtime.kernels.files import read_whole
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]


def _lines(name: Array, device: Device) -> list[bytes]:
    return read_whole(name.item(), device).splitlines()


@kernel("GenerateVocabRemapping", devices=("CPU",))
def bind_vocab_remapping(node: Node, device: Device) -> Callable[..., Any]:
    start, count = node.attrs["new_vocab_offset"], node.attrs["num_new_vocab"]
    most = node.attrs["old_vocab_size"]

    def remapping(new_file: Array, old_file: Array) -> Any:
        new, old = _lines(new_file, device), _lines(old_file, device)
        if start + count > len(new):
            raise invalid(f"the new vocabulary has {len(new)} entries, {start} to {start + count} were requested")
        if most > len(old):
            raise invalid(f"the old vocabulary has {len(old)} entries, {most} were requested")
        positions = {entry: position for position, entry in enumerate(old[: most if most >= 0 else None])}
        old_positions = [positions.get(entry, -1) for entry in new[start : start + count]]
        present = sum(position >= 0 for position in old_positions)
        return torch.tensor(old_positions, dtype=torch.int64), torch.tensor(present, dtype=torch.int32)

    return remapping


@kernel("LoadAndRemapMatrix", devices=("CPU",))
def bind_load_and_remap(node: Node, device: Device) -> Callable[..., Any]:
    rows, columns = node.attrs["num_rows"], node.attrs["num_cols"]

    def load(path: Array, name: Array, row_map: torch.Tensor, column_map: torch.Tensor, values: torch.Tensor) -> Any:
        old = _matrix(checkpoint_path(path, device), name, columns, bool(len(column_map)))
        chosen_rows = _positions(row_map, old.shape[0], "row_remapping")
        chosen_columns = (
            _positions(column_map, old.shape[1], "col_remapping") if len(column_map) else np.arange(columns)
        )
        is_remapped = np.outer(chosen_rows >= 0, chosen_columns >= 0)
        num_missing = rows * columns - int(is_remapped.sum())
        if len(values) != num_missing:
            raise invalid(f"initializing_values has {len(values)} values, but {num_missing} elements need one")
        result = np.empty((rows, columns), np.float32)
        result[is_remapped] = old[np.ix_(chosen_rows[chosen_rows >= 0], chosen_columns[chosen_columns >= 0])].ravel()
        result[~is_remapped] = values.numpy()
        return torch.from_numpy(result)

    return load


def _matrix(path: str, name: Array, columns: int, remapped: bool) -> Array:
    with open_checkpoint(path) as reader:
        key = name.item().decode("utf-8", "surrogateescape")
        entry = reader.entry(key)
        if len(entry.shape) != 2 or entry.dtype is not dtypes.float32:
            raise invalid(f"tensor {key!r} is {entry.dtype.name}{list(entry.shape)}, expected a float32 matrix")
        if not remapped and entry.shape[1] != columns:
            raise invalid(f"tensor {key!r} has {entry.shape[1]} columns, but {columns} are requested without remapping")
        return reader.read(key)


def _positions(mapping: torch.Tensor, size: int, what: str) -> Array:
    positions: Array = mapping.numpy()
    there = positions[positions >= 0]
    if len(np.unique(there)) != len(there):
        raise invalid(f"{what} maps two entries to one position")
    if len(there) and int(there.max()) >= size:
        raise invalid(f"{what} contains position {int(there.max())}, but the old tensor has {size}")
    return np.maximum(positions, -1)
