"""Kernels of replica groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.waiting import failure, require_same, shared
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.replica_group import ReplicaGroup
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]
_PROPERTIES = ("num_required", "per_replica", "num_backups")


@kernel("_ReplicaGroup", devices=("CPU",))
def bind_group(node: Node, device: Device) -> Constant:
    required, per_replica, backups = (node.attrs[name] for name in _PROPERTIES)
    properties = {"num_required": required, "per_replica": per_replica, "num_backups": None if backups < 0 else backups}
    group = shared(node, device, "replica_group", lambda name: ReplicaGroup(name, **properties))
    require_same(group, properties, {name: getattr(group, name) for name in _PROPERTIES})
    return Constant(group)


def _require(handle: object) -> ReplicaGroup:
    if not isinstance(handle, ReplicaGroup):
        raise invalid(f"the handle is not a replica group: {handle!r}")
    return handle


def _returning_round(finish: Function) -> Function:
    return lambda number: finish(torch.tensor(number))


@plain_kernel("_ReplicaGroupStart", devices=("CPU",))
def _start(handle: object, global_step: torch.Tensor) -> Any:
    return torch.tensor(_require(handle).start(int(global_step)))


@plain_kernel("_ReplicaGroupOpen", devices=("CPU",))
def _open(handle: object, number: torch.Tensor) -> None:
    _require(handle).open(int(number))


@plain_kernel("_ReplicaGroupInterrupted", devices=("CPU",))
def _interrupted(handle: object) -> Any:
    return torch.tensor(_require(handle).is_interrupted)


@plain_kernel("_ReplicaGroupCancel", devices=("CPU",))
def _cancel(handle: object) -> None:
    _require(handle).cancel()


@plain_kernel("_ReplicaGroupResume", devices=("CPU",))
def _resume(handle: object) -> None:
    _require(handle).resume()


@plain_kernel("_ReplicaGroupStop", devices=("CPU",))
def _stop(handle: object) -> None:
    _require(handle).stop()


@plain_kernel("_ReplicaGroupRound", devices=("CPU",))
def _round(handle: object, global_step: torch.Tensor) -> Any:
    return torch.tensor(_require(handle).current(int(global_step)))


@kernel("_ReplicaGroupTake", devices=("CPU",))
def bind_take(node: Node, device: Device) -> Function:
    fail = failure(node, device)

    def take(step: Step, finish: Function, handle: object) -> None:
        _require(handle).take(step, _returning_round(finish), fail)

    return take


@kernel("_ReplicaGroupPause", devices=("CPU",))
def bind_pause(node: Node, device: Device) -> Function:
    fail = failure(node, device)

    def pause(step: Step, finish: Function, handle: object) -> None:
        _require(handle).pause(step, finish, fail)

    return pause


@kernel("_ReplicaGroupArrive", devices=("CPU",))
def bind_arrive(node: Node, device: Device) -> Function:
    fail, replica = failure(node, device), node.attrs["replica"]

    def arrive(step: Step, finish: Function, handle: object, local_step: torch.Tensor) -> None:
        _require(handle).arrive(replica, int(local_step), step, _returning_round(finish), fail)

    return arrive


@kernel("_ReplicaGroupJoin", devices=("CPU",))
def bind_join(node: Node, device: Device) -> Function:
    fail, replica = failure(node, device), node.attrs["replica"]

    def join(step: Step, finish: Function, handle: object) -> None:
        _require(handle).join(replica, step, finish, fail)

    return join
