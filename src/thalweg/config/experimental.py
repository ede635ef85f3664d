"""tf.config.experimental: Visible devices, and GPU memory growth."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.runtime.determinism import enable_op_determinism as enable_op_determinism
from thalweg._src.runtime.resources.accelerators import (
    enable_tensor_float_32_execution as enable_tensor_float_32_execution,
    tensor_float_32_execution_enabled as tensor_float_32_execution_enabled,
)
from thalweg._src.runtime.session.config_functions import (
    get_memory_growth as get_memory_growth,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_memory_growth as set_memory_growth,
    set_visible_devices as set_visible_devices,
)

__all__ = [
    "enable_op_determinism", "enable_tensor_float_32_execution", "get_memory_growth", "get_visible_devices",
    "list_logical_devices", "list_physical_devices", "set_memory_growth", "set_visible_devices",
    "tensor_float_32_execution_enabled",
]
