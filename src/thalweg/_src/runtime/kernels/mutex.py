"""Kernels of mutexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.errors import invalid
from thalweg._src.graph.consistency import SHARED
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.waiting import failure, shared
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.mutex import Lock, Mutex
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]


@kernel("MutexV2")
def bind_mutex(node: Node, device: Device) -> Constant:
    return Constant(shared(node, device, "mutex", Mutex))


@kernel("MutexLock")
def bind_lock(node: Node, device: Device) -> Function:
    fail, is_shared = failure(node, device), node.attrs.get(SHARED, False)

    def acquire(step: Step, finish: Function, mutex: object) -> None:
        if not isinstance(mutex, Mutex):
            raise invalid(f"the handle is not a mutex: {mutex!r}")
        mutex.acquire(step, finish, fail, is_shared)

    return acquire


@plain_kernel("ConsumeMutexLock")
def _consume(lock: object) -> None:
    if not isinstance(lock, Lock):
        raise invalid(f"this is not the lock of a mutex: {lock!r}")
    lock.release()
