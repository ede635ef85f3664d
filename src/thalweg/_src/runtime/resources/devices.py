"""Devices of a session: the CPU and the accelerators of this process, backed by torch devices."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import torch

from thalweg._src.base.config import ConfigProto
from thalweg._src.runtime.resources.accelerators import Accelerator, accelerators
from thalweg._src.runtime.resources.collectives import Collectives
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.gpu_options import LogicalGpu, logical_gpus
from thalweg._src.runtime.resources.transactions import TransactionLog

PREFIX = "/job:localhost/replica:0/task:0"
_HOST = torch.device("cpu")
TorchDevice = torch.device
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True, eq=False)
class Device:
    """One device of a session: its full name, its torch device, and the state its kernels keep.

    A device that shares its card with others launches its kernels on a stream of its own. What it sends to them within
    a step it copies there (`kernels/transfer.py`); what it leaves in variables is theirs from the next step on
    (`stream_barrier`). A device with a card to itself uses torch's current stream.
    """

    name: str
    type: str
    torch: TorchDevice
    resources: Containers
    host: TorchDevice = _HOST
    accelerator: Accelerator | None = None
    stream: Any = None
    memory_limit: int = 0  # bytes that a step may use here; 0 for no limit
    compiling: bool = False  # a placeholder for tracing: kernels are bound on it and never run
    collectives: Collectives | None = None  # of a task of a cluster
    readable_folder: str = ""  # the only one whose files steps may read; empty for no limit
    transactions: TransactionLog = field(default_factory=TransactionLog)  # of the task
    drawing: threading.RLock = field(default_factory=threading.RLock)  # held while generators are used or captured
    _states: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def host_side(self) -> Device:
        """Returns this device's host memory as a device, on which shapes and other small integers are computed."""
        if self.type == "CPU":
            return self
        return Device(
            self.name,
            "CPU",
            self.host,
            self.resources,
            compiling=self.compiling,
            readable_folder=self.readable_folder,
            transactions=self.transactions,
        )

    def synchronize(self) -> None:
        """Waits for everything launched on this device; the CPU runs synchronously."""
        if self.stream is not None:
            self.stream.synchronize()
        elif self.accelerator is not None:
            self.accelerator.synchronize(self.torch)

    def current(self) -> AbstractContextManager[Any]:
        """Returns a context in which kernels are launched on this device's stream."""
        if self.stream is None or self.accelerator is None:
            return nullcontext()
        return self.accelerator.module.stream(self.stream)  # type: ignore[no-any-return]

    def on_stream(self, function: Function) -> Function:
        """Returns a function that launches its kernels on this device's stream."""
        if self.stream is None:
            return function

        def run(*args: object) -> Any:
            with self.current():
                return function(*args)

        return cast(Function, run)

    def state(self, node_name: str, make: Callable[[], Any]) -> Any:
        """Returns the state that a stateful kernel keeps between steps, whatever the step signature."""
        with self._lock:
            if node_name not in self._states:
                self._states[node_name] = make()
            return self._states[node_name]


def local_devices(
    config: ConfigProto, resources: Containers, task: str = PREFIX, has_streams: bool = True
) -> list[Device]:
    """Returns the devices of a session: `device_count` virtual CPUs, and the accelerators that torch finds.

    task: the name of this process, with which the names of its devices start
    has_streams: whether devices that share a card have streams of their own
    """
    cpus = config.device_count.get("CPU", 1)
    folder = config.experimental.readable_folder
    devices = [
        Device(f"{task}/device:CPU:{i}", "CPU", _HOST, resources, readable_folder=folder) for i in range(max(cpus, 1))
    ]
    for accelerator in accelerators():
        logical_devices = list(_logical_devices(accelerator, config))
        if logical_devices:
            accelerator.prepare(config)
        type = accelerator.type
        shared = Counter(physical for physical, _ in logical_devices)
        for index, (physical, limit) in enumerate(logical_devices):
            where = torch.device(accelerator.torch_type, physical) if accelerator.torch_type != "cpu" else _HOST
            name, bound = f"{task}/device:{type}:{index}", accelerator.on(where)
            devices.append(
                Device(name, type, where, resources, accelerator=bound, memory_limit=limit, readable_folder=folder)
            )
            if has_streams and shared[physical] > 1 and accelerator.stream is not None:
                devices[-1].stream = accelerator.stream(where, index)
    return devices


def stream_barrier(devices: Sequence[Device]) -> Callable[[], None] | None:
    """Returns a function after which no stream of these devices overtakes what was launched on another before.

    It is called before each step: variables and other resources may have been used on other streams. None if no device
    has a stream of its own.
    """
    pairs = [
        (device.stream, device.accelerator.module.default_stream(device.torch))
        for device in devices
        if device.stream is not None and device.accelerator is not None
    ]

    # All streams wait for one default stream, which has waited for all of them: n events each way instead of one for
    # every pair. Waiting is between streams on the device; the host goes on at once.
    def wait() -> None:
        for stream, default in pairs:
            default.wait_stream(stream)
        for stream, default in pairs:
            stream.wait_stream(default)

    return wait if pairs else None


def listed_devices(config: ConfigProto) -> list[tuple[str, str, int, str]]:
    """Returns (name, type, limit in bytes, physical name) of a session's devices, without initializing any."""
    cpus = range(max(config.device_count.get("CPU", 1), 1))
    devices = [(f"/device:CPU:{index}", "CPU", 0, "/physical_device:CPU:0") for index in cpus]
    for accelerator in accelerators():
        type = accelerator.type
        for index, (physical, limit) in enumerate(_logical_devices(accelerator, config)):
            devices.append((f"/device:{type}:{index}", type, limit, f"/physical_device:{type}:{physical}"))
    return devices


def _logical_devices(accelerator: Accelerator, config: ConfigProto) -> Iterator[LogicalGpu]:
    """Yields the devices of an accelerator; only GPUs can be selected and divided."""
    count = accelerator.count()
    if accelerator.type == "GPU":
        yield from logical_gpus(config, count)
    else:
        yield from map(LogicalGpu, range(min(config.device_count.get(accelerator.type, 1 << 30), count)))
