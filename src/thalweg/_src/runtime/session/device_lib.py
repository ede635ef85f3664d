"""tf.python.client.device_lib: lists the devices of this process, without a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.runtime.resources.devices import listed_devices


@dataclass(frozen=True, slots=True)
class LocalDevice:
    """A device of this process, as listed by `list_local_devices`."""

    name: str
    device_type: str
    memory_limit: int = 0
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """Returns the devices that a session with this configuration has, without allocating memory on them."""
    config = session_config if session_config is not None else ConfigProto()
    return [LocalDevice(*device) for device in listed_devices(config)]
