"""Kernels of staging areas; values stay on the device where they were staged until they are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.kernels.waiting import failure, shared, storable
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.staging import MapStagingArea, StagingArea
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]


def _to_device(values: Sequence[Any], device: Device) -> list[Any]:
    """Moves values to the device of the consumer, which is mostly where they are."""
    with device.current():
        moved = [value.to(device.torch) if isinstance(value, torch.Tensor) else value for value in values]
    for value in moved if device.stream is not None else ():
        value.record_stream(device.stream)
    return moved


def _storable(values: Sequence[Any], device: Device) -> tuple[Any, ...]:
    """Returns values that may outlive the step, and that may be taken on another stream."""
    if device.stream is None:
        return tuple(map(storable, values))
    copies = tuple([value.clone() for value in values])
    device.synchronize()
    return copies


def _find(node: Node, device: Device) -> StagingArea:
    attrs = node.attrs
    return shared(  # type: ignore[no-any-return]
        node, device, "staging", lambda name: StagingArea(name, attrs["capacity"], attrs["memory_limit"])
    )


@kernel("Stage")
def bind_stage(node: Node, device: Device) -> Function:
    area, fail = _find(node, device), failure(node, device)

    def stage(step: Step, finish: Function, *values: object) -> None:
        area.put(_storable(values, device), step, finish, fail)

    return stage


@kernel("Unstage", "StagePeek")
def bind_unstage(node: Node, device: Device) -> Function:
    area, fail = _find(node, device), failure(node, device)
    types = node.attrs["dtypes"]

    def unstage(step: Step, finish: Function, *index: torch.Tensor) -> None:
        def hand_over(*values: object) -> None:
            if not _have_types(values, types):
                names = ", ".join(dtype.name for dtype in types)
                fail(step, invalid(f"staging area {area.name!r} holds values of types other than {names}"))
            else:
                finish(*_to_device(values, device))

        if index:
            area.peek(_number(index[0], "index"), step, hand_over, fail)
        else:
            area.take(step, hand_over, fail)

    return unstage


def _have_types(values: Sequence[Any], types: Sequence[DType]) -> bool:
    return len(values) == len(types) and all(
        isinstance(value, torch.Tensor) and value.dtype == TORCH.get(dtype)
        if dtype is not dtypes.string
        else not isinstance(value, torch.Tensor)
        for value, dtype in zip(values, types)
    )


def _number(value: torch.Tensor, name: str) -> int:
    if value.ndim:
        raise invalid(f"{name} has shape {show(tuple(value.shape))}, expected a scalar")
    number = int(value)
    if name == "index" and number < 0:
        raise invalid(f"index is {number}, expected at least 0")
    return number


def _numbers(value: torch.Tensor) -> list[int]:
    if value.ndim != 1:
        raise invalid(f"indices has shape {show(tuple(value.shape))}, expected a vector")
    return value.tolist()


@kernel("StageSize")
def bind_size(node: Node, device: Device) -> Function:
    area = _find(node, device)
    return lambda: torch.tensor(area.size(), dtype=torch.int32)


@kernel("StageClear")
def bind_clear(node: Node, device: Device) -> Function:
    return _find(node, device).clear


# -- by key -----------------------------------------------------------------------------------------------------------

_NAMES = ("Map", "OrderedMap")


def _find_map(node: Node, device: Device) -> MapStagingArea:
    attrs, is_ordered = node.attrs, node.type.startswith("Ordered")

    def make(name: str) -> MapStagingArea:
        return MapStagingArea(name, len(attrs["dtypes"]), is_ordered, attrs["capacity"], attrs["memory_limit"])

    return shared(node, device, "ordered staging" if is_ordered else "map staging", make)  # type: ignore[no-any-return]


@kernel(*(f"{name}Stage" for name in _NAMES))
def bind_map_stage(node: Node, device: Device) -> Function:
    area, fail = _find_map(node, device), failure(node, device)

    def stage(step: Step, finish: Function, key: torch.Tensor, indices: Any, *values: torch.Tensor) -> None:
        positions = _numbers(indices)
        if len(positions) != len(values):
            raise invalid(f"{len(positions)} indices for {len(values)} values")
        area.put(_number(key, "key"), positions, _storable(values, device), step, finish, fail)

    return stage


def _require_count(node: Node, indices: list[int]) -> list[int]:
    if len(indices) != len(node.attrs["dtypes"]):
        raise invalid(f"{len(indices)} indices for {len(node.attrs['dtypes'])} values")
    return indices


@kernel(*(f"{name}{what}" for name in _NAMES for what in ("Unstage", "Peek")))
def bind_map_unstage(node: Node, device: Device) -> Function:
    area, fail, keep = _find_map(node, device), failure(node, device), node.type.endswith("Peek")

    def unstage(step: Step, finish: Function, key: torch.Tensor, indices: Any) -> None:
        positions = _require_count(node, _numbers(indices))
        area.take(
            _number(key, "key"), positions, keep, step, lambda key, *values: finish(*_to_device(values, device)), fail
        )

    return unstage


@kernel(*(f"{name}UnstageNoKey" for name in _NAMES))
def bind_map_unstage_no_key(node: Node, device: Device) -> Function:
    area, fail = _find_map(node, device), failure(node, device)

    def unstage(step: Step, finish: Function, indices: Any) -> None:
        def hand_over(key: int, *values: object) -> None:
            finish(torch.tensor(key), *_to_device(values, device))

        area.take(None, _require_count(node, _numbers(indices)), False, step, hand_over, fail)

    return unstage


@kernel(*(f"{name}Size" for name in _NAMES))
def bind_map_size(node: Node, device: Device) -> Function:
    area = _find_map(node, device)
    return lambda: torch.tensor(area.size(), dtype=torch.int32)


@kernel(*(f"{name}IncompleteSize" for name in _NAMES))
def bind_map_incomplete_size(node: Node, device: Device) -> Function:
    area = _find_map(node, device)
    return lambda: torch.tensor(area.incomplete_size(), dtype=torch.int32)


@kernel(*(f"{name}Clear" for name in _NAMES))
def bind_map_clear(node: Node, device: Device) -> Function:
    return _find_map(node, device).clear
