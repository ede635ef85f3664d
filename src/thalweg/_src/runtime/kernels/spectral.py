"""Kernels of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.ops.spectral import half
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

_RANKS = {"": 1, "2D": 2, "3D": 3}


def _rank(node: Node) -> int:
    return _RANKS[node.type.rpartition("FFT")[2]]


@kernel(*(f"{way}FFT{suffix}" for way in ("", "I") for suffix in _RANKS))
def bind_transform(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    rank = _rank(node)
    axes = tuple(range(-rank, 0))
    function = torch.fft.ifftn if node.type.startswith("I") else torch.fft.fftn

    def transform(x: torch.Tensor) -> torch.Tensor:
        require(x.ndim >= rank, f"input has rank {x.ndim}", expected=f"at least {rank}")
        return function(x, dim=axes) if x.numel() else x

    return transform


@kernel(*(f"{way}RFFT{suffix}" for way in ("", "I") for suffix in _RANKS))
def bind_real_transform(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    rank, inverse = _rank(node), node.type.startswith("I")
    axes, dtype = tuple(range(-rank, 0)), TORCH[node.dtypes[0]]
    function: Callable[..., torch.Tensor] = torch.fft.irfftn if inverse else torch.fft.rfftn

    def transform(x: torch.Tensor, fft_length: torch.Tensor) -> torch.Tensor:
        lengths = _lengths(x, fft_length, rank, inverse)
        if x.numel() and all(lengths):
            return function(x, s=lengths, dim=axes)
        sizes = lengths if inverse else [*lengths[:-1], half(lengths[-1])]
        return torch.zeros([*x.shape[:-rank], *sizes], dtype=dtype, device=x.device)

    return transform


def _lengths(x: torch.Tensor, fft_length: torch.Tensor, rank: int, inverse: bool) -> list[int]:
    """Returns the lengths of a transform, which the input must fill."""
    require(x.ndim >= rank, f"input has rank {x.ndim}", expected=f"at least {rank}")
    require(fft_length.shape == (rank,), f"fft_length has shape {list(fft_length.shape)}", expected=f"[{rank}]")
    lengths: list[int] = fft_length.tolist()
    require(min(lengths) >= 0, f"fft_length is {lengths}", expected="non-negative lengths")
    taken = [*lengths[:-1], half(lengths[-1])] if inverse else lengths
    if x.numel() and any(size < n for size, n in zip(x.shape[-rank:], taken)):
        raise invalid(
            f"input has shape {list(x.shape)}, but fft_length {lengths} requires {taken} in the last dimensions"
        )
    return lengths
