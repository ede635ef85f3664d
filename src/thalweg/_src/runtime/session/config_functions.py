"""The tf.config functions: the devices of this machine, and settings of the process.

Sessions take their settings from ConfigProto, as in TensorFlow 1; of the settings here only the number of threads and
the logging of placement have an effect on them, the others are only returned by their getters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.runtime.cpu_contention import core_share
from thalweg._src.runtime.resources.accelerators import physical_devices


@export("config.PhysicalDevice")
class PhysicalDevice(NamedTuple):
    """A device of this machine.

    Args:
        name: Name of the device.
        device_type: Type of the device.
    """

    name: str
    device_type: str


@export("config.LogicalDevice")
class LogicalDevice(NamedTuple):
    """A device by the name that programs use.

    Args:
        name: Name of the device.
        device_type: Type of the device.
    """

    name: str
    device_type: str


@dataclass(slots=True)
class _Settings:
    soft_placement: bool = True
    log_placement: bool = False
    inter_op_threads: int = 0
    intra_op_threads: int = 0
    jit: bool = False
    optimizer_options: dict[str, Any] = field(default_factory=dict)
    visible: dict[str, list[PhysicalDevice]] = field(default_factory=dict)


_settings = _Settings()


@export("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of this machine, or those of one type."""
    devices = [PhysicalDevice(*device) for device in physical_devices()]
    return [device for device in devices if device_type in (None, device.device_type)]


@export("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices selected by `set_visible_devices`, by default all."""
    devices = list_physical_devices(device_type)
    return [d for d in devices if d in _settings.visible.get(d.device_type, devices)]


@export("config.set_visible_devices", "config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Selects the devices that `get_visible_devices` and `list_logical_devices` return."""
    chosen: Sequence[PhysicalDevice] = devices if isinstance(devices, list) else [devices]
    for device in chosen:
        if device not in list_physical_devices(device_type):
            raise ValueError(f"{device} is not one of {list_physical_devices(device_type)}")
    for type in [device_type] if device_type else {device.device_type for device in chosen}:
        _settings.visible[type] = [device for device in chosen if device.device_type == type]


@export("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the visible devices under the names that `tf.device` takes."""
    return [
        LogicalDevice(device.name.replace("/physical_device:", "/device:"), device.device_type)
        for device in get_visible_devices(device_type)
    ]


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool:
    """Returns True: memory is always allocated on demand."""
    return True


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Does nothing: memory is always allocated on demand."""


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Returns what `set_soft_device_placement` stored."""
    return _settings.soft_placement


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Stores the setting; sessions use `allow_soft_placement` of their ConfigProto."""
    _settings.soft_placement = bool(enabled)


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Returns the number of threads within a kernel; 0 means the system chooses."""
    return _settings.intra_op_threads


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets the largest number of threads per kernel for the whole process; 0 leaves it to the system."""
    _settings.intra_op_threads = int(num_threads)
    if num_threads > 0:
        core_share.limit(int(num_threads))


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Returns what `set_inter_op_parallelism_threads` stored; 0 means the system chooses."""
    return _settings.inter_op_threads


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Stores the setting; sessions use `inter_op_parallelism_threads` of their ConfigProto."""
    _settings.inter_op_threads = int(num_threads)


@export("config.optimizer.get_jit")
def get_jit() -> bool:
    """Returns what `set_jit` stored."""
    return _settings.jit


@export("config.optimizer.set_jit")
def set_jit(enabled: bool) -> None:
    """Stores the setting; sessions use `global_jit_level` of their ConfigProto."""
    _settings.jit = bool(enabled)


@export("config.optimizer.get_experimental_options")
def get_experimental_options() -> dict[str, Any]:
    """Returns what `set_experimental_options` stored."""
    return dict(_settings.optimizer_options)


@export("config.optimizer.set_experimental_options")
def set_experimental_options(options: dict[str, Any]) -> None:
    """Stores options of graph optimization; sessions use the RewriterConfig of their ConfigProto.

    Args:
        options: Values of options by name; others are kept.
    """
    _settings.optimizer_options.update(options)


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Returns whether the placement of every step is logged, whatever the ConfigProto of its session says."""
    return _settings.log_placement


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Logs the placement of every step, also in sessions whose ConfigProto does not ask for `log_device_placement`.

    Args:
        enabled: Whether placements are logged.
    """
    _settings.log_placement = bool(enabled)
