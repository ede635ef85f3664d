"""Kernels of memory statistics: an accelerator has those of torch's allocator, the host those of the process."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

_OF_THE_PROCESS = {"in use": "VmRSS:", "peak": "VmHWM:"}
_OF_THE_ALLOCATOR = {"in use": "memory_allocated", "peak": "max_memory_allocated"}


@kernel("_MemoryStatistic")
def bind_memory_statistic(node: Node, device: Device) -> Callable[[], torch.Tensor]:
    statistic, where = node.attrs["statistic"], device.torch

    def on_host() -> torch.Tensor:
        if statistic == "limit":
            return torch.tensor(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        try:
            with open("/proc/self/status", encoding="ascii") as file:
                words = next(line.split() for line in file if line.startswith(_OF_THE_PROCESS[statistic]))
        except (OSError, StopIteration):
            raise errors.UnimplementedError(None, None, "this system does not report the memory of a process") from None
        return torch.tensor(int(words[1]) * 1024)

    def on_accelerator() -> torch.Tensor:
        module = torch.get_device_module(where)
        if statistic != "limit":
            return torch.tensor(getattr(module, _OF_THE_ALLOCATOR[statistic])(where))
        return torch.tensor(device.memory_limit or module.mem_get_info(where)[1])

    return on_host if where.type == "cpu" else on_accelerator
