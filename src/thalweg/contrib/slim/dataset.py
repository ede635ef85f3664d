"""tf.contrib.slim.dataset: Descriptions of datasets."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.providers import Dataset as Dataset

__all__ = ["Dataset"]
