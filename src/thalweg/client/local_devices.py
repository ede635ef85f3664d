"""list_local_devices: the devices of this process, without a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.runtime.accelerators import physical_devices


@dataclass(frozen=True, slots=True)
class LocalDevice:
    """A device of this process as `list_local_devices` shows it."""

    name: str
    device_type: str
    memory_limit: int = 0
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """Returns the CPU and the GPUs of this process, each with `name` and `device_type`."""
    return [
        LocalDevice(name.replace("/physical_device:", "/device:"), kind, physical_device_desc=name)
        for name, kind in physical_devices()
    ]
