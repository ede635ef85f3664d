"""tf.config: Devices, threads and placement."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.runtime.function.function import (
    experimental_functions_run_eagerly as experimental_functions_run_eagerly,
    experimental_functions_run_eagerly as functions_run_eagerly,
    experimental_run_functions_eagerly as experimental_run_functions_eagerly,
    experimental_run_functions_eagerly as run_functions_eagerly,
)
from thalweg._src.runtime.session.config_functions import (
    LogicalDevice as LogicalDevice,
    PhysicalDevice as PhysicalDevice,
    get_soft_device_placement as get_soft_device_placement,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_soft_device_placement as set_soft_device_placement,
    set_visible_devices as set_visible_devices,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.config import experimental as experimental
    from thalweg.config import optimizer as optimizer
    from thalweg.config import threading as threading

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["experimental", "optimizer", "threading"],
    {},
)

__all__ = [
    "LogicalDevice", "PhysicalDevice", "experimental", "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly", "functions_run_eagerly", "get_soft_device_placement", "get_visible_devices",
    "list_logical_devices", "list_physical_devices", "optimizer", "run_functions_eagerly", "set_soft_device_placement",
    "set_visible_devices", "threading",
]
