"""Kernels of checkpoints."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats import slices
from thalweg._src.base.formats.bundle import BundleWriter, data_files, index_name, merge_bundles
from thalweg._src.base.formats.bundle_reader import BundleReader
from thalweg._src.base.formats.table_checkpoint import open_checkpoint, table_files, write_table_checkpoint
from thalweg._src.graph.consistency import LOCK_DEVICE
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.files import local_path, require_readable
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.state import find_variable
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.checkpoint_writers import writer_for
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.mapped_checkpoints import is_mapped
from thalweg._src.runtime.resources.variables import VariableResource, given_away, locked

Array = np.ndarray[Any, Any]
_TENSORS = dtypes.ALL - {dtypes.resource, dtypes.variant}


def _path(value: Array) -> str:
    return os.fsdecode(local_path(value.item()))


def checkpoint_path(value: Array, device: Device) -> str:
    """Returns the prefix or the pattern of a checkpoint, all files of which may be read."""
    path = _path(value)
    if device.readable_folder:
        require_readable(path, device)  # before others are looked for beside it
        for file in (index_name(path), *(file for file, _ in data_files(path)), *table_files(path)):
            require_readable(file, device)
    return path


def _texts(values: Array) -> list[str]:
    return [value.decode("utf-8", "surrogateescape") for value in values.tolist()]


def _require_tensors(types: tuple[DType, ...]) -> None:
    for dtype in types:
        if dtype not in _TENSORS:
            raise invalid(f"a checkpoint cannot hold values of {dtype.name}")


@kernel("SaveV2", devices=("CPU",))
def bind_save(node: Node, device: Device) -> Callable[..., None]:
    types = tuple(node.attrs["dtypes"])
    _require_tensors(types)
    variables = _variables(node, device) if node.attrs.get("_consistent") else {}

    def save(prefix: Array, names: Array, specs: Array, *tensors: object) -> None:
        path, values = _path(prefix), _one_moment(variables, list(tensors))
        plan = _planned(_texts(names), _texts(specs), types, values)
        writer = writer_for(path)
        if writer is None:
            _write(path, plan, values)
        else:
            writer.put(lambda: _write(path, plan, values, writer.throttle))

    return save


def _variables(node: Node, device: Device) -> dict[int, VariableResource]:
    """Returns the variables of this device that are saved, by position, without those that were read under a lock."""
    variables = {}
    for index, (producer, _) in enumerate(node.inputs[3:]):
        handle = producer.inputs[0][0] if producer.type == "ReadVariableOp" else None
        if handle is not None and handle.type == "VarHandleOp" and LOCK_DEVICE not in handle.attrs:
            variables[index] = find_variable(handle, device)
    return variables


def _one_moment(variables: dict[int, VariableResource], values: list[Any]) -> list[Any]:
    """Returns a consistent snapshot: if another step has changed a variable meanwhile, all are read again."""
    if variables:
        with locked(list(variables.values())):
            for index, variable in variables.items():
                values[index] = values[index] if variable.value is None else variable.value
    return values


_Plan = list[tuple[str, DType, tuple[int, ...], Any]]


def _planned(names: list[str], specs: list[str], types: tuple[DType, ...], values: list[Any]) -> _Plan:
    """Returns name, type, full shape and slice, after all checks that are possible before anything is written."""
    plan: _Plan = []
    for name, spec, dtype, value in zip(names, specs, types, values, strict=True):
        shape, slice_ = tuple(value.shape), None
        if spec:
            try:
                shape, slice_ = slices.parse(spec)
                sizes = [length for _, length in slice_.within(shape)]
            except ValueError as error:
                raise invalid(f"tensor {name!r}: {error}") from None
            if sizes != list(value.shape):
                raise invalid(f"tensor {name!r} has shape {list(value.shape)}, its slice {spec!r} has shape {sizes}")
        plan.append((name, dtype, shape, slice_))
    return plan


def _write(path: str, plan: _Plan, values: list[Any], rest: Callable[[], None] | None = None) -> None:
    with BundleWriter(path, rest) as writer:
        for index, (name, dtype, shape, slice_) in enumerate(plan):
            value, values[index] = values[index], None  # releases each value once it is written
            data = value.ravel().tolist() if dtype is dtypes.string else _bytes(value)
            if slice_ is None:
                writer.add(name, dtype, shape, data)
            else:
                writer.add_slice(name, shape, slice_, dtype, data)
        writer.finish()


def _bytes(value: torch.Tensor) -> Array:
    """Returns a tensor's elements in row-major order, without a copy where they are so on the host."""
    value = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return value.reshape(-1).view(torch.uint8).numpy()


@kernel("Save", "SaveSlices", devices=("CPU",))
def bind_save_in_table(node: Node, device: Device) -> Callable[..., None]:
    types = tuple(node.attrs["T"])
    _require_tensors(types)
    whole = node.type == "Save"

    def save(path: Array, names: Array, *rest: Any) -> None:
        specs, values = ([""] * len(types), rest) if whole else (_texts(rest[0]), rest[1:])
        plan = _planned(_texts(names), specs, types, list(values))
        write_table_checkpoint(
            _path(path),
            (
                (name, dtype, shape, slice_, value.ravel().tolist() if dtype is dtypes.string else _bytes(value))
                for (name, dtype, shape, slice_), value in zip(plan, values)
            ),
        )

    return save


@kernel("RestoreV2", devices=("CPU",))
def bind_restore(node: Node, device: Device) -> Callable[..., Any]:
    types = tuple(node.attrs["dtypes"])
    _require_tensors(types)

    def restore(prefix: Array, names: Array, specs: Array) -> Any:
        path = checkpoint_path(prefix, device)
        with open_checkpoint(path) as reader:
            requests = list(zip(_texts(names), _texts(specs), types, strict=True))
            _require_present(reader, requests)
            result = _restored(reader, requests, is_mapped(path))
        return result[0] if len(result) == 1 else result

    return restore


@kernel("Restore", "RestoreSlice", devices=("CPU",))
def bind_restore_one(node: Node, device: Device) -> Callable[..., Any]:
    dtype = node.attrs["dt"]
    _require_tensors((dtype,))

    def restore(pattern: Array, name: Array, spec: Array | None = None) -> Any:
        requests = [(*_texts(name.reshape(1)), "" if spec is None else _texts(spec.reshape(1))[0], dtype)]
        with open_checkpoint(checkpoint_path(pattern, device)) as reader:
            _require_present(reader, requests)
            return _restored(reader, requests, False)[0]

    return restore


def _require_present(reader: BundleReader, requests: list[tuple[str, str, DType]]) -> None:
    """Checks names and types of all tensors before any is read; one error lists all that are missing."""
    missing = [name for name, _, _ in requests if name not in reader]
    if missing:
        keys = ", ".join(missing)
        raise errors.NotFoundError(None, None, f"Key {keys} not found in checkpoint {reader.prefix}")
    for name, spec, dtype in requests:
        stored_type = reader.entry(name).dtype
        if stored_type is not dtype:
            raise invalid(
                f"tensor {name!r} is {stored_type.name} in the checkpoint {reader.prefix}, {dtype.name} was requested"
            )
        reader.require_room(name, spec)


def _restored(reader: BundleReader, requests: list[tuple[str, str, DType]], maps: bool) -> tuple[Any, ...]:
    result: list[Any] = []
    buffers: list[tuple[str, str, Array]] = []
    for name, spec, dtype in requests:
        if dtype is dtypes.string:
            result.append(reader.strings(name, spec))
            continue
        shape, view = reader.shape(name, spec), reader.mapped(name, spec) if maps else None
        if view is not None:
            result.append(given_away(torch.from_numpy(view).view(TORCH[dtype]).reshape(shape)))
            continue
        value = torch.empty(shape, dtype=TORCH[dtype])
        buffers.append((name, spec, value.reshape(-1).view(torch.uint8).numpy()))
        result.append(value)
    reader.read_all_into(buffers)
    return tuple(result)


@kernel("MergeV2Checkpoints", devices=("CPU",))
def bind_merge(node: Node, device: Device) -> Callable[..., None]:
    may_miss, delete_folders = node.attrs["allow_missing_files"], node.attrs["delete_old_dirs"]

    def merge(prefixes: Array, destination: Array) -> None:
        paths = [os.fsdecode(local_path(prefix)) for prefix in prefixes.tolist()]
        target = _path(destination)

        def work() -> None:
            there = [path for path in paths if not may_miss or os.path.exists(index_name(path))]
            merge_bundles(there, target)
            if delete_folders:
                for folder in {os.path.dirname(path) for path in paths}:
                    with contextlib.suppress(OSError):  # the file may hold something else
                        os.rmdir(folder)

        writer = writer_for(target)
        if writer is None:
            work()
        else:
            writer.put(work)

    return merge


@plain_kernel("ShardedFilename", devices=("CPU",))
def _filename(basename: Array, shard: torch.Tensor, count: torch.Tensor) -> Array:
    return np.array(b"%s-%05d-of-%05d" % (basename.item(), int(shard), int(count)), dtype=object)


@plain_kernel("ShardedFilespec", devices=("CPU",))
def _filespec(basename: Array, count: torch.Tensor) -> Array:
    return np.array(b"%s-?????-of-%05d" % (basename.item(), int(count)), dtype=object)


plain_kernel("DisableCopyOnRead")(lambda resource: None)
