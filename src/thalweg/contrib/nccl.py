"""tf.contrib.nccl: Reductions over tensors on several devices."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.nccl import (
    all_max as all_max,
    all_min as all_min,
    all_prod as all_prod,
    all_sum as all_sum,
    broadcast as broadcast,
    reduce_sum as reduce_sum,
)

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
