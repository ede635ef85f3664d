"""Settings of eager execution: its devices, and whether the caller waits for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from thalweg._src.base.export import export, export_constants
from thalweg._src.runtime.eager.mode import ASYNC, SYNC, eager_graph

DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT = 0, 1, 2
DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3

export_constants(
    DEVICE_PLACEMENT_EXPLICIT="contrib.eager.DEVICE_PLACEMENT_EXPLICIT",
    DEVICE_PLACEMENT_WARN="contrib.eager.DEVICE_PLACEMENT_WARN",
    DEVICE_PLACEMENT_SILENT="contrib.eager.DEVICE_PLACEMENT_SILENT",
    DEVICE_PLACEMENT_SILENT_FOR_INT32="contrib.eager.DEVICE_PLACEMENT_SILENT_FOR_INT32",
)


@export("contrib.eager.list_devices")
def list_devices() -> list[str]:
    """Returns the names of the devices of this process."""
    return [device.name for device in eager_graph().devices]


@export("contrib.eager.num_gpus")
def num_gpus() -> int:
    """Returns the number of GPUs of this process."""
    return sum(device.type == "GPU" for device in eager_graph().devices)


@export("contrib.eager.set_execution_mode")
def set_execution_mode(mode: int | None) -> None:
    """Sets whether operations may run after the call that started them has returned: those of a GPU always may."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")
    eager_graph().execution_mode = SYNC if mode is None else mode


@export("contrib.eager.execution_mode")
@contextlib.contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """Context manager: sets the execution mode; waits for what was started in the block."""
    before = eager_graph().execution_mode
    set_execution_mode(mode)
    try:
        yield
    finally:
        eager_graph().execution_mode = before
        async_wait()


@export("contrib.eager.async_wait")
def async_wait() -> None:
    """Waits for the operations that were started on all devices."""
    for device in eager_graph().devices:
        device.synchronize()


@export("contrib.eager.async_clear_error")
def async_clear_error() -> None:
    """Does nothing: errors are raised where they occur, so that none is pending."""
