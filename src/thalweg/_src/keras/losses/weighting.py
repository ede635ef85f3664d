"""Weights of losses and metrics: which dimensions targets, predictions and weights have, and how losses are reduced."""

from __future__ import annotations

import contextlib
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.ops.bincount import remove_squeezable_dimensions
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.math import div_no_nan, multiply, subtract
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import rank, reshape, shape, size
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.state import get_graph
from thalweg._src.training.nn.losses import Reduction as PlainReduction
from thalweg._src.training.nn.weights import with_rank_of


class Reduction:
    """How the weighted losses of a batch are reduced: not at all, to their sum, or to their mean."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reductions."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError if the key is not a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}; it is one of {', '.join(cls.all())}.")


def graph_of(*values: Any) -> contextlib.AbstractContextManager[Any]:
    """Returns the context for operations on values: the symbolic graph, if eager code has some of its tensors."""
    if executing_eagerly() and any(isinstance(value, Tensor) and not value.is_eager for value in values):
        return get_graph().as_default()
    return contextlib.nullcontext()


def matched(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns targets and predictions without a last dimension of size 1 that only one of them has.

    Predictions with one more dimension than the targets keep it unless its size is 1: it may be that of the classes.
    """
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if y_true.dims is None or y_pred.dims is None:
        return _matched(y_true, y_pred)
    if len(y_pred.dims) - len(y_true.dims) == 1 and y_pred.dims[-1] != 1:
        return y_true, y_pred
    return remove_squeezable_dimensions(y_true, y_pred)


def _matched(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
    """Does the same in the step, for ranks that are not known statically."""
    difference = subtract(rank(y_pred), rank(y_true))
    return _shortened(y_true, equal(difference, -1)), _shortened(y_pred, equal(difference, 1))


def _shortened(tensor: Tensor, condition: Tensor) -> Tensor:
    """Removes the last dimension if a condition holds in the step and its size is 1."""
    if tensor.dims is not None and (not tensor.dims or tensor.dims[-1] not in (None, 1)):
        return tensor
    sizes = shape(tensor)
    is_one = reduce_sum(cast(equal(sizes[-1:], 1), dtypes.int32))
    dropped = multiply(is_one, cast(condition, dtypes.int32))
    return reshape(tensor, sizes[: subtract(rank(tensor), dropped)])


def compute_weighted_loss(
    losses: TensorLike, sample_weight: TensorLike | None = None, reduction: str = Reduction.AUTO
) -> Tensor:
    """Returns losses, each multiplied by its weight, and reduced."""
    Reduction.validate(reduction)
    with name_scope(None, "weighted_loss", [losses, sample_weight]):
        losses = convert_to_tensor(losses)
        is_wide = losses.dtype.base_dtype is dtypes.float64
        values = losses if is_wide else cast(losses, dtypes.float32)  # sums of narrow types would overflow
        if sample_weight is not None:
            values = multiply(values, with_rank_of(cast(sample_weight, values.dtype), values))
        if reduction != Reduction.NONE:
            total = reduce_sum(values)
            values = total if reduction == Reduction.SUM else div_no_nan(total, cast(size(values), total.dtype))
        is_sum = reduction == Reduction.SUM
        get_default_graph().singleton("last_loss", dict)["reduction"] = PlainReduction.SUM if is_sum else reduction
        return cast(values, losses.dtype)  # type: ignore[no-any-return]
