"""What torch says of the accelerators of this machine."""

from __future__ import annotations

import torch

from thalweg.runtime.devices import gpu_count


def cuda_version() -> str | None:
    """Returns the CUDA version that torch was built with; None for a build without CUDA."""
    return torch.version.cuda


def gpu_capability(index: int) -> tuple[int, int]:
    """Returns the CUDA compute capability of a GPU."""
    major, minor = torch.cuda.get_device_capability(index)
    return major, minor


def physical_devices() -> list[tuple[str, str]]:
    """Returns (name, type) of the devices of this machine."""
    return [("/physical_device:CPU:0", "CPU")] + [(f"/physical_device:GPU:{i}", "GPU") for i in range(gpu_count())]
