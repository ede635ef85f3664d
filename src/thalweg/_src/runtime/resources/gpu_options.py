"""GPU options: which GPUs of the machine a session sees, and the logical devices that each is divided into."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from thalweg._src.base.config import ConfigProto, GPUOptions
from thalweg._src.base.errors import UnknownError, invalid


class LogicalGpu(NamedTuple):
    """A logical device /device:GPU:i of a session: the physical GPU behind it, and its memory limit in bytes."""

    physical: int
    limit: int = 0  # no limit


def logical_gpus(config: ConfigProto, count: int) -> list[LogicalGpu]:
    """Returns the logical GPUs of a session on a machine with this many GPUs; rejects what TensorFlow rejects.

    On a machine without GPUs nothing is checked, so that a program which configures them runs there too.
    """
    if count <= 0:
        return []
    options = config.gpu_options
    num_requested = config.device_count.get("GPU", count)
    visible = _visible(options.visible_device_list, count) if num_requested > 0 else []
    used = visible[: max(num_requested, 0)]
    virtual = options.experimental.virtual_devices
    if not virtual:
        return [LogicalGpu(index) for index in used]
    _check(options, len(used), len(visible))
    return [
        LogicalGpu(index, int(megabytes * (1 << 20)))
        for index, entry in zip(used, virtual)
        for megabytes in entry.memory_limit_mb or [0]
    ]


def _visible(text: str, count: int) -> list[int]:
    """Returns the GPUs named by a list such as "2,0", in that order; all GPUs if it is empty."""
    if not text:
        return list(range(count))
    result: list[int] = []
    for entry in text.split(","):
        if re.fullmatch(r"\s*[+-]?[0-9]+\s*", entry) is None:
            raise invalid(f"visible_device_list: the entry {entry!r} of {text!r} is not a number")
        index = int(entry)
        if not 0 <= index < count:
            raise invalid(f"visible_device_list names the GPU {index}, but there are {count}, counted from 0: {text!r}")
        if index in result:
            raise invalid(f"visible_device_list names the GPU {index} twice: {text!r}")
        result.append(index)
    return result


def _check(options: GPUOptions, used: int, visible: int) -> None:
    virtual = options.experimental.virtual_devices
    if options.per_process_gpu_memory_fraction > 0:
        raise invalid("per_process_gpu_memory_fraction and virtual_devices are mutually exclusive")
    if used < len(virtual):
        text = f"virtual_devices has {len(virtual)} entries, but the session has {used} GPUs to divide"
        raise UnknownError(None, None, text)
    if visible != len(virtual):
        text = f"virtual_devices needs an entry for each of the {visible} visible GPUs, but has {len(virtual)}"
        raise invalid(text) if options.visible_device_list else UnknownError(None, None, text)
    for index, entry in enumerate(virtual):
        for megabytes in entry.memory_limit_mb:
            if not 0 < megabytes < math.inf:
                raise invalid(f"virtual_devices[{index}]: memory_limit_mb must be positive, not {megabytes:g}")
        if entry.priority and len(entry.priority) != len(entry.memory_limit_mb):
            raise invalid(
                f"virtual_devices[{index}]: there are {len(entry.priority)} priorities "
                f"for {len(entry.memory_limit_mb)} limits"
            )
