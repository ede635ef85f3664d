"""Kernels of sparse tensors in COO format; rows of indices are compared and sorted as linear indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function, signed
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device

LIMIT = 2**63 - 1


def refuse(indices: torch.Tensor, position: int, what: str) -> None:
    """Raises the error for one row of indices."""
    row = ",".join(map(str, indices[position].reshape(-1).tolist()))
    raise invalid(f"indices[{position}] = [{row}] {what}")


def require_shape(shape: Sequence[int], name: str = "dense_shape") -> int:
    """Returns the number of elements of a dense shape, which must be valid."""
    require(min(shape, default=0) >= 0, f"{name} {list(shape)} has a negative dimension", expected="at least 0")
    count = math.prod(shape)
    require(count <= LIMIT, f"{name} {list(shape)} has {count} elements", expected="fewer than 2**63")
    return count


def require_fit(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> None:
    """Requires matching components: one row of indices per value, one column per dimension."""
    require(
        indices.ndim == 2 and shape.ndim == 1 and indices.shape[1] == shape.numel(),
        f"indices has shape {list(indices.shape)}, the dense shape {list(shape.shape)}",
        expected="one column of indices per dimension",
    )
    if values is not None:
        require(
            values.ndim == 1 and values.shape[0] == indices.shape[0],
            f"values has shape {list(values.shape)}",
            expected=f"[{indices.shape[0]}], one per index",
        )


def linear_indices(indices: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns the row-major linear index of each row of indices, which must be inside the shape."""
    require_shape(shape)
    require(
        indices.ndim == 2 and indices.shape[1] == len(shape),
        f"indices has shape {list(indices.shape)}",
        expected=f"[n, {len(shape)}], for dense_shape {list(shape)}",
    )
    require_inside(indices, shape)
    return ravel(indices, shape)


def ravel(indices: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns linear indices without a bounds check."""
    result = torch.zeros(indices.shape[0], dtype=torch.int64, device=indices.device)
    for axis, size in enumerate(shape):
        result = result * size + indices[:, axis]
    return result


def unravel(numbers: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns the rows of indices of linear indices."""
    if not shape:
        return numbers.new_empty((numbers.numel(), 0))
    columns = []
    for size in reversed(shape[1:]):
        columns.append(numbers % max(size, 1))
        numbers = numbers // max(size, 1)
    return torch.stack([numbers, *reversed(columns)], dim=1)


def is_inside(indices: torch.Tensor, shape: Sequence[int]) -> bool:
    """Returns whether all indices are inside a shape."""
    if not indices.numel():
        return True
    low, high = torch.aminmax(indices, dim=0)
    return bool(low.min() >= 0) and all(index < size for index, size in zip(high.tolist(), shape))


def require_inside(indices: torch.Tensor, shape: Sequence[int]) -> None:
    if not is_inside(indices, shape):
        limits = torch.tensor(list(shape), dtype=torch.int64, device=indices.device)
        outside = ((indices < 0) | (indices >= limits)).any(dim=1)
        position = int(outside.to(torch.int8).argmax())
        refuse(indices, position, f"is out of bounds: need 0 <= index < [{','.join(map(str, shape))}]")


def require_order(indices: torch.Tensor, numbers: torch.Tensor) -> None:
    """Raises InvalidArgumentError unless the indices are strictly ascending."""
    wrong = numbers[1:] <= numbers[:-1]
    if bool(wrong.any()):
        position = int(wrong.to(torch.int8).argmax()) + 1
        if bool(numbers[position] == numbers[position - 1]):
            refuse(indices, position, "is repeated")
        refuse(
            indices,
            position,
            "is out of order. Many sparse ops require sorted indices; tf.sparse.reorder sorts them",
        )


@kernel("SparseToDense")
def bind_to_dense(node: Node, device: Device) -> Function:
    validate = node.attrs["validate_indices"]

    def to_dense(indices: torch.Tensor, shape: torch.Tensor, values: torch.Tensor, default: torch.Tensor) -> Any:
        sizes, numbers = _linear_indices(indices, shape, values, validate)
        result = signed(default).expand(math.prod(sizes)).clone()
        result[numbers] = signed(values)
        return result.view(default.dtype).reshape(sizes)

    return to_dense


@kernel("SparseToDense", **STRINGS)
def bind_strings_to_dense(node: Node, device: Device) -> Function:
    validate = node.attrs["validate_indices"]

    def to_dense(indices: torch.Tensor, shape: torch.Tensor, values: TensorValue, default: object) -> Any:
        sizes, numbers = _linear_indices(indices, shape, values, validate)
        result = np.empty(math.prod(sizes), dtype=object)
        result[:] = np.asarray(default, dtype=object).item()
        result[numbers.numpy()] = values if values.ndim else values.item()
        return result.reshape(sizes)

    return to_dense


def _linear_indices(
    indices: torch.Tensor, shape: torch.Tensor, values: TensorValue, validate: bool
) -> tuple[list[int], torch.Tensor]:
    """Returns the sizes of the dense tensor and the linear indices of its explicit elements."""
    sizes = shape.tolist()
    rows = indices.to(torch.int64)
    rows = rows if rows.ndim == 2 else rows.reshape(-1, 1)
    require(
        values.ndim == 0 or values.shape[0] == rows.shape[0],
        f"{rows.shape[0]} indices for {values.shape[0] if values.ndim else 1} values",
        expected="one value per index, or one for all",
    )
    numbers = linear_indices(rows, sizes)
    if validate:
        require_order(rows, numbers)
    return sizes, numbers
