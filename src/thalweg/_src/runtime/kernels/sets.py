"""Kernels of set operations, on the host, with one Python set per group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.sparse import linear_indices, require_fit, require_order, require_shape
from thalweg._src.runtime.kernels.types import TORCH, TensorValue
from thalweg._src.runtime.resources.devices import Device

Groups = dict[int, set[Any]]  # by group index

_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
    "intersection": set.intersection,
    "union": set.union,
}


def _of_dense(values: TensorValue) -> tuple[Groups, list[int]]:
    """Returns the sets of a dense tensor, and the shape of its groups."""
    require(values.ndim >= 2, f"the sets have rank {values.ndim}", expected="rank at least 2")
    shape = list(values.shape[:-1])
    count = int(np.prod(shape, dtype=np.int64))
    rows = values.reshape(count, values.shape[-1]).tolist()
    return {i: set(row) for i, row in enumerate(rows) if row}, shape


def _of_sparse(
    indices: torch.Tensor, values: TensorValue, shape: torch.Tensor, validate: bool
) -> tuple[Groups, list[int]]:
    """Returns the sets of a sparse tensor, and the shape of its groups."""
    require_fit(indices, values, shape)
    sizes = shape.tolist()
    require(len(sizes) >= 2, f"the sets have rank {len(sizes)}", expected="rank at least 2")
    numbers = linear_indices(indices, sizes)
    if validate:
        require_order(indices, numbers)
    groups: Groups = {}
    for group, value in zip((numbers // max(sizes[-1], 1)).tolist(), values.tolist()):
        groups.setdefault(group, set()).add(value)
    return groups, sizes[:-1]


def _result(node: Node, a: tuple[Groups, list[int]], b: tuple[Groups, list[int]]) -> Any:
    """Returns a sparse tensor of the sets that an operation yields, the values of each in order."""
    require(a[1] == b[1], f"groups {a[1]} and {b[1]} differ", expected="equal shapes except for the last dimension")
    operate = _OPERATIONS[node.attrs["set_operation"].lower()]
    sets = {g: sorted(operate(a[0].get(g, set()), b[0].get(g, set()))) for g in sorted(a[0].keys() | b[0].keys())}
    groups = [g for g, members in sets.items() for _ in members]
    columns = [i for members in sets.values() for i in range(len(members))]
    values = [value for members in sets.values() for value in members]
    rows = np.unravel_index(np.array(groups, np.int64), a[1]) if groups else [np.zeros(0, np.int64)] * len(a[1])
    indices = torch.from_numpy(np.stack([*rows, np.array(columns, np.int64)], axis=1))
    width = max(map(len, sets.values()), default=0)
    return indices, _as_value(values, node), torch.tensor([*a[1], width], dtype=torch.int64)


def _as_value(values: Sequence[Any], node: Node) -> Any:
    if node.attrs["T"] is dtypes.string:
        return object_array(values)
    return torch.tensor(values, dtype=TORCH[node.attrs["T"]])


@kernel("DenseToDenseSetOperation", devices=("CPU",))
def bind_dense_and_dense(node: Node, device: Device) -> Function:
    return lambda a, b: _result(node, _of_dense(a), _of_dense(b))


@kernel("DenseToSparseSetOperation", devices=("CPU",))
def bind_dense_and_sparse(node: Node, device: Device) -> Function:
    validate = node.attrs["validate_indices"]
    return lambda a, i, v, s: _result(node, _of_dense(a), _of_sparse(i, v, s, validate))


@kernel("SparseToSparseSetOperation", devices=("CPU",))
def bind_sparse_and_sparse(node: Node, device: Device) -> Function:
    validate = node.attrs["validate_indices"]

    def operate(
        i: torch.Tensor,
        v: TensorValue,
        s: torch.Tensor,
        j: torch.Tensor,
        w: TensorValue,
        t: torch.Tensor,
    ) -> Any:
        return _result(node, _of_sparse(i, v, s, validate), _of_sparse(j, w, t, validate))

    return operate


@kernel("SetSize", devices=("CPU",))
def bind_set_size(node: Node, device: Device) -> Function:
    validate = node.attrs["validate_indices"]

    def size(indices: torch.Tensor, values: TensorValue, shape: torch.Tensor) -> torch.Tensor:
        groups, sizes = _of_sparse(indices, values, shape, validate)
        result = torch.zeros(require_shape(sizes), dtype=torch.int32)
        if groups:
            result[list(groups)] = torch.tensor([len(members) for members in groups.values()], dtype=torch.int32)
        return result.reshape(sizes)

    return size
