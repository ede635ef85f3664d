"""Kernel of rotation by multiples of 90 degrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import plain_kernel
from thalweg._src.runtime.kernels.types import TORCH_UNSIGNED


@plain_kernel("_RotateQuarters")
def _rotate(image: torch.Tensor, k: torch.Tensor) -> Any:
    require(image.ndim >= 3, f"image has rank {image.ndim}", expected="height, width and channels")
    require(k.ndim == 0, f"k has shape {list(k.shape)}", expected="a scalar")
    turns = int(k) % 4
    if isinstance(image, np.ndarray):
        return np.rot90(image, turns, (-3, -2))
    if image.dtype in TORCH_UNSIGNED:
        signed = {2: torch.int16, 4: torch.int32, 8: torch.int64}[image.dtype.itemsize]
        return torch.rot90(image.view(signed), turns, (-3, -2)).view(image.dtype)
    return torch.rot90(image, turns, (-3, -2))
