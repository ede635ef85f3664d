"""Names of `tensorflow.python.ops.losses.losses_impl` that are not public."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import not_equal
from thalweg._src.graph.ops.math import div_no_nan
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import size
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.weights import broadcast_weights


def _safe_div(numerator: Any, denominator: Any, name: str = "value") -> Tensor:
    """Returns the quotient, 0 where the denominator is 0."""
    return div_no_nan(numerator, denominator, name=name)


def _safe_mean(losses: object, num_present: Any) -> Tensor:
    """Returns the sum of losses divided by their number, 0 if there are none."""
    total = reduce_sum(losses)
    return _safe_div(total, cast(num_present, total.dtype))


def _num_present(losses: object, weights: TensorLike, per_batch: bool = False) -> Tensor:
    """Returns the number of losses whose weight is not 0, of all or of each example."""
    losses = convert_to_tensor(losses)
    present = broadcast_weights(cast(not_equal(weights, 0), losses.dtype), losses)
    axes = list(range(1, losses.shape.ndims or 0)) if per_batch else None
    return reduce_sum(present, axes, keepdims=per_batch, name="num_present")


def _num_elements(losses: object) -> Tensor:
    """Returns the number of losses as a loss."""
    tensor = convert_to_tensor(losses)
    count: Tensor = cast(size(tensor), tensor.dtype)
    return count
