"""tf.contrib.learn.datasets.mnist: The MNIST data set, read from local files."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.mnist import (
    DataSet as DataSet,
    load_mnist as load_mnist,
    read_data_sets as read_data_sets,
)

__all__ = ["DataSet", "load_mnist", "read_data_sets"]
