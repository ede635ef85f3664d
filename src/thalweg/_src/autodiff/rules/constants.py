"""Gradients of constants and placeholders."""

from __future__ import annotations

from typing import Any

from thalweg._src.autodiff.registry import gradient, no_gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.reduction import reduce_sum

no_gradient("Const", "Placeholder", "_Arg", "NoOp")


@gradient("PlaceholderWithDefault")
def placeholder_with_default(op: Operation, grad: Tensor) -> Tensor:
    return grad


@gradient("Fill")
def fill(op: Operation, grad: Tensor) -> list[Any]:
    return [None, reduce_sum(grad)]
