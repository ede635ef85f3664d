"""Kernels of connected components and bipartite matching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH_UNSIGNED
from thalweg._src.runtime.resources.devices import Device


@plain_kernel("_ConnectedComponents")
def _components(images: torch.Tensor) -> torch.Tensor:
    """Merges equal neighbors under the smallest of their indices until a fixed point, and numbers the roots."""
    require(images.ndim == 3, f"images has rank {images.ndim}", expected="a batch of planes")
    if images.dtype in TORCH_UNSIGNED:
        images = images.to(torch.int64)
    positions = torch.arange(images.numel(), device=images.device).reshape(images.shape)
    left, right = _pairs(images, positions, 2)
    above, below = _pairs(images, positions, 1)
    first, second = torch.cat([left, above]), torch.cat([right, below])
    roots = positions.reshape(-1).clone()
    while True:
        a, b = roots[first], roots[second]
        joined = roots.scatter_reduce(0, torch.maximum(a, b), torch.minimum(a, b), "amin")
        while not torch.equal(joined, joined[joined]):
            joined = joined[joined]
        if torch.equal(joined, roots):
            break
        roots = joined
    there = images.reshape(-1) != 0
    numbers = torch.cumsum((roots == positions.reshape(-1)) & there, 0)
    return torch.where(there, numbers[roots], 0).to(torch.int32).reshape(images.shape)


def _pairs(images: torch.Tensor, positions: torch.Tensor, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the index pairs of neighbors along an axis with equal values other than zero."""
    count = max(images.shape[axis] - 1, 0)
    one, other = images.narrow(axis, 0, count), images.narrow(axis, images.shape[axis] - count, count)
    same = (one == other) & (one != 0)
    return positions.narrow(axis, 0, count)[same], positions.narrow(axis, images.shape[axis] - count, count)[same]


@kernel("_BipartiteMatch", devices=("CPU",))
def bind_match(node: Node, device: Device) -> Callable[..., Any]:
    top = node.attrs["top_k"]

    def match(distances: torch.Tensor, num_valid_rows: torch.Tensor) -> Any:
        require(distances.ndim == 2, f"distance_mat has rank {distances.ndim}", expected="a matrix")
        require(num_valid_rows.numel() == 1, f"num_valid_rows has {num_valid_rows.numel()} elements", "one number")
        rows, columns = distances.shape
        asked = float(num_valid_rows)
        valid = int(asked + 0.1) if 0 <= asked < 2**31 else rows if asked < 0 else -1
        if not 0 <= valid <= rows:
            raise invalid(f"num_valid_rows is {asked:g}, but distance_mat has only {rows} rows")
        of_row, of_column = [-1] * rows, [-1] * columns
        left = min(valid, columns, top if top > 0 else valid)
        for place in torch.argsort(distances[:valid].reshape(-1), stable=True).tolist():
            if not left:
                break
            row, column = divmod(place, columns)
            if of_row[row] < 0 and of_column[column] < 0:
                of_row[row], of_column[column] = column, row
                left -= 1
        return torch.tensor(of_row, dtype=torch.int32), torch.tensor(of_column, dtype=torch.int32)

    return match
