"""tf.contrib.losses.metric_learning: Losses of embeddings by the labels of their examples."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.metric_learning import (
    contrastive_loss as contrastive_loss,
    lifted_struct_loss as lifted_struct_loss,
    npairs_loss as npairs_loss,
    npairs_loss_multilabel as npairs_loss_multilabel,
    triplet_semihard_loss as triplet_semihard_loss,
)

__all__ = ["contrastive_loss", "lifted_struct_loss", "npairs_loss", "npairs_loss_multilabel", "triplet_semihard_loss"]
