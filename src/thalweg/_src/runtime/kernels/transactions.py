"""Kernels of transactions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.waiting import failure
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.mutex import Lock, Mutex
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.transactions import Transaction
from thalweg._src.runtime.resources.variables import VariableResource


@kernel("_BeginTransaction", devices=("CPU",))
def bind_begin(node: Node, device: Device) -> Callable[..., None]:
    fail, coordinator, log = failure(node, device), node.attrs["coordinator"], device.transactions

    @functools.cache
    def variables() -> Sequence[VariableResource]:
        names = node.attrs["variables"]  # containers and names in turn
        variables = (
            device.resources.lookup(container, "variable", name) for container, name in zip(names[::2], names[1::2])
        )
        return [variable for variable in variables if variable is not None]

    def begin(step: Step, finish: Callable[..., None], mutex: object) -> None:
        if not isinstance(mutex, Mutex):
            raise invalid(f"the handle is not a mutex: {mutex!r}")

        def locked(lock: Lock) -> None:
            finish(Transaction(log, step, lock, variables(), coordinator))

        mutex.acquire(step, locked, fail, outlives_step=True)

    return begin


@plain_kernel("_PrepareTransaction", devices=("CPU",))
def _prepare(transaction: object) -> torch.Tensor:
    return torch.tensor(_require(transaction).prepare())


@kernel("_CommitTransaction", devices=("CPU",))
def bind_commit(node: Node, device: Device) -> Call:
    participants = node.attrs["participants"]

    def commit(transaction: object, *are_new: torch.Tensor) -> torch.Tensor:
        return torch.tensor(_require(transaction).commit(map(bool, are_new), participants))

    return Call(commit, tuple(Input(index) for index in range(len(node.inputs))))


@plain_kernel("_EndTransaction", devices=("CPU",))
def _end(transaction: object, is_committed: torch.Tensor) -> None:
    _require(transaction).decided(bool(is_committed))


@plain_kernel("_ReleaseTransaction", devices=("CPU",))
def _release(transaction: object) -> None:
    _require(transaction).release()


def _require(value: object) -> Transaction:
    if not isinstance(value, Transaction):
        raise invalid(f"this is not a transaction: {value!r}")
    return value
