"""Kernels of bincount and histograms."""

from __future__ import annotations

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device


@kernel("HistogramFixedWidth")
def bind_histogram(node: Node, device: Device) -> Function:
    dtype = TORCH[node.attrs["dtype"]]

    def count(values: torch.Tensor, value_range: torch.Tensor, nbins: torch.Tensor) -> torch.Tensor:
        check(node, values.shape, value_range.shape, nbins.shape, values={2: nbins.numpy()})
        (low, high), bins = value_range.tolist(), int(nbins)
        if not low < high:
            raise invalid(f"value_range is [{low}, {high}], expected the first to be less than the second")
        step = float(value_range[1] - value_range[0]) / bins
        positions = (torch.clamp(values.reshape(-1), min=low) - low).double() / step
        index = torch.nan_to_num(positions.clamp(max=bins - 1)).to(torch.int64).clamp_(0, bins - 1)
        result = torch.zeros(bins, dtype=dtype, device=values.device)
        return result.index_add_(0, index, torch.ones((), dtype=dtype, device=values.device).expand(index.shape))

    return count


@kernel("Bincount", "DenseBincount")
def bind_bincount(node: Node, device: Device) -> Function:
    dtype, binary = TORCH[node.attrs["T"]], node.attrs.get("binary_output", False)

    def count(values: torch.Tensor, size: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        check(node, values.shape, size.shape, weights.shape, values={1: size.numpy()})
        limit = int(size)
        if values.device.type == "cpu" and values.numel() and int(values.min()) < 0:
            raise invalid(f"the integers to count must not be negative, got {values.min()}")
        rows = values.shape[0] if values.ndim == 2 and node.type == "DenseBincount" else 1
        positions = values.to(torch.int64).reshape(rows, values.numel() // rows if rows else 0)
        # An extra column collects values that are not counted.
        positions = torch.where((positions < 0) | (positions >= limit), limit, positions)
        result = torch.zeros((rows, limit + 1), dtype=dtype, device=values.device)
        if binary:
            result.scatter_(1, positions, 1)
        else:
            source = weights.reshape(positions.shape) if weights.numel() else torch.ones_like(positions, dtype=dtype)
            result.scatter_add_(1, positions, source)
        result = result[:, :limit]
        return result if values.ndim == 2 and node.type == "DenseBincount" else result[0]

    return count
