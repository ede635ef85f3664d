"""Gradients of tiling, padding, reversal and rolling."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import pad_tile
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.math import negative
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape, size, transpose_op
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.ops.slicing import slice_op
from thalweg._src.graph.tensor import Tensor


@gradient("Tile")
def tile(op: Operation, grad: Tensor) -> list[Any]:
    """Sums the copies: every dimension becomes two, repetition and content, and the first is reduced."""
    source, multiples = op.inputs
    dims = shape(source, out_type=multiples.dtype)
    both = reshape(transpose_op(pack([multiples, dims]), [1, 0]), [-1])
    return [reshape(reduce_sum(reshape(grad, both), range(0, size(both), 2)), dims), None]


@gradient("Pad", "PadV2")
def pad(op: Operation, grad: Tensor) -> list[Any]:
    source, paddings = op.inputs[:2]
    rows: Any = paddings
    inside = slice_op(grad, rows[:, 0], shape(source, out_type=paddings.dtype))
    return [inside, None, None][: len(op.inputs)]


@gradient("MirrorPad")
def mirror_pad(op: Operation, grad: Tensor) -> list[Any]:
    return [pad_tile.mirror_pad_grad_op(grad, op.inputs[1], mode=op.attrs["mode"]), None]


@gradient("MirrorPadGrad")
def mirror_pad_grad(op: Operation, grad: Tensor) -> list[Any]:
    return [pad_tile.mirror_pad_op(grad, op.inputs[1], mode=op.attrs["mode"]), None]


@gradient("ReverseV2")
def reverse(op: Operation, grad: Tensor) -> list[Any]:
    return [pad_tile.reverse_op(grad, op.inputs[1]), None]


@gradient("ReverseSequence")
def reverse_sequence(op: Operation, grad: Tensor) -> list[Any]:
    dims = {key: op.attrs[key] for key in ("seq_dim", "batch_dim")}
    return [pad_tile.reverse_sequence_op(grad, op.inputs[1], **dims), None]


@gradient("BroadcastTo")
def broadcast_to(op: Operation, grad: Tensor) -> list[Any]:
    return [sum_to_shape_of(op.inputs[0], grad), None]


@gradient("Roll")
def roll(op: Operation, grad: Tensor) -> list[Any]:
    _, shift, axis = op.inputs
    return [pad_tile.roll(grad, negative(shift), axis), None, None]
