"""tf.contrib.slim.data_provider: The base class of data providers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.providers import DataProvider as DataProvider

__all__ = ["DataProvider"]
