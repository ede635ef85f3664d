"""tf.contrib.slim.parallel_reader: several readers, one queue."""

from thalweg._src.contrib.slim.data.providers import ParallelReader, get_data_files, parallel_read, single_pass_read

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]
