"""tf.config: devices and threads; the messages of sessions are in thalweg.config."""

from types import SimpleNamespace as _Namespace

from thalweg._src.session.config_functions import (
    LogicalDevice,
    PhysicalDevice,
    get_inter_op_parallelism_threads as _get_inter_op,
    get_intra_op_parallelism_threads as _get_intra_op,
    get_memory_growth as _get_memory_growth,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_inter_op_parallelism_threads as _set_inter_op,
    set_intra_op_parallelism_threads as _set_intra_op,
    set_memory_growth as _set_memory_growth,
    set_soft_device_placement,
    set_visible_devices,
)

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "experimental",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]

threading = _Namespace(
    get_inter_op_parallelism_threads=_get_inter_op,
    get_intra_op_parallelism_threads=_get_intra_op,
    set_inter_op_parallelism_threads=_set_inter_op,
    set_intra_op_parallelism_threads=_set_intra_op,
)
experimental = _Namespace(
    get_memory_growth=_get_memory_growth,
    get_visible_devices=get_visible_devices,
    list_logical_devices=list_logical_devices,
    list_physical_devices=list_physical_devices,
    set_memory_growth=_set_memory_growth,
    set_visible_devices=set_visible_devices,
)
