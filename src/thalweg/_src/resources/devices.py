"""Devices: the places of this process where programs run, over torch's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from thalweg._src.config import ConfigProto
from thalweg._src.resources.accelerators import Accelerator, accelerators
from thalweg._src.resources.containers import Containers
from thalweg._src.resources.gpu_options import LogicalGpu, logical_gpus

PREFIX = "/job:localhost/replica:0/task:0"
_HOST = torch.device("cpu")
TorchDevice = torch.device


@dataclass(slots=True, eq=False)
class Device:
    """One device of a session: its full name, its torch device, and the state its kernels keep."""

    name: str
    type: str
    torch: TorchDevice
    resources: Containers
    host: TorchDevice = _HOST
    accelerator: Accelerator | None = None
    memory_limit: int = 0  # bytes that a step may hold here; 0 for all there are
    compiling: bool = False  # a placeholder for tracing: kernels are bound on it and never run
    _states: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def host_side(self) -> Device:
        """Returns this device's host memory as a device: what an accelerator's counting is done on."""
        if self.type == "CPU":
            return self
        return Device(self.name, "CPU", self.host, self.resources, compiling=self.compiling)

    def synchronize(self) -> None:
        """Waits for what was launched on this device; the CPU is never behind."""
        if self.accelerator is not None:
            self.accelerator.synchronize(self.torch)

    def state(self, node_name: str, make: Callable[[], Any]) -> Any:
        """Returns what a stateful kernel keeps between steps, whatever else is fetched with it."""
        with self._lock:
            if node_name not in self._states:
                self._states[node_name] = make()
            return self._states[node_name]


def local_devices(config: ConfigProto, resources: Containers) -> list[Device]:
    """Returns the devices a session may use: `device_count` virtual CPUs, and the accelerators of torch."""
    cpus = config.device_count.get("CPU", 1)
    devices = [Device(f"{PREFIX}/device:CPU:{i}", "CPU", _HOST, resources) for i in range(max(cpus, 1))]
    for kind in accelerators():
        found = list(_of_kind(kind, config))
        if found:
            kind.prepare(config)
        for index, (physical, limit) in enumerate(found):
            where = torch.device(kind.torch_type, physical) if kind.torch_type != "cpu" else _HOST
            name = f"{PREFIX}/device:{kind.type}:{index}"
            devices.append(Device(name, kind.type, where, resources, accelerator=kind.on(where), memory_limit=limit))
    return devices


def listed_devices(config: ConfigProto) -> list[tuple[str, str, int, str]]:
    """Returns (name, type, limit in bytes, the machine's name for it) of a session's devices, and touches none."""
    cpus = range(max(config.device_count.get("CPU", 1), 1))
    found = [(f"/device:CPU:{index}", "CPU", 0, "/physical_device:CPU:0") for index in cpus]
    for kind in accelerators():
        for index, (physical, limit) in enumerate(_of_kind(kind, config)):
            name, physical_name = f"/device:{kind.type}:{index}", f"/physical_device:{kind.type}:{physical}"
            found.append((name, kind.type, limit, physical_name))
    return found


def _of_kind(kind: Accelerator, config: ConfigProto) -> Iterator[LogicalGpu]:
    """Yields the devices of a kind; only GPUs can be chosen and divided."""
    if kind.type == "GPU":
        yield from logical_gpus(config, kind.count())
    else:
        yield from map(LogicalGpu, range(min(config.device_count.get(kind.type, 1 << 30), kind.count())))
