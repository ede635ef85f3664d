"""Gradients of space/batch/depth rearrangements: the inverse rearrangement."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.space_to_depth import (
    batch_to_space_nd,
    depth_to_space_op,
    space_to_batch_nd,
    space_to_depth_op,
)
from thalweg._src.graph.tensor import Tensor


@gradient("SpaceToDepth")
def space_to_depth(op: Operation, grad: Tensor) -> Tensor:
    return depth_to_space_op(grad, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"])


@gradient("DepthToSpace")
def depth_to_space(op: Operation, grad: Tensor) -> Tensor:
    return space_to_depth_op(grad, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"])


@gradient("SpaceToBatchND")
def space_to_batch(op: Operation, grad: Tensor) -> list[Any]:
    return [batch_to_space_nd(grad, op.inputs[1], op.inputs[2]), None, None]


@gradient("BatchToSpaceND")
def batch_to_space(op: Operation, grad: Tensor) -> list[Any]:
    return [space_to_batch_nd(grad, op.inputs[1], op.inputs[2]), None, None]
