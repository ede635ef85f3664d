"""tf.contrib.slim.data_provider: what gives the tensors of items."""

from thalweg._src.contrib.slim.data.providers import DataProvider

__all__ = ["DataProvider"]
