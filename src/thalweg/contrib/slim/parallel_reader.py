"""tf.contrib.slim.parallel_reader: Parallel readers that share one queue."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.providers import (
    ParallelReader as ParallelReader,
    get_data_files as get_data_files,
    parallel_read as parallel_read,
    single_pass_read as single_pass_read,
)

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]
