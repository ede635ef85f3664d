"""Gradient of rotation."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.image_transform import rotate_quarters
from thalweg._src.graph.tensor import Tensor


@gradient("_RotateQuarters")
def rotate(op: Operation, grad: Tensor) -> list[Any]:
    return [rotate_quarters(grad, -op.inputs[1]), None]
