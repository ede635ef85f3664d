"""Devices: the places of this process where programs run, over torch's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from thalweg.config import ConfigProto
from thalweg.resources.containers import Containers

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
    _states: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def host_side(self) -> Device:
        """Returns this device's host memory as a device: what an accelerator's counting is done on."""
        return self if self.type == "CPU" else Device(self.name, "CPU", self.host, self.resources)

    def state(self, node_name: str, make: Callable[[], Any]) -> Any:
        """Returns what a stateful kernel keeps between steps, whatever else is fetched with it."""
        with self._lock:
            if node_name not in self._states:
                self._states[node_name] = make()
            return self._states[node_name]


def local_devices(config: ConfigProto, resources: Containers) -> list[Device]:
    """Returns the devices a session may use: `device_count` virtual CPUs, and torch's GPUs."""
    cpus = config.device_count.get("CPU", 1)
    gpus = min(config.device_count.get("GPU", 1 << 30), gpu_count())
    devices = [Device(f"{PREFIX}/device:CPU:{i}", "CPU", _HOST, resources) for i in range(max(cpus, 1))]
    devices += [Device(f"{PREFIX}/device:GPU:{i}", "GPU", torch.device("cuda", i), resources) for i in range(gpus)]
    return devices


def gpu_count() -> int:
    return torch.cuda.device_count() if torch.cuda.is_available() else 0
