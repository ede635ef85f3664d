"""Losses of replicas: scaled so that their sum over replicas is the loss of the whole batch."""

from __future__ import annotations

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import divide, multiply
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.distribute.current import get_strategy, has_strategy, in_cross_replica_context


def _require_replica(function: str) -> None:
    if has_strategy() and in_cross_replica_context():
        raise RuntimeError(f"{function} was called in a cross-replica context: call it in the function of a replica")


@export("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: TensorLike, sample_weight: TensorLike | None = None, global_batch_size: TensorLike | None = None
) -> Tensor:
    """Returns the sum of the losses of examples, divided by the number of examples of all replicas.

    Args:
        per_example_loss: Losses of the examples of a replica.
        sample_weight: Weights of the examples.
        global_batch_size: Number of examples of all replicas; by default as many in each replica as here.
    """
    _require_replica("compute_average_loss")
    losses = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        losses = multiply(losses, cast(sample_weight, losses.dtype))
    if global_batch_size is None:
        global_batch_size = shape(losses)[0] * get_strategy().num_replicas_in_sync
    return divide(reduce_sum(losses), cast(global_batch_size, losses.dtype))


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Returns a sum of regularization losses, divided by the number of replicas, each of which has all of them.

    Args:
        regularization_loss: Losses of the variables.
    """
    _require_replica("scale_regularization_loss")
    total = reduce_sum(regularization_loss)
    return divide(total, cast(get_strategy().num_replicas_in_sync, total.dtype))
