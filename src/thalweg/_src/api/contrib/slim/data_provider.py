"""tf.contrib.slim.data_provider: what gives the tensors of items."""

from thalweg._src.library.slim_data.providers import DataProvider

__all__ = ["DataProvider"]
