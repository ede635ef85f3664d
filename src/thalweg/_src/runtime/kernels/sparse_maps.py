"""Kernels of sparse tensor maps (handles to stored sparse tensors), on the host."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.sparse import linear_indices, require_fit, require_order, require_shape
from thalweg._src.runtime.kernels.sparse_shaping import join
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.sparse_maps import SparseTensorsMap, StoredSparse


def _find_map(node: Node, device: Device) -> SparseTensorsMap:
    """Returns the map that an op names, created on first use."""
    name = node.attrs["shared_name"] or node.name
    tensors_map: SparseTensorsMap = device.resources.lookup_or_create(
        node.attrs["container"], "sparse tensors", name, lambda: SparseTensorsMap(name)
    )
    return tensors_map


def _copy(values: TensorValue) -> Any:
    """Returns a copy, since a stored value must not change with a variable or a feed."""
    return values.clone() if isinstance(values, torch.Tensor) else values.copy()


@kernel("AddSparseToTensorsMap", devices=("CPU",))
def bind_add(node: Node, device: Device) -> Function:
    tensors_map, dtype = _find_map(node, device), node.attrs["T"]

    def add(indices: torch.Tensor, values: TensorValue, shape: torch.Tensor) -> torch.Tensor:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require_shape(sizes, "sparse_shape")
        return torch.tensor(tensors_map.add([StoredSparse(indices.clone(), _copy(values), sizes, dtype)])[0])

    return add


@kernel("AddManySparseToTensorsMap", devices=("CPU",))
def bind_add_many(node: Node, device: Device) -> Function:
    tensors_map, dtype = _find_map(node, device), node.attrs["T"]

    def add(indices: torch.Tensor, values: TensorValue, shape: torch.Tensor) -> torch.Tensor:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require(len(sizes) >= 2, f"the sparse tensor has rank {len(sizes)}", expected="rank at least 2")
        require_order(indices, linear_indices(indices, sizes))
        require(sizes[0] < 2**31, f"the minibatch has {sizes[0]} rows", expected="fewer than 2**31")
        bounds = torch.searchsorted(indices[:, 0].contiguous(), torch.arange(sizes[0] + 1)).tolist()
        rows = [
            StoredSparse(indices[first:last, 1:].clone(), _copy(values[first:last]), sizes[1:], dtype)
            for first, last in pairwise(bounds)
        ]
        return torch.tensor(tensors_map.add(rows), dtype=torch.int64)

    return add


@kernel("TakeManySparseFromTensorsMap", devices=("CPU",))
def bind_take_many(node: Node, device: Device) -> Function:
    tensors_map, dtype = _find_map(node, device), node.attrs["dtype"]

    def take(handles: torch.Tensor) -> Any:
        require(
            handles.ndim == 1 and handles.numel() > 0, f"sparse_handles has shape {list(handles.shape)}", "a vector"
        )
        tensors = tensors_map.take(handles.tolist())
        for tensor in tensors:
            if tensor.dtype is not dtype:
                raise invalid(f"a sparse tensor of {tensor.dtype.name} is requested as {dtype.name}")
        ranks = {len(tensor.shape) for tensor in tensors}
        if len(ranks) > 1:
            raise invalid(f"the sparse tensors differ in rank: {sorted(ranks)}")
        indices = [torch.nn.functional.pad(t.indices, (1, 0), value=i) for i, t in enumerate(tensors)]
        shape = [len(tensors), *np.max([t.shape for t in tensors], axis=0).astype(np.int64).tolist()]
        return torch.cat(indices), join([t.values for t in tensors]), torch.tensor(shape, dtype=torch.int64)

    return take
