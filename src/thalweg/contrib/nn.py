"""tf.contrib.nn: Sampled losses of sparse labels, alpha dropout, and losses with logits before labels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.nn import (
    alpha_dropout as alpha_dropout,
    deprecated_flipped_sigmoid_cross_entropy_with_logits as deprecated_flipped_sigmoid_cross_entropy_with_logits,
    deprecated_flipped_softmax_cross_entropy_with_logits as deprecated_flipped_softmax_cross_entropy_with_logits,
    deprecated_flipped_sparse_softmax_cross_entropy_with_logits as deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
    rank_sampled_softmax_loss as rank_sampled_softmax_loss,
    sampled_sparse_softmax_loss as sampled_sparse_softmax_loss,
    scaled_softplus as scaled_softplus,
)
from thalweg._src.compat.gen_ops import nth_element as nth_element
from thalweg._src.graph.ops.convolution import conv1d_transpose as conv1d_transpose

__all__ = [
    "alpha_dropout", "conv1d_transpose", "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits", "nth_element", "rank_sampled_softmax_loss",
    "sampled_sparse_softmax_loss", "scaled_softplus",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
