"""The devices of this machine, and settings of the process, under tf.config's names.

Sessions take their settings from ConfigProto, as in TensorFlow 1; what is set here for the eager mode is kept for
whoever asks, except for the number of threads, which the whole process shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thalweg._src.export import export
from thalweg._src.resources.accelerators import physical_devices
from thalweg._src.runtime.cpu_contention import core_share


@export("config.PhysicalDevice")
class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


@export("config.LogicalDevice")
class LogicalDevice(NamedTuple):
    """A device by the name that programs use."""

    name: str
    device_type: str


@dataclass(slots=True)
class _Settings:
    soft_placement: bool = True
    inter_op_threads: int = 0
    intra_op_threads: int = 0
    visible: dict[str, list[PhysicalDevice]] = field(default_factory=dict)


_settings = _Settings()


@export("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of this machine, of one type if it is named."""
    devices = [PhysicalDevice(*device) for device in physical_devices()]
    return [device for device in devices if device_type in (None, device.device_type)]


@export("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices that `set_visible_devices` left."""
    devices = list_physical_devices(device_type)
    return [d for d in devices if d in _settings.visible.get(d.device_type, devices)]


@export("config.set_visible_devices", "config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Keeps which devices `get_visible_devices` and `list_logical_devices` tell of."""
    chosen: Sequence[PhysicalDevice] = devices if isinstance(devices, list) else [devices]
    for device in chosen:
        if device not in list_physical_devices(device_type):
            raise ValueError(f"{device} is none of {list_physical_devices(device_type)}")
    for kind in [device_type] if device_type else {device.device_type for device in chosen}:
        _settings.visible[kind] = [device for device in chosen if device.device_type == kind]


@export("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the visible devices by the names that `tf.device` takes."""
    return [
        LogicalDevice(device.name.replace("/physical_device:", "/device:"), device.device_type)
        for device in get_visible_devices(device_type)
    ]


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool:
    """Returns True: memory is taken as needed."""
    return True


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Does nothing: memory is taken as needed."""


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Returns what `set_soft_device_placement` stored."""
    return _settings.soft_placement


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Keeps the setting; sessions take theirs from `allow_soft_placement` of their ConfigProto."""
    _settings.soft_placement = bool(enabled)


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Returns the number of threads within a kernel; 0 means the system chooses."""
    return _settings.intra_op_threads


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Fixes the number of threads within a kernel, for the whole process; 0 leaves it to the system."""
    _settings.intra_op_threads = int(num_threads)
    if num_threads > 0:
        core_share.fix(int(num_threads))


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Returns what `set_inter_op_parallelism_threads` stored; 0 means the system chooses."""
    return _settings.inter_op_threads


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Keeps the setting; sessions take theirs from `inter_op_parallelism_threads` of their ConfigProto."""
    _settings.inter_op_threads = int(num_threads)
