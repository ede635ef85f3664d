"""Gradients of random samples with respect to distribution parameters (implicit reparameterization)."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.random import random_gamma_grad
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import size
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.tensor import Tensor


@gradient("RandomGamma")
def random_gamma(op: Operation, grad: Tensor) -> list[Any]:
    """Differentiates each sample with respect to its alpha and sums over the samples of one alpha."""
    shape, alpha = op.inputs
    by_alpha = multiply(grad, random_gamma_grad(alpha, op.outputs[0]))
    return [None, reduce_sum(by_alpha, range_of(size(shape)))]
