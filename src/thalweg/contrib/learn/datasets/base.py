"""tf.contrib.learn.datasets.base: Data sets in CSV files."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.learn.datasets import (
    Dataset as Dataset,
    load_csv_with_header as load_csv_with_header,
    load_csv_without_header as load_csv_without_header,
)
from thalweg._src.compat.contrib.mnist import Datasets as Datasets

__all__ = ["Dataset", "Datasets", "load_csv_with_header", "load_csv_without_header"]
