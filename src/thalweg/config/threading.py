"""tf.config.threading: Sizes of the thread pools."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.runtime.session.config_functions import (
    get_inter_op_parallelism_threads as get_inter_op_parallelism_threads,
    get_intra_op_parallelism_threads as get_intra_op_parallelism_threads,
    set_inter_op_parallelism_threads as set_inter_op_parallelism_threads,
    set_intra_op_parallelism_threads as set_intra_op_parallelism_threads,
)

__all__ = [
    "get_inter_op_parallelism_threads", "get_intra_op_parallelism_threads", "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]
