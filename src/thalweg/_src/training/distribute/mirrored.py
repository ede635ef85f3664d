"""MirroredStrategy and OneDeviceStrategy: replicas on the devices of one process, in one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.export import export
from thalweg._src.graph.scopes import device
from thalweg._src.runtime.session.device_lib import list_local_devices
from thalweg._src.training.distribute.all_reduce import choose_cross_device_ops
from thalweg._src.training.distribute.cross_device_ops import CrossDeviceOps
from thalweg._src.training.distribute.extended import StrategyExtended
from thalweg._src.training.distribute.replica_context import ReplicaContext
from thalweg._src.training.distribute.replica_threads import call_in_threads
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.values import value_of


def canonical_device(name: str) -> str:
    """Returns the full name of a device, in task 0 if no task is given."""
    spec = DeviceSpec.from_string(name)
    return DeviceSpec(
        job=spec.job,
        replica=spec.replica or 0,
        task=spec.task or 0,
        device_type=spec.device_type or "CPU",
        device_index=spec.device_index or 0,
    ).to_string()


def local_gpus() -> list[str]:
    """Returns the GPUs of this process, in short names."""
    return [f"/device:GPU:{index}" for index in range(sum(d.device_type == "GPU" for d in list_local_devices()))]


class MirroredExtended(StrategyExtended):
    """One replica per device of this process, each with a copy of every variable."""

    def __init__(
        self,
        container_strategy: Any,
        devices: Sequence[str] | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        super().__init__(container_strategy)
        names = local_gpus() or ["/device:CPU:0"] if devices is None else list(devices)
        if not names:
            raise ValueError("devices: expected at least one device, received none")
        self._devices = tuple(canonical_device(name) for name in names)
        if len(set(self._devices)) < len(self._devices):
            raise ValueError(f"devices: expected different devices, received {names}")
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise ValueError(f"cross_device_ops: expected tf.distribute.CrossDeviceOps, received {cross_device_ops!r}")
        self._cross_device_ops = cross_device_ops or choose_cross_device_ops(self._devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return self._devices

    def _call_for_each_replica(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        strategy, places, first = self._container_strategy(), self.worker_devices, self._first_replica_id()
        if len(places) > 1:
            return call_in_threads(strategy, places, first, fn, args, kwargs)
        with ReplicaContext(strategy, first), device(places[0]):
            return fn(*value_of(0, args), **value_of(0, kwargs))


@export("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Synchronous training on several devices of a process: each has a copy of all variables and a part of the batch.

    By default all GPUs, or the CPU on a machine without one.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        super().__init__(MirroredExtended(self, devices, cross_device_ops))


@export("distribute.OneDeviceStrategy", "contrib.distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """A strategy with one replica: a program that is written for a strategy runs on one device."""

    def __init__(self, device: str) -> None:
        super().__init__(MirroredExtended(self, [device]))
