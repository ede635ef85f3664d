"""Gradients of constants and placeholders."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient, no_gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.tensor import Tensor

no_gradient("Const", "Placeholder", "_Arg", "NoOp")


@gradient("PlaceholderWithDefault")
def placeholder_with_default(op: Operation, grad: Tensor) -> Tensor:
    return grad


@gradient("Fill")
def fill(op: Operation, grad: Tensor) -> list[Any]:
    return [None, reduce_sum(grad)]
