"""Kernels of concatenation, stacking and splitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import ShapeError
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.concat import concatenated, split_sizes
from thalweg._src.graph.ops.shape_functions import normalize_axis
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device


@kernel("ConcatV2")
def bind_concat(node: Node, device: Device) -> Function | Call:
    count = node.attrs["N"]
    axis = node.constant(count)
    # torch skips empty vectors of any rank, which TensorFlow rejects; known ranks have been checked before.
    has_ranks = all(node.input_shape(i) is not None for i in range(count))
    if axis is not None and has_ranks:
        return Call(torch.cat, ([Input(i) for i in range(count)], int(axis)))

    def concat(*values: torch.Tensor) -> torch.Tensor:
        *tensors, where = values
        if any(tensor.ndim != tensors[0].ndim for tensor in tensors):
            concatenated([tuple(tensor.shape) for tensor in tensors], None)
        return torch.cat(tensors, int(where))

    return concat


plain_kernel("ConcatV2", **STRINGS)(
    lambda *values: np.concatenate(values[:-1], normalize_axis(int(values[-1]), values[0].ndim))
)


@plain_kernel("ConcatOffset")
def _concat_offset(concat_dim: torch.Tensor, *shapes: torch.Tensor) -> list[torch.Tensor]:
    axis = normalize_axis(int(concat_dim), len(shapes[0]), "concat_dim")
    concatenated([tuple(shape.tolist()) for shape in shapes], axis)
    result, start = [], 0
    for shape in shapes:
        offset = torch.zeros_like(shape)
        offset[axis] = start
        start += int(shape[axis])
        result.append(offset)
    return result


@kernel("Pack")
def bind_pack(node: Node, device: Device) -> Call:
    return Call(torch.stack, ([Input(i) for i in range(len(node.inputs))], node.attrs["axis"]))


@kernel("Pack", **STRINGS)
def bind_pack_strings(node: Node, device: Device) -> Function:
    axis = node.attrs["axis"]
    return lambda *values: np.stack(values, axis)


def one_or_all(outputs: Any) -> Any:
    """Returns the outputs of a node as a program expects them: a single value, or a sequence of several."""
    return outputs[0] if len(outputs) == 1 else outputs


@kernel("Unpack")
def bind_unpack(node: Node, device: Device) -> Function | Call:
    axis, count, shape = node.attrs["axis"], node.attrs["num"], node.input_shape(0)
    if count > 1 and shape is not None and shape[axis] == count:
        return Call(torch.unbind, (Input(0), axis))

    def unpack(value: torch.Tensor) -> Any:
        if value.shape[axis] != count:
            raise ShapeError(
                f"dimension {axis} has size {value.shape[axis]}", expected=f"size num = {count}", hint=None
            )
        return one_or_all(value.unbind(axis))

    return unpack


@kernel("Unpack", **STRINGS)
def bind_unpack_strings(node: Node, device: Device) -> Function:
    axis, count = node.attrs["axis"], node.attrs["num"]

    def unpack(value: Any) -> Any:
        if value.shape[axis] != count:
            raise ShapeError(
                f"dimension {axis} has size {value.shape[axis]}", expected=f"size num = {count}", hint=None
            )
        return one_or_all([np.asarray(row, dtype=object) for row in np.moveaxis(value, axis, 0)])

    return unpack


@kernel("Split")
def bind_split(node: Node, device: Device) -> Function | Call:
    count, axis, shape = node.attrs["num_split"], node.constant(0), node.input_shape(1)
    size = None if axis is None or shape is None else shape[int(axis)]
    if count > 1 and size is not None and size > 0:
        return Call(torch.split, (Input(1), size // count, int(axis)))  # type: ignore[arg-type]

    def split(split_dim: torch.Tensor, value: torch.Tensor) -> Any:
        axis = normalize_axis(int(split_dim), value.ndim)
        size = value.shape[axis]
        if size % count:
            raise ShapeError(
                "Number of ways to split should evenly divide the split dimension, "
                f"but got split_dim {axis} (size = {size}) and num_split {count}"
            )
        return one_or_all(torch.split(value, [size // count] * count, axis))

    return split


@kernel("SplitV")
def bind_split_v(node: Node, device: Device) -> Function | Call:
    axis, source, count = node.constant(2), node.input_shape(0), node.attrs["num_split"]
    if axis is not None and source is not None and source[int(axis)] is not None and len(node.shapes) > 1:
        sizes = [None if shape is None else shape[int(axis)] for shape in node.shapes]
        if None not in sizes:
            return Call(torch.split, (Input(0), sizes, int(axis)))

    def split(value: torch.Tensor, size_splits: torch.Tensor, split_dim: torch.Tensor) -> Any:
        where = normalize_axis(int(split_dim), value.ndim)
        sizes = split_sizes(size_splits.tolist(), value.shape[where], count)
        return one_or_all(torch.split(value, sizes, where))  # type: ignore[arg-type]

    return split


@kernel("Split", **STRINGS)
def bind_split_strings(node: Node, device: Device) -> Function:
    count = node.attrs["num_split"]
    return lambda split_dim, value: one_or_all(np.split(value, count, int(split_dim)))


@kernel("SplitV", **STRINGS)
def bind_split_v_strings(node: Node, device: Device) -> Function:
    count = node.attrs["num_split"]

    def split(value: TensorValue, size_splits: torch.Tensor, split_dim: torch.Tensor) -> Any:
        sizes = split_sizes(size_splits.tolist(), value.shape[int(split_dim)], count)
        return one_or_all(np.split(value, np.cumsum(sizes)[:-1], int(split_dim)))  # type: ignore[arg-type]

    return split
