"""tf.tpu: Names of programs that were written for TPUs, on the devices that there are."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.tpu.cross_shard import (
    CrossShardOptimizer as CrossShardOptimizer,
    bfloat16_scope as bfloat16_scope,
    outside_compilation as outside_compilation,
)

__all__ = ["CrossShardOptimizer", "bfloat16_scope", "outside_compilation"]
