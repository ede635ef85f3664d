"""Gradients of casts."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cast as cast_ops
from thalweg._src.graph.tensor import Tensor


@gradient("Cast")
def cast(op: Operation, grad: Tensor) -> Any:
    source, target = op.inputs[0].dtype.base_dtype, op.outputs[0].dtype
    smooth = all(dtype.is_floating or dtype.is_complex for dtype in (source, target))
    return cast_ops.cast(grad, source) if smooth else None
