"""tf.contrib.slim.losses: Loss functions with predictions before labels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.losses import (
    absolute_difference as absolute_difference,
    compute_weighted_loss as compute_weighted_loss,
    cosine_distance as cosine_distance,
    hinge_loss as hinge_loss,
    log_loss as log_loss,
    mean_pairwise_squared_error as mean_pairwise_squared_error,
    mean_squared_error as mean_squared_error,
    sigmoid_cross_entropy as sigmoid_cross_entropy,
    softmax_cross_entropy as softmax_cross_entropy,
    sparse_softmax_cross_entropy as sparse_softmax_cross_entropy,
)
from thalweg._src.training.nn.losses import (
    add_loss as add_loss,
    get_losses as get_losses,
    get_regularization_losses as get_regularization_losses,
    get_total_loss as get_total_loss,
)

__all__ = [
    "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
    "get_regularization_losses", "get_total_loss", "hinge_loss", "log_loss", "mean_pairwise_squared_error",
    "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]
