"""Sparsemax, the projection onto the probability simplex, and its loss, after Martins and Astudillo."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater, is_nan, less_equal, logical_or
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import maximum
from thalweg._src.graph.ops.nn import top_k
from thalweg._src.graph.ops.reduction import cumsum, reduce_any, reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape as shape_of
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("contrib.sparsemax.sparsemax")
def sparsemax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Projects each row of logits onto the probability simplex, which gives sparse probabilities.

    Args:
        logits: The scores [batch, classes].
    """
    with name_scope(name, "sparsemax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        logits.get_shape().assert_has_rank(2)
        count = logits.shape[1].value or shape_of(logits)[1]
        # Sparsemax is invariant to a constant shift; this one avoids overflow of large logits.
        z = logits - expand_dims(reduce_mean(logits, 1), 1)
        ordered, _ = top_k(z, count)
        sums = cumsum(ordered, 1)
        places = cast(range_of(1, count + 1), logits.dtype)
        support = reduce_sum(cast(greater(1 + places * ordered, sums), dtypes.int32), 1)
        # A row with no support has a logit that is not finite.
        within = gather(sums, expand_dims(maximum(support - 1, 0), 1), batch_dims=1)
        threshold = (within - 1) / cast(expand_dims(support, 1), logits.dtype)
        probabilities = maximum(cast(0, logits.dtype), z - threshold)
        wrong = logical_or(less_equal(support, 0), reduce_any(is_nan(z), 1))
        return where_v2(expand_dims(wrong, 1), cast(float("nan"), logits.dtype), probabilities)


@export("contrib.sparsemax.sparsemax_loss")
def sparsemax_loss(logits: TensorLike, sparsemax: TensorLike, labels: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sparsemax loss of each row, whose gradient is sparsemax(logits) - labels.

    Args:
        logits: The scores [batch, classes].
        sparsemax: Value of `sparsemax(logits)`.
        labels: True distributions [batch, classes].
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = convert_to_tensor(logits, name="logits")
        chances = convert_to_tensor(sparsemax, name="sparsemax")
        labels = convert_to_tensor(labels, logits.dtype, name="labels")
        z = logits - expand_dims(reduce_mean(logits, 1), 1)
        return reduce_sum(chances * (z - 0.5 * chances) + labels * (0.5 * labels - z), 1)
