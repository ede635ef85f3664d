"""The gradient of turns."""

from __future__ import annotations

from typing import Any

from thalweg.autodiff.registry import gradient
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.image_transform import rotate_quarters


@gradient("_RotateQuarters")
def rotate(op: Operation, grad: Tensor) -> list[Any]:
    return [rotate_quarters(grad, -op._inputs[1]), None]
