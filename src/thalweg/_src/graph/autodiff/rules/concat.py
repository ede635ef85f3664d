"""Gradients of concatenation and splitting: each is the other's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat_offset_op, concat_op, pack, split_op, split_v_op, unpack_op
from thalweg._src.graph.ops.reshape import shape_n
from thalweg._src.graph.ops.slicing import slice_op
from thalweg._src.graph.tensor import Tensor


@gradient("ConcatV2")
def concat(op: Operation, grad: Tensor) -> list[Any]:
    *tensors, axis = op.inputs
    static_axis = complete(static_value(axis))
    if static_axis is not None:
        sizes = [None if tensor.dims is None else tensor.dims[int(static_axis)] for tensor in tensors]
        if None not in sizes:
            if len(set(sizes)) == 1:
                return [*split_op.many(int(static_axis), grad, num_split=len(tensors)), None]
            return [*split_v_op.many(grad, sizes, int(static_axis), num_split=len(tensors)), None]
    shapes = shape_n(tensors)
    offsets = concat_offset_op.many(axis if axis.dtype is dtypes.int32 else cast(axis, dtypes.int32), shapes)
    return [*(slice_op(grad, begin, size) for begin, size in zip(offsets, shapes)), None]


@gradient("Pack")
def pack_gradient(op: Operation, grad: Tensor) -> Any:
    return unpack_op.many(grad, num=op.attrs["N"], axis=op.attrs["axis"])


@gradient("Unpack")
def unpack(op: Operation, *grads: Tensor) -> Any:
    return [pack(list(grads), axis=op.attrs["axis"])]


@gradient("Split")
def split(op: Operation, *grads: Tensor) -> list[Any]:
    return [None, _joined(grads, op.inputs[0])]


@gradient("SplitV")
def split_v(op: Operation, *grads: Tensor) -> list[Any]:
    return [_joined(grads, op.inputs[2]), None, None]


def _joined(grads: Sequence[Tensor], axis: Tensor) -> Any:
    return grads[0] if len(grads) == 1 else concat_op(list(grads), axis)
